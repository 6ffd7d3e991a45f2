package simserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })

func startServer(t *testing.T, config Config, handler http.Handler) *Server {
	t.Helper()
	s, err := Start(config, handler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})

	return s
}

// newClient trusts the server and closes its connections with the test.
func newClient(t *testing.T, s *Server) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CertificatePEM())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)

	return &http.Client{Transport: transport}
}

func get(ctx context.Context, t *testing.T, client *http.Client, s *Server) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Scheme()+"://"+s.Address()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return resp.Status, err
	}

	return string(body), err
}

func TestDownRefusesAndCuts(t *testing.T) {
	t.Parallel()
	entered, left := make(chan struct{}), make(chan struct{})
	s := startServer(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Wait") == "" {
			hello(w, r)

			return
		}
		close(entered)
		<-r.Context().Done()
		close(left)
	}))
	client := newClient(t, s)
	cut := make(chan error)
	go func() {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+s.Address(), nil)
		req.Header.Set("Wait", "yes")
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		cut <- err
	}()
	<-entered
	address := s.Address()
	s.Down()
	if err := <-cut; err == nil {
		t.Error("a call in progress got a response, want its connection cut")
	}
	<-left
	s.Down() // twice is once
	if _, err := get(t.Context(), t, client, s); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("while down: %v, want connection refused", err)
	}
	if other, err := net.Listen("tcp", address); err == nil {
		_ = other.Close()
		t.Error("another process could take the port")
	}
	for range 2 {
		if err := s.Up(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := get(t.Context(), t, client, s); got != "hello" || err != nil || s.Address() != address {
		t.Errorf("after Up on %s: %q, %v", s.Address(), got, err)
	}
}

func TestHangStallsAndUpRespondsLate(t *testing.T) {
	t.Parallel()
	var log Log
	s := startServer(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.add(Call{Op: "get"})
		hello(w, r)
	}))
	client := newClient(t, s)
	if _, err := get(t.Context(), t, client, s); err != nil {
		t.Fatal(err)
	}
	s.Hang()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := get(short, t, client, s); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while hanging, on an existing connection: %q, %v", got, err)
	}
	raw, err := net.Dial("tcp", s.Address()) // accepted, although nothing responds
	if err != nil {
		t.Fatalf("while hanging, connections must still be accepted: %v", err)
	}
	defer raw.Close()
	late := make(chan error)
	go func() {
		_, err := get(t.Context(), t, newClient(t, s), s)
		late <- err
	}()
	select {
	case err := <-late:
		t.Fatalf("response while hanging: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := s.Up(); err != nil {
		t.Fatal(err)
	}
	if err := <-late; err != nil {
		t.Errorf("the call that hung got no response after Up: %v", err)
	}
}
