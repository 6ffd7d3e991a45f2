package vsphere

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// connect logs in with a client that checks certificates.
func connect(t *testing.T, v *VCenter, trust func(*soap.Client) error) error {
	t.Helper()
	client := soap.NewClient(v.URL(), false)
	t.Cleanup(client.CloseIdleConnections)
	if err := trust(client); err != nil {
		t.Fatal(err)
	}
	c, err := vim25.NewClient(t.Context(), client)
	if err != nil {
		return err
	}

	return session.NewManager(c).Login(t.Context(), url.UserPassword(v.User(), v.Password()))
}

func TestTLS(t *testing.T) {
	t.Parallel()
	for name, listen := range map[string]string{"IPv4": "", "IPv6": "[::1]:0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := small()
			spec.VCenters[0].Listen = listen
			v := start(t, spec).VCenter("vc")
			pin := func(thumbprint string) func(*soap.Client) error {
				return func(c *soap.Client) error {
					c.SetThumbprint(v.Address(), thumbprint)

					return nil
				}
			}
			cases := map[string]struct {
				trust func(*soap.Client) error
				ok    bool
			}{
				"Nothing": {func(*soap.Client) error { return nil }, false},
				"CAFile":  {func(c *soap.Client) error { return c.SetRootCAs(v.CAFile()) }, true},
				"SHA1":    {pin(v.ThumbprintSHA1()), true},
				"SHA256":  {pin(v.ThumbprintSHA256()), true},
				"Wrong":   {pin(strings.Repeat("00:", 19) + "00"), false},
			}
			for name, tc := range cases {
				if err := connect(t, v, tc.trust); (err == nil) != tc.ok {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	spec := small()
	spec.VCenters[0].Plain, spec.VCenters[0].Listen = true, "[::1]:0"
	v := start(t, spec).VCenter("vc")
	if !strings.HasPrefix(v.URL().String(), "http://[::1]:") || v.CAFile() != "" || v.CertificatePEM() != nil {
		t.Errorf("%s, CA file %q", v.URL(), v.CAFile())
	}
	if err := connect(t, v, func(*soap.Client) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestGivenCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	writeKeyPair(t, cert, key)
	spec := small()
	spec.VCenters[0].CertFile, spec.VCenters[0].KeyFile = cert, key
	v := start(t, spec).VCenter("vc")
	want, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	if string(v.CertificatePEM()) != string(want) {
		t.Error("another certificate is shown")
	}
}

func TestCloseRemovesTheCAFile(t *testing.T) {
	t.Parallel()
	cloud, err := Start(small())
	if err != nil {
		t.Fatal(err)
	}
	file := cloud.VCenters()[0].CAFile()
	if data, err := os.ReadFile(file); err != nil || string(data) != string(cloud.VCenters()[0].CertificatePEM()) {
		t.Errorf("%s: %v", file, err)
	}
	if err := cloud.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", file, err)
	}
}
