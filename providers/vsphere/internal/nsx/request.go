package nsx

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// callTimeout bounds one attempt of a call, to the end of the response.
	callTimeout = 30 * time.Second
	// maxBody is how many bytes a response may have: 1,000 rows have a few MiB.
	maxBody = 64 << 20
	// maxRedirects is how many redirects are followed.
	maxRedirects = 3
)

// request is a call of the API.
type request struct {
	method, path string
	query        url.Values
	body         []byte
}

// operation returns the name of the call in metrics, such as GetStaticRoutes. It ends
// with the last collection in the path, in which collections and IDs take turns.
func (r request) operation() string {
	parts := strings.Split(strings.Trim(r.path, "/"), "/")
	verb := r.method[:1] + strings.ToLower(r.method[1:])
	if n := len(parts); n > 1 && n%2 == 1 && parts[0] == "infra" && parts[1] != "realized-state" {
		parts = parts[:n-1]
	} else if r.method == http.MethodGet {
		verb = "List"
	}
	for word := range strings.FieldsSeq(strings.ReplaceAll(parts[len(parts)-1], "-", " ")) {
		verb += strings.ToUpper(word[:1]) + word[1:]
	}

	return verb
}

// send sends the request once, and reads the response into a value, unless that is nil.
func (r request) send(ctx context.Context, via *http.Client, base *url.URL, header http.Header, into any) error {
	sending, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var wrote atomic.Bool
	sending = httptrace.WithClientTrace(sending, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	at := base.JoinPath(r.path)
	at.RawQuery = r.query.Encode()
	sent, err := http.NewRequestWithContext(sending, r.method, at.String(), bytes.NewReader(r.body))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	sent.Header = header
	if r.body != nil {
		sent.Header.Set("Content-Type", "application/json")
	}
	res, err := via.Do(sent)
	if err != nil {
		e := noResponse(ctx, r, err)
		e.sent = wrote.Load()

		return e
	}
	defer res.Body.Close() //nolint:errcheck // read only
	content, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		e := noResponse(ctx, r, err)
		e.sent = true

		return e
	}
	if res.StatusCode < http.StatusOK || res.StatusCode >= http.StatusMultipleChoices {
		return responseError(r, res.StatusCode, content)
	}
	if into == nil && len(content) == 0 {
		return nil
	}
	if into == nil {
		into = new(json.RawMessage) // a page of a proxy is none
	}
	if err := json.Unmarshal(content, into); err != nil {
		return unreadable(r, res.StatusCode, err)
	}

	return nil
}

// checkRedirect follows redirects to the same server that repeat the request as it is.
func checkRedirect(r *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || r.Method != first.Method || r.URL.Host != first.URL.Host || r.URL.Scheme != first.URL.Scheme {
		return http.ErrUseLastResponse
	}

	return nil
}
