package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// VS-SESSION-4: which certificates are trusted by insecure-flag, ca-file and
// thumbprint.
func TestTrust(t *testing.T) {
	t.Parallel()

	const otherPin = "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33"
	type fixtures struct{ vc, other *fixture }
	cases := map[string]struct {
		reason string
		set    func(fixtures, *session.Endpoint)
		want   string // part of the error, empty for none
	}{
		"Nothing": {
			reason: "the system does not know this CA",
			set:    func(fixtures, *session.Endpoint) {},
			want:   "certificate signed by unknown authority",
		},
		"CAFile": {
			reason: "a CA file is trusted",
			set:    func(b fixtures, e *session.Endpoint) { e.CAFile = b.vc.CAFile() },
		},
		"OtherCAFile": {
			reason: "a CA file is trusted alone",
			set:    func(b fixtures, e *session.Endpoint) { e.CAFile = b.other.CAFile() },
			want:   "certificate",
		},
		"Insecure": {
			reason: "insecure trusts everybody",
			set:    func(_ fixtures, e *session.Endpoint) { e.Insecure = true },
		},
		"SHA1": {
			reason: "SHA-1 where the chain is not trusted",
			set:    func(b fixtures, e *session.Endpoint) { e.Thumbprint = b.vc.ThumbprintSHA1() },
		},
		"SHA256": {
			reason: "SHA-256 where the chain is not trusted",
			set:    func(b fixtures, e *session.Endpoint) { e.Thumbprint = b.vc.ThumbprintSHA256() },
		},
		"LowerCase": {
			reason: "hex is hex",
			set: func(b fixtures, e *session.Endpoint) {
				e.Thumbprint = strings.ToLower(strings.ReplaceAll(b.vc.ThumbprintSHA256(), ":", ""))
			},
		},
		"PinBehindOtherCA": {
			reason: "the pin is consulted when the CA file does not help",
			set: func(b fixtures, e *session.Endpoint) {
				e.CAFile, e.Thumbprint = b.other.CAFile(), b.vc.ThumbprintSHA1()
			},
		},
		"WrongPin": {
			reason: "another certificate",
			set:    func(b fixtures, e *session.Endpoint) { e.Thumbprint = b.other.ThumbprintSHA256() },
			want:   "thumbprint does not match",
		},
		"WrongPinTrustedChain": {
			reason: "a trusted chain comes before the pin",
			set: func(b fixtures, e *session.Endpoint) {
				e.CAFile, e.Thumbprint = b.vc.CAFile(), otherPin
			},
		},
		"WrongPinInsecure": {
			reason: "insecure comes before the pin",
			set:    func(_ fixtures, e *session.Endpoint) { e.Insecure, e.Thumbprint = true, otherPin },
		},
	}
	for family, address := range map[string]string{"IPv4": "127.0.0.1:0", "IPv6": "[::1]:0"} {
		b := fixtures{newFixture(t, vsphere.VCenterSpec{Listen: address}), newFixture(t, vsphere.VCenterSpec{Listen: address})}
		for name, tc := range cases {
			t.Run(family+"/"+name, func(t *testing.T) {
				t.Parallel()
				mine := *b.vc
				mine.endpoint.CAFile = ""
				tc.set(b, &mine.endpoint)
				s := mine.open(t, session.Options{})
				err := errors.Join(s.SOAP(bounded(t), find), s.REST(bounded(t), list))
				switch {
				case tc.want == "" && err != nil:
					t.Errorf("%s\ncall = %v", tc.reason, err)
				case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
					t.Errorf("%s\ncall = %v, want %q", tc.reason, err, tc.want)
				case tc.want != "" && !errors.Is(err, apierr.ErrUnavailable):
					t.Errorf("%s\ncall = %v, want %v", tc.reason, err, apierr.ErrUnavailable)
				}
			})
		}
	}
}

// VS-SESSION-4: an IPv6 address may be written with brackets or without.
func TestBrackets(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{Listen: "[::1]:0"})
	for _, server := range []string{"::1", "[::1]"} {
		b.endpoint.Server, b.endpoint.CAFile, b.endpoint.Thumbprint = server, "", b.ThumbprintSHA1()
		s := b.open(t, session.Options{})
		if err := errors.Join(s.SOAP(bounded(t), find), s.REST(bounded(t), list)); err != nil {
			t.Errorf("call to %q = %v", server, err)
		}
	}
}

// VS-SESSION-4: the CA file is read at each login, so that it can be replaced.
func TestCAFileIsReadAgain(t *testing.T) {
	t.Parallel()
	b, other := newFixture(t, vsphere.VCenterSpec{}), newFixture(t, vsphere.VCenterSpec{})
	b.endpoint.RoundTrips = 1
	b.endpoint.CAFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(b.endpoint.CAFile, other.CertificatePEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	s := b.open(t, session.Options{Clock: b.clock})
	if err := s.SOAP(bounded(t), find); !errors.Is(err, apierr.ErrUnavailable) {
		t.Errorf("SOAP() = %v, want %v", err, apierr.ErrUnavailable)
	}
	if err := os.WriteFile(b.endpoint.CAFile, b.CertificatePEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	b.clock.Step(unavailableMax)
	if err := s.SOAP(bounded(t), find); err != nil {
		t.Errorf("SOAP() = %v", err)
	}
}

// A CA file that is missing for a while fails logins and nothing else.
func TestCAFileAppears(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	b.endpoint.CAFile = filepath.Join(t.TempDir(), "ca.pem")
	s := b.open(t, session.Options{Clock: b.clock})
	if err := s.SOAP(bounded(t), find); err == nil || !strings.Contains(err.Error(), b.endpoint.CAFile) {
		t.Errorf("SOAP() = %v, want it to name %s", err, b.endpoint.CAFile)
	}
	must(t, os.WriteFile(b.endpoint.CAFile, b.CertificatePEM(), 0o600))
	b.clock.Step(unavailableMax)
	must(t, s.SOAP(bounded(t), find))
}

// VS-CONFIG-7: what is known without a vCenter is an error at start.
func TestValidate(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "bad.pem")
	if err := os.WriteFile(bad, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing.pem")
	for path, want := range map[string]string{missing: missing + ": no such file", bad: "invalid certificate '" + bad + "'"} {
		if err := session.CheckCAFile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("CheckCAFile(%s) = %v, want %q", path, err, want)
		}
	}
	cases := map[string]struct {
		endpoint session.Endpoint
		want     string
	}{
		"Good":          {session.Endpoint{Server: "vc1"}, ""},
		"NoServer":      {session.Endpoint{Name: "west"}, "check vCenter west: no server"},
		"Port":          {session.Endpoint{Server: "vc1", Port: 70000}, "port 70000 is out of range"},
		"RoundTrips":    {session.Endpoint{Server: "vc1", RoundTrips: -1}, "-1 round trips"},
		"ThumbprintHex": {session.Endpoint{Server: "vc1", Thumbprint: "no:hex"}, `thumbprint "no:hex" is neither`},
		"ThumbprintLen": {session.Endpoint{Server: "vc1", Thumbprint: "AA:BB"}, `thumbprint "AA:BB" is neither`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := session.New(tc.endpoint, []session.Source{session.NewInFile(session.Credentials{})}, session.Options{})
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("New() = %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := session.New(session.Endpoint{Server: "vc1"}, nil, session.Options{}); err == nil {
		t.Error("New() without a source = nil, want an error")
	}
}
