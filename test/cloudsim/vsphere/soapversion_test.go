package vsphere

import (
	"testing"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/sts"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// A token is checked together with the version of the API that the client
// announces; a password is not.
func TestLoginByTokenRequiresAKnownVersion(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		version string
		refused bool
	}{
		"Newest":  {vim25.Version, true},
		"Newer":   {"6.5.0.1", true},
		"Own":     {"6.5", false},
		"Older":   {"6.0", false},
		"Without": {"", true},
	}
	v := start(t, small()).VCenter("vc")
	certificate := solutionUser(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := vim25.NewClient(t.Context(), soap.NewClient(v.URL(), true))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.CloseIdleConnections)
			issuer, err := sts.NewClient(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(issuer.CloseIdleConnections)
			signer, err := issuer.Issue(t.Context(), sts.TokenRequest{Certificate: certificate, Delegatable: true})
			if err != nil {
				t.Fatal(err)
			}
			if c.Version = tc.version; tc.version == "" {
				c.Namespace = ""
			}
			err = session.NewManager(c).LoginByToken(c.WithHeader(t.Context(), soap.Header{Security: signer}))
			if refused := err != nil && soap.IsSoapFault(err); refused != tc.refused {
				t.Errorf("LoginByToken() = %v, want refused %t", err, tc.refused)
			}
		})
	}
}
