package session_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// The settings of the process behind a proxy of TestThumbprintBehindProxy. The
// environment of a process decides about its proxy once, and never for loopback.
const (
	proxiedThumbprint = "TEST_PROXIED_THUMBPRINT"
	proxiedCAFile     = "TEST_PROXIED_CA_FILE"
	proxiedUser       = "TEST_PROXIED_USER"
	proxiedPassword   = "TEST_PROXIED_PASSWORD"
	// proxiedServer is known to the proxy alone.
	proxiedServer = "vcenter.example.com"
)

// A thumbprint counts for connections through a proxy, too: what it accepts and
// what it refuses is the same.
func TestThumbprintBehindProxy(t *testing.T) {
	t.Parallel()
	b, other := newFixture(t, vsphere.VCenterSpec{}), newFixture(t, vsphere.VCenterSpec{})
	proxy := newConnectProxy(t, map[string]string{proxiedServer + ":443": b.Address()})
	cases := map[string]struct {
		reason, thumbprint, caFile string
		want                       string // part of the error, empty for none
	}{
		"SHA1":     {"SHA-1 where the chain is not trusted", b.ThumbprintSHA1(), "", ""},
		"SHA256":   {"SHA-256 where the chain is not trusted", b.ThumbprintSHA256(), "", ""},
		"OtherCA":  {"the pin is consulted when the CA file does not help", b.ThumbprintSHA256(), other.CAFile(), ""},
		"WrongPin": {"another certificate", other.ThumbprintSHA256(), "", "thumbprint does not match"},
		"NoPin":    {"the system does not know this CA", "", "", "failed to verify certificate"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxied$", "-test.v")
			cmd.Env = append(os.Environ(), "HTTPS_PROXY="+proxy, "NO_PROXY=",
				proxiedThumbprint+"="+tc.thumbprint, proxiedCAFile+"="+tc.caFile,
				proxiedUser+"="+b.User(), proxiedPassword+"="+b.Password())
			out, err := cmd.CombinedOutput()
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("%s\ncall through the proxy = %v\n%s", tc.reason, err, out)
			case tc.want != "" && (err == nil || !strings.Contains(string(out), tc.want)):
				t.Errorf("%s\ncall through the proxy = %v, want %q\n%s", tc.reason, err, tc.want, out)
			}
		})
	}
}

// TestProxied is what a process behind a proxy does.
func TestProxied(t *testing.T) {
	t.Parallel()
	user := os.Getenv(proxiedUser)
	if user == "" {
		return // part of TestThumbprintBehindProxy
	}
	endpoint := session.Endpoint{
		Server: proxiedServer, CAFile: os.Getenv(proxiedCAFile), Thumbprint: os.Getenv(proxiedThumbprint), RoundTrips: 1,
	}
	credentials := session.Credentials{User: user, Password: config.Secret(os.Getenv(proxiedPassword))}
	s, err := session.New(endpoint, []session.Source{session.NewInFile(credentials)}, session.Options{})
	must(t, err)
	ctx := bounded(t)
	must(t, errors.Join(s.SOAP(ctx, find), s.REST(ctx, list), s.Close(ctx)))
}

// newConnectProxy starts an HTTP proxy that connects to the known hosts, and
// returns its URL.
func newConnectProxy(t *testing.T, hosts map[string]string) string {
	t.Helper()
	var tunnels sync.WaitGroup
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		upstream, err := net.Dial("tcp", hosts[r.Host])
		if r.Method != http.MethodConnect || err != nil {
			w.WriteHeader(http.StatusBadGateway)

			return
		}
		client, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)

			return
		}
		_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n") // a client that is gone misses it
		pipe := func(to, from net.Conn) {
			_, _ = io.Copy(to, from) // ends with either connection
			_, _ = to.Close(), from.Close()
		}
		tunnels.Go(func() { pipe(upstream, client) })
		tunnels.Go(func() { pipe(client, upstream) })
	}))
	t.Cleanup(func() {
		proxy.Close()
		tunnels.Wait()
	})

	return proxy.URL
}
