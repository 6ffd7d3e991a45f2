package client

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

const (
	// dialTimeout bounds a connection, and handshakeTimeout its TLS.
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	keepAlive        = 30 * time.Second
	idleTimeout      = 90 * time.Second
)

// newTransport returns the connections of a client. It speaks HTTP/1.1.
func newTransport(t TLS, o Options) (*http.Transport, error) {
	secured, err := t.build()
	if err != nil {
		return nil, err
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext
	}
	proxy := o.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment // takes CIDRs in NO_PROXY
	}

	return &http.Transport{
		Proxy:               proxy,
		DialContext:         dial,
		TLSClientConfig:     secured,
		TLSHandshakeTimeout: handshakeTimeout,
		IdleConnTimeout:     idleTimeout,
		MaxIdleConnsPerHost: o.MaxReads + o.MaxWrites,
		Protocols:           protocols,
	}, nil
}

// build reads the files. A client certificate is read again for each connection.
func (t TLS) build() (*tls.Config, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.Insecure} //nolint:gosec // set by the user
	roots := []byte(t.CAPEM)
	if t.CAFile != "" {
		var err error
		if roots, err = config.ReadFile(t.CAFile); err != nil {
			return nil, fmt.Errorf("read CA file: %w", err)
		}
	}
	if len(roots) > 0 {
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(roots) {
			return nil, fmt.Errorf("parse %s: no certificate in PEM", cmp.Or(t.CAFile, "inline CA"))
		}
	}
	if t.CertFile == "" || t.KeyFile == "" {
		return settings, nil
	}
	if _, err := t.keyPair(nil); err != nil {
		return nil, err
	}
	settings.GetClientCertificate = t.keyPair

	return settings, nil
}

// keyPair reads the client certificate and its key.
func (t TLS) keyPair(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	certificate, err := config.ReadFile(t.CertFile)
	if err != nil {
		return nil, fmt.Errorf("load client certificate: %w", err)
	}
	key, err := config.ReadFile(t.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("load key of client certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("load client certificate: %w", err)
	}

	return &pair, nil
}

// maxRedirects is how many redirects are followed.
const maxRedirects = 3

// checkRedirect follows the redirects that the transport has let through.
func checkRedirect(_ *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errors.New("too many redirects")
	}

	return nil
}

// isRedirect reports whether a response leads a read to another path of the same server.
func isRedirect(r *http.Request, res *http.Response) bool {
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return false
	}
	to, err := res.Location()

	return err == nil && isSafe(r.Method) && origin(to) == origin(r.URL)
}

// isJSON reports whether a content type is JSON.
func isJSON(contentType string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	kind = strings.TrimSpace(kind)

	return strings.HasSuffix(kind, "/json") || strings.HasSuffix(kind, "+json")
}
