package simserver_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestInMemory: a server without a port fails like one with a port, in the time of
// the bubble.
func TestInMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, err := simserver.Start(simserver.Config{InMemory: true}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			time.Sleep(time.Hour)
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(server.CertificatePEM())
		transport := &http.Transport{DialContext: server.Dial, TLSClientConfig: &tls.Config{RootCAs: pool}}
		defer transport.CloseIdleConnections()
		get := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
			defer cancel()
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+server.Address(), http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := transport.RoundTrip(request)
			if err == nil {
				err = response.Body.Close()
			}

			return err
		}
		expect := func(reason string, took time.Duration, want error) {
			t.Helper()
			began := time.Now()
			if err := get(); !errors.Is(err, want) || time.Since(began) != took {
				t.Errorf("%s: %v after %s, want %v after %s", reason, err, time.Since(began), want, took)
			}
		}
		expect("the server responds", time.Hour, nil)
		server.Down()
		expect("a server that is down refuses connections", 0, syscall.ECONNREFUSED)
		if err := server.Up(); err != nil {
			t.Fatal(err)
		}
		server.Hang()
		expect("a server that hangs does not respond", 2*time.Hour, context.DeadlineExceeded)
		if err := server.Up(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, server.Down)
		expect("connections are cut when the server goes down", time.Minute, syscall.ECONNRESET)
	})
}
