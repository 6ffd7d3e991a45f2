package simserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/loopback"
)

// headerTimeout bounds how long a client may take to send a request's header.
const headerTimeout = 10 * time.Second

// Config defines where and how a Server listens. The zero value is TLS on a
// free port of 127.0.0.1, with a certificate made for this server.
type Config struct {
	// Address is the host and port; port 0 is a free one.
	Address string
	// Plain disables TLS.
	Plain bool
	// Certificate is used instead of a generated one.
	Certificate *tls.Certificate
	// InMemory uses no port: only [Server.Dial] connects. Such a server can run
	// in a testing/synctest bubble. The Address is only a name, 127.0.0.1:443 by
	// default.
	InMemory bool
}

// defaultInMemoryAddress is the default address of a server without a port.
const defaultInMemoryAddress = "127.0.0.1:443"

// endpoint is where a Server listens.
type endpoint interface {
	IP() net.IP
	String() string
	Listen(ctx context.Context) (net.Listener, error)
	Release() error
}

// reserve returns the endpoint that a Config describes.
func reserve(config Config) (endpoint, error) {
	if config.InMemory {
		return newPipeEndpoint(cmp.Or(config.Address, defaultInMemoryAddress))
	}

	return loopback.Reserve(cmp.Or(config.Address, loopback.Any))
}

// Server is a loopback HTTP server that can fail like a machine does.
type Server struct {
	identity *identity // nil without TLS
	tls      *tls.Config
	port     endpoint
	http     *http.Server
	serving  sync.WaitGroup // accept loops
	calls    sync.WaitGroup // handlers at work

	control sync.Mutex // one of Down, Up and Close at a time

	mu       sync.Mutex
	listener net.Listener // nil while down
	conns    map[*conn]struct{}
	resumed  chan struct{} // closed unless hanging
	hanging  bool
	closed   bool
}

// Start makes a server that passes every request to handler. Close ends it.
func Start(config Config, handler http.Handler) (*Server, error) {
	s := &Server{conns: make(map[*conn]struct{}), resumed: make(chan struct{})}
	close(s.resumed)
	port, err := reserve(config)
	if err != nil {
		return nil, err
	}
	s.port = port
	if !config.Plain {
		if s.identity, err = newIdentity(config.Certificate, port.IP()); err != nil {
			return nil, errors.Join(err, port.Release())
		}
		s.tls = &tls.Config{
			Certificates: []tls.Certificate{s.identity.certificate},
			ClientAuth:   tls.RequestClientCert,
			MinVersion:   tls.VersionTLS12,
		}
	}
	s.http = &http.Server{
		Handler:           s.counted(handler),
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          log.New(io.Discard, "", 0), // clients hang up in every test
	}
	if err := s.Up(); err != nil {
		return nil, errors.Join(err, port.Release())
	}

	return s, nil
}

// counted lets Close wait for the handlers.
func (s *Server) counted(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			panic(http.ErrAbortHandler)
		}
		s.calls.Add(1)
		s.mu.Unlock()
		defer s.calls.Done()
		handler.ServeHTTP(w, r)
	})
}

// Address returns the host and port, with brackets around IPv6.
func (s *Server) Address() string { return s.port.String() }

// Dial connects to an in-memory server. Its arguments are those of
// [net.Dialer.DialContext]; there is only one address.
func (s *Server) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	m, ok := s.port.(*pipeEndpoint)
	if !ok {
		return nil, fmt.Errorf("dial %s: this server has a port", s.port)
	}

	return m.dial(ctx)
}

// Scheme returns "https", or "http" without TLS.
func (s *Server) Scheme() string {
	if s.tls == nil {
		return "http"
	}

	return "https"
}

// CertificatePEM returns the server's certificate chain, which a client may
// also trust as its CA. It is empty without TLS.
func (s *Server) CertificatePEM() []byte {
	if s.identity == nil {
		return nil
	}

	return s.identity.pem()
}

// Certificate returns the server's certificate, or nil without TLS.
func (s *Server) Certificate() *tls.Certificate {
	if s.identity == nil {
		return nil
	}

	return &s.identity.certificate
}

// Thumbprints returns the SHA-1 and SHA-256 of the server's own certificate as
// upper-case hex with colons. Both are empty without TLS.
func (s *Server) Thumbprints() (sha1Hex, sha256Hex string) {
	if s.identity == nil {
		return "", ""
	}

	return s.identity.thumbprints()
}

// Down refuses connections and cuts the existing ones until Up.
func (s *Server) Down() {
	s.control.Lock()
	defer s.control.Unlock()
	s.down()
}

func (s *Server) down() {
	s.mu.Lock()
	listener := s.listener
	s.listener = nil
	s.mu.Unlock()
	if listener != nil {
		_ = listener.Close() // it was open, so this cannot fail in a way that matters
		s.serving.Wait()
	}
	s.cut()
	s.release()
}

// Hang keeps the port open and every connection stalled until Up or Down: what
// clients send is accepted, nothing is sent back, not even a TLS handshake.
func (s *Server) Hang() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hanging {
		s.hanging = true
		s.resumed = make(chan struct{})
	}
}

// Up ends Down and Hang. Requests that hung get their responses now, late.
func (s *Server) Up() error {
	s.control.Lock()
	defer s.control.Unlock()
	s.release()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.listener != nil {
		return nil
	}
	listener, err := s.port.Listen(context.Background())
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.port, err)
	}
	s.listener = listener
	var accept net.Listener = &serverListener{Listener: listener, server: s}
	if s.tls != nil {
		accept = tls.NewListener(accept, s.tls)
	}
	s.serving.Go(func() { _ = s.http.Serve(accept) }) // ends when the listener does

	return nil
}

// Close ends the server for good and waits for the calls in progress.
func (s *Server) Close() error {
	s.control.Lock()
	defer s.control.Unlock()
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	if already {
		return nil
	}
	s.down()
	err := s.http.Close()
	s.calls.Wait()

	return errors.Join(err, s.port.Release())
}

func (s *Server) cut() {
	s.mu.Lock()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.reset()
	}
}

func (s *Server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hanging {
		s.hanging = false
		close(s.resumed)
	}
}
