package session_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// A Secret with a part of the credentials of a vCenter is an error that names the
// Secret and the key, although the cloud-config has other credentials: those may
// be meant for another vCenter.
func TestPartOfCredentialsIsAnError(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	server := b.endpoint.Server
	cases := map[string]struct {
		reason string
		pairs  []string
		want   string // part of the error, empty for none
	}{
		"NoServer":         {"a user and a password without a server", []string{"username_1", "u", "password_1", "p"}, `"password_1" has no "server_1"`},
		"PasswordAlone":    {"a part without a user", []string{"password_1", "p"}, `"password_1" has no "server_1"`},
		"NoPassword":       {"a user without a password", []string{"server_1", server, "username_1", "u"}, `missing for the server of "username_1"`},
		"DottedNoPassword": {"the same in the other form", []string{server + ".username", "u"}, `missing for the server of "` + server + `.username"`},
		"OtherServer":      {"what another vCenter lacks is no part of this one's", []string{"vc9.username", "u"}, ""},
		"UnknownKey":       {"a key of neither form is no part", []string{"notes", "x"}, ""},
		"CompleteAndOther": {"complete credentials are used", append(b.dotted(b.Password()), "password_1", "p"), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, source := newSecret(t, tc.pairs...)
			s := b.open(t, session.Options{}, source, session.NewInFile(b.right()))
			err := s.SOAP(bounded(t), find)
			if tc.want == "" {
				if err != nil {
					t.Errorf("%s\nSOAP() = %v", tc.reason, err)
				}

				return
			}
			if !errors.Is(err, apierr.ErrDenied) {
				t.Errorf("%s\nSOAP() = %v, want %v", tc.reason, err, apierr.ErrDenied)
			}
			for _, part := range []string{tc.want, secretNamespace + "/" + secretName} {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s\nSOAP() = %v, want it to name %s", tc.reason, err, part)
				}
			}
		})
	}
}
