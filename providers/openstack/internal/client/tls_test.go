package client_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// writeFile writes a file of the test and returns its path.
func writeFile(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, content, 0o600))

	return path
}

// newPair returns a certificate and its key in PEM.
func newPair(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ccm"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	encoded, err := x509.MarshalECPrivateKey(private)
	must(t, err)

	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

// Which certificates are accepted. One that is not is an error at once.
func TestTLS(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{TLS: true})
	right := f.Server().CertificatePEM()
	other, _ := newPair(t)
	cases := map[string]struct {
		reason string
		tls    client.TLS
		want   error
	}{
		"CAFile":    {"a file with the CA", client.TLS{CAFile: writeFile(t, right)}, nil},
		"Inline":    {"an inline CA", client.TLS{CAPEM: string(right)}, nil},
		"FileFirst": {"the file replaces an inline CA", client.TLS{CAFile: writeFile(t, right), CAPEM: string(other)}, nil},
		"Insecure":  {"every certificate", client.TLS{Insecure: true}, nil},
		"System":    {"the roots of the system", client.TLS{}, apierr.ErrUnavailable},
		"OtherCA":   {"another CA", client.TLS{CAPEM: string(other)}, apierr.ErrUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := f.open(t, nil, func(cfg *client.Config, _ *client.Options) { cfg.TLS = tc.tls })
			if _, err := c.Project(bounded(t)); !errors.Is(err, tc.want) {
				t.Errorf("%s: %v, want %v", tc.reason, err, tc.want)
			}
		})
	}
}

// Files that cannot be used are errors of New, and so are URLs and endpoint types.
func TestInvalidConfig(t *testing.T) {
	t.Parallel()
	certificate, key := newPair(t)
	cases := map[string]client.Config{
		"NoFile":       {AuthURL: "https://keystone", TLS: client.TLS{CAFile: "/nonexistent"}},
		"NoPEM":        {AuthURL: "https://keystone", TLS: client.TLS{CAPEM: "x"}},
		"NoPair":       {AuthURL: "https://keystone", TLS: client.TLS{CertFile: writeFile(t, certificate), KeyFile: "/nonexistent"}},
		"BadPair":      {AuthURL: "https://keystone", TLS: client.TLS{CertFile: writeFile(t, key), KeyFile: writeFile(t, certificate)}},
		"NoURL":        {},
		"NoScheme":     {AuthURL: "keystone:5000"},
		"OtherScheme":  {AuthURL: "ftp://keystone"},
		"Malformed":    {AuthURL: "https://user:the-password@key stone"},
		"EndpointType": {AuthURL: "https://keystone", EndpointType: "private"},
	}
	for name, cfg := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := client.New(cfg, credential.NewInFile(client.Credentials{}, nil), client.Options{}); err == nil || strings.Contains(err.Error(), "the-password") {
				t.Errorf("New() = %v, want an error without a password", err)
			}
		})
	}
}

// A client certificate is read again for each connection.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{TLS: true})
	var names atomic.Int32
	f.serve("keystone", func(_ http.ResponseWriter, r *http.Request) bool {
		if r.TLS != nil && len(r.TLS.PeerCertificates) == 1 && r.TLS.PeerCertificates[0].Subject.CommonName == "ccm" {
			names.Add(1)
		}

		return false
	})
	certificate, key := newPair(t)
	files := client.TLS{CAPEM: string(f.Server().CertificatePEM()), CertFile: writeFile(t, certificate), KeyFile: writeFile(t, key)}
	c := f.open(t, nil, realTime, func(cfg *client.Config, o *client.Options) { cfg.TLS, o.RetryTime = files, time.Millisecond })
	ctx := bounded(t)
	_, err := c.Project(ctx)
	must(t, err)
	if names.Load() != 1 {
		t.Error("the login had no client certificate")
	}
	must(t, os.WriteFile(files.CertFile, []byte("x"), 0o600))
	f.Server().Down()
	must(t, f.Server().Up())
	must(t, is(c.Do(ctx, client.Compute, http.MethodGet, "x"), apierr.ErrUnavailable))
}

// The settings of the process of TestProxied: the environment of a process decides about
// its proxy once, and never for loopback.
const proxiedURL = "TEST_PROXIED_URL"

// The proxy variables apply, with CIDRs in NO_PROXY.
func TestProxy(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	var seen atomic.Int32
	target, err := url.Parse(f.URL())
	must(t, err)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		r.URL.Host, r.RequestURI = target.Host, ""
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)

			return
		}
		defer res.Body.Close()
		maps.Copy(w.Header(), res.Header)
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body) // a client that is gone misses it
	}))
	t.Cleanup(proxy.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections) //nolint:forcetypeassert // it is one
	cases := map[string]struct {
		reason, noProxy string
		proxied         bool
	}{
		"Proxy":     {"the proxy is used", "", true},
		"CIDR":      {"an address in a CIDR is reached directly", "10.0.0.0/8,192.0.2.0/24", false},
		"OtherCIDR": {"an address out of a CIDR is not", "10.0.0.0/8", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // they share the counter
			seen.Store(0)
			cmd := exec.CommandContext(bounded(t), os.Args[0], "-test.run=^TestProxied$", "-test.v")
			cmd.Env = append(os.Environ(), "HTTP_PROXY="+proxy.URL, "NO_PROXY="+tc.noProxy, proxiedURL+"=http://192.0.2.1")
			out, err := cmd.CombinedOutput()
			if got := seen.Load() > 0; got != tc.proxied || err != nil {
				t.Errorf("%s: proxied = %v, %v\n%s", tc.reason, got, err, out)
			}
		})
	}
}

// TestProxied makes one call, of which only the connection counts.
func TestProxied(t *testing.T) {
	t.Parallel()
	base := os.Getenv(proxiedURL)
	if base == "" {
		return
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "192.0.2.1:") {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("not reached in this test")}
		}

		return new(net.Dialer).DialContext(ctx, network, address)
	}
	c, err := client.New(client.Config{AuthURL: base + "/identity"}, credential.NewInFile(client.Credentials{}, nil), client.Options{Dial: dial})
	must(t, err)
	if _, err := c.Project(bounded(t)); err == nil {
		t.Error("login without credentials succeeded")
	}
	must(t, c.Close(bounded(t)))
}
