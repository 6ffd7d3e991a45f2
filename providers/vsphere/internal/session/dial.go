package session

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
)

// dialTimeout bounds a connection until its certificate has been checked.
const dialTimeout = 10 * time.Second

// DialFunc makes connections like [net.Dialer.DialContext].
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// newClient returns a client without a session, with cookies and connections of
// its own. It reads the CA file, so that a new one takes effect with the next login.
func (e Endpoint) newClient(options Options) (*soap.Client, error) {
	client := soap.NewClient(e.url(), e.Insecure)
	client.UserAgent = options.UserAgent
	if e.CAFile != "" {
		if err := client.SetRootCAs(e.CAFile); err != nil {
			return nil, fmt.Errorf("read ca file: %w", err)
		}
	}
	thumbprint, err := canonicalThumbprint(e.Thumbprint)
	if err != nil {
		return nil, err
	}
	client.SetThumbprint(e.hostPort(), thumbprint)
	transport := client.DefaultTransport()
	transport.TLSClientConfig.MinVersion = tls.VersionTLS12
	// The dialer of the SDK ignores contexts: with a vCenter that accepts a
	// connection and sends nothing it would never return.
	transport.DialTLSContext = dialTLS(options.Dial, client, transport.TLSClientConfig.Clone())
	if thumbprint != "" && !e.Insecure {
		// That function is not called for connections through a proxy:
		// https://pkg.go.dev/net/http#Transport.
		pin := proxiedPin{endpoint: e, thumbprint: thumbprint, roots: transport.TLSClientConfig.RootCAs}
		transport.TLSClientConfig.InsecureSkipVerify = true // replaced by what follows
		transport.TLSClientConfig.VerifyConnection = pin.verify
	}

	return client, nil
}

// dialTLS connects and checks the certificate by the rules of [Endpoint]. Other
// hosts, such as that of a token service, must have the thumbprints that the client
// has stored for them.
func dialTLS(dial DialFunc, client *soap.Client, config *tls.Config) DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		conn, err := dial.secure(ctx, network, addr, config)
		thumbprint := client.Thumbprint(addr)
		if err == nil || thumbprint == "" || !soap.IsCertificateUntrusted(err) {
			return conn, err
		}

		return dial.secure(ctx, network, addr, &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: true, // the certificate itself is compared instead
			VerifyConnection: func(state tls.ConnectionState) error {
				return checkThumbprint(state.PeerCertificates, addr, thumbprint)
			},
		})
	}
}

// secure makes a connection with TLS.
func (dial DialFunc) secure(ctx context.Context, network, addr string, config *tls.Config) (net.Conn, error) {
	raw, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if config = config.Clone(); config.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, errors.Join(err, raw.Close())
		}
		config.ServerName = host
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close() // not used

		return nil, err
	}

	return conn, nil
}

// proxiedPin checks the certificates of connections through a proxy.
type proxiedPin struct {
	endpoint   Endpoint
	thumbprint string
	roots      *x509.CertPool // nil for those of the system
}

// verify applies the rules of [Endpoint]: a chain that is trusted, and where only
// trust is missing, the thumbprint, which is that of the endpoint alone.
func (p proxiedPin) verify(state tls.ConnectionState) error {
	chain := state.PeerCertificates
	if len(chain) == 0 {
		return errors.New("no certificate")
	}
	// The state has no server name if that is an IP address.
	name := cmp.Or(state.ServerName, p.endpoint.host())
	options := x509.VerifyOptions{Roots: p.roots, DNSName: name, Intermediates: x509.NewCertPool()}
	for _, c := range chain[1:] {
		options.Intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(options)
	if err == nil {
		return nil
	}
	if name != p.endpoint.host() || !soap.IsCertificateUntrusted(err) {
		return &tls.CertificateVerificationError{UnverifiedCertificates: chain, Err: err}
	}

	return checkThumbprint(chain, p.endpoint.hostPort(), p.thumbprint)
}

func checkThumbprint(chain []*x509.Certificate, addr, thumbprint string) error {
	if len(chain) == 0 {
		return errors.New("no certificate")
	}
	leaf := chain[0]
	if thumbprint != soap.ThumbprintSHA1(leaf) && thumbprint != soap.ThumbprintSHA256(leaf) {
		return &thumbprintError{addr: addr, thumbprint: thumbprint}
	}

	return nil
}

// thumbprintError means that a server has another certificate than it should.
type thumbprintError struct {
	addr, thumbprint string
}

func (e *thumbprintError) Error() string {
	return fmt.Sprintf("host %q thumbprint does not match %q", e.addr, e.thumbprint)
}
