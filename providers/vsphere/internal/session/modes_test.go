package session_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// keyPair makes a certificate for a key, both as PEM.
func keyPair(t *testing.T, public, private any) session.Credentials {
	t.Helper()
	template := x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "node-controller"},
		NotAfter:     time.Now().Add(time.Hour),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, public, private)
	must(t, err)
	key, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)

	return session.Credentials{
		User:     string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})),
		Password: config.Secret(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
	}
}

// VS-AUTH-8: a certificate for a user is exchanged for a token, which both APIs
// take.
func TestHolderOfKey(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{}, session.NewInFile(keyPair(t, &key.PublicKey, key)))
	ctx := bounded(t)
	must(t, errors.Join(s.SOAP(ctx, find), s.REST(ctx, list)))
	got := [4]int{b.Count("LoginByToken"), b.Count("Login"), b.Count("STSIssue"), b.Count("RESTLogin")}
	if want := [4]int{1, 0, 2, 1}; got != want {
		t.Errorf("LoginByToken, Login, STSIssue, RESTLogin = %v, want %v", got, want)
	}
	b.TerminateSessions()
	must(t, errors.Join(s.SOAP(ctx, find), s.REST(ctx, list)))
	must(t, s.Close(ctx))
	if left := b.Sessions(); len(left) > 0 {
		t.Errorf("sessions after Close: %v", left)
	}
}

// VS-AUTH-8: a certificate that is of no use is refused here, without a call; so
// is one that the token service refuses.
func TestHolderOfKeyRefused(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	good := keyPair(t, &key.PublicKey, key)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	cases := map[string]struct {
		credentials session.Credentials
		effect      simserver.Fault
		want        string
	}{
		"NoKey":   {session.Credentials{User: good.User, Password: "not a key"}, nil, "load client certificate"},
		"NotRSA":  {keyPair(t, &curve.PublicKey, curve), nil, "rsa.PrivateKey is required"},
		"Refused": {good, vsphere.Fault(&types.RuntimeFault{}), "issue token"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, vsphere.VCenterSpec{})
			if tc.effect != nil {
				b.Inject("STSIssue", simserver.Always(), tc.effect)
			}
			s := b.open(t, session.Options{Clock: b.clock}, session.NewInFile(tc.credentials))
			for range 3 {
				err := s.SOAP(bounded(t), find)
				if !errors.Is(err, apierr.ErrDenied) || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("SOAP() = %v, want %v and %q", err, apierr.ErrDenied, tc.want)
				}
			}
			if n := b.Count("LoginByToken"); n != 0 {
				t.Errorf("%d logins, want none", n)
			}
			if n := b.Count("RetrieveServiceContent"); n != 1 {
				t.Errorf("%d connections, want 1", n)
			}
		})
	}
}

const managerToken = "manager-token"

// VS-AUTH-9: a ticket of the session manager is cloned into a SOAP session, whose
// cookie serves for REST.
func TestSharedSession(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{SessionManagerToken: managerToken})
	_, source := newSecret(t, b.endpoint.Server+".vc-session-manager-url", b.SharedSessionURL().String(),
		b.endpoint.Server+".vc-session-manager-token", managerToken)
	s := b.open(t, session.Options{}, source)
	ctx := bounded(t)
	for i, call := range []func() error{
		func() error { return s.REST(ctx, list) },
		func() error { return s.SOAP(ctx, find) },
		func() error {
			b.TerminateSessions()

			return s.REST(ctx, list)
		},
		func() error {
			b.TerminateSessions()

			return s.SOAP(ctx, find)
		},
		func() error { return s.REST(ctx, list) },
	} {
		if err := call(); err != nil {
			t.Errorf("call %d = %v", i, err)
		}
	}
	got := [3]int{b.Count("CloneSession"), b.Count("RESTLogin"), b.Count("Login")}
	if want := [3]int{3, 0, 0}; got != want {
		t.Errorf("CloneSession, RESTLogin, Login = %v, want %v", got, want)
	}
	if open := b.Sessions(); len(open) != 1 {
		t.Errorf("sessions = %v, want one for both", open)
	}
	must(t, s.Close(ctx))
	if left := b.Sessions(); len(left) > 0 {
		t.Errorf("sessions after Close: %v", left)
	}
}

// VS-AUTH-2: the token defaults to that of the service account; it is read for
// each login, and a new one ends the delay after a refusal.
func TestServiceAccountToken(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{SessionManagerToken: managerToken})
	file := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(file, []byte("expired"), 0o600))
	source := session.NewInFile(session.Credentials{ManagerURL: b.SharedSessionURL().String()})
	s := b.open(t, session.Options{Clock: b.clock, TokenFile: file}, source)
	ctx := bounded(t)
	for range 3 {
		err := s.SOAP(ctx, find)
		if !errors.Is(err, apierr.ErrDenied) || !strings.Contains(err.Error(), "invalid vc session manager response: 401 Unauthorized") {
			t.Errorf("SOAP() = %v, want %v", err, apierr.ErrDenied)
		}
	}
	if n := b.Count("SharedSession"); n != 1 {
		t.Errorf("session manager called %d times, want once", n)
	}
	must(t, os.WriteFile(file, []byte(managerToken+"\n"), 0o600))
	must(t, s.SOAP(ctx, find))
}

// VS-AUTH-9: the distinct errors of a session manager.
func TestSessionManagerErrors(t *testing.T) {
	t.Parallel()
	type response struct {
		code int
		body string
	}
	cases := map[string]struct {
		url      string // empty for that of a server with the response
		token    config.Secret
		response response
		want     string
		meaning  error
	}{
		"EmptyURL":      {" ", managerToken, response{}, "vc session manager URL is empty", apierr.ErrDenied},
		"MalformedURL":  {"http://\x7f", managerToken, response{}, "vc session manager URL is malformed", apierr.ErrDenied},
		"NoTokenFile":   {"", "", response{}, "read token for vc session manager", apierr.ErrUnavailable},
		"Unauthorized":  {"", managerToken, response{401, ""}, "invalid vc session manager response: 401 Unauthorized", apierr.ErrDenied},
		"Forbidden":     {"", managerToken, response{403, ""}, "invalid vc session manager response: 403 Forbidden", apierr.ErrDenied},
		"NotFound":      {"", managerToken, response{404, ""}, "invalid vc session manager response: 404 Not Found", apierr.ErrUnavailable},
		"Broken":        {"", managerToken, response{500, ""}, "invalid vc session manager response: 500", apierr.ErrUnavailable},
		"Created":       {"", managerToken, response{201, `{"token":"t"}`}, "invalid vc session manager response: 201", apierr.ErrUnavailable},
		"NotJSON":       {"", managerToken, response{200, "<html>"}, "decode vc session manager response", apierr.ErrUnavailable},
		"EmptyToken":    {"", managerToken, response{200, `{"token":""}`}, "empty token", apierr.ErrUnavailable},
		"NoToken":       {"", managerToken, response{200, `{}`}, "empty token", apierr.ErrUnavailable},
		"UselessTicket": {"", managerToken, response{200, `{"token":"unknown"}`}, "InvalidLogin", apierr.ErrDenied},
		"Unreachable":   {"http://127.0.0.1:1/?secret=marker", managerToken, response{}, "call vc session manager", apierr.ErrUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, vsphere.VCenterSpec{})
			manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Authorization"); r.Method != http.MethodGet || got != "Bearer "+managerToken {
					t.Errorf("%s with %q", r.Method, got)
				}
				w.WriteHeader(tc.response.code)
				_, _ = w.Write([]byte(tc.response.body))
			}))
			defer manager.Close()
			credentials := session.Credentials{ManagerURL: tc.url, ManagerToken: tc.token}
			if tc.url == "" {
				credentials.ManagerURL = manager.URL
			}
			options := session.Options{TokenFile: filepath.Join(t.TempDir(), "missing")}
			err := b.open(t, options, session.NewInFile(credentials)).SOAP(bounded(t), find)
			if diff := cmp.Diff(tc.meaning, err, equateErrors); diff != "" {
				t.Errorf("SOAP(): -want error, +got error:\n%s", diff)
			}
			if name == "UselessTicket" {
				return // the simulator's text for that fault is its own
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "marker") {
				t.Errorf("SOAP() = %v, want %q", err, tc.want)
			}
		})
	}
}
