package client

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"time"
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
	secured, err := t.Config()
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
