package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/drain"
)

// tokenHeader has the token of a request.
const tokenHeader = "X-Auth-Token"

// transport sends the requests to one service. It adds the token, bounds, counts and
// repeats them, and turns every response that is not a success into an [Error].
type transport struct {
	service Service
	shared  *shared
	limiter *limiter
	// tokens is nil for a service that is called without.
	tokens tokenSource
	// base is the URL that all requests begin with.
	base *url.URL
	// send sends a request once.
	send http.RoundTripper
}

// tokenSource is where a transport gets its token from.
type tokenSource interface {
	// current returns the token, after a login if there is none.
	current(ctx context.Context) (*token, error)
	// renewed returns another token than one that a service has refused.
	renewed(ctx context.Context, refused *token, by Service) (*token, error)
	// rejected notes that a service has refused a token that was renewed for it.
	rejected(refused *token, by Service)
}

// shared is what the transports of a client have in common.
type shared struct {
	http *http.Transport
	// writes are those of all services but Keystone, whose token is revoked after them.
	writes  drain.Writes
	options Options
	timeout time.Duration
	// redact removes secrets from a text.
	redact func(string) string
}

var _ http.RoundTripper = (*transport)(nil)

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	c := &call{transport: t, request: r}
	if r.Body != nil {
		if err := r.Body.Close(); err != nil { // each attempt has its own
			return nil, fmt.Errorf("close body of request: %w", err)
		}
	}
	if origin(r.URL) != origin(t.base) {
		return nil, apierr.Mark(apierr.ErrInvalid, fmt.Errorf("%s: request to %s, which is not its endpoint", t.service, origin(r.URL)))
	}
	c.operation = operationOf(t.service, r.Method, strings.TrimPrefix(r.URL.Path, strings.TrimSuffix(t.base.Path, "/")))

	return c.run(r.Context())
}

// CloseIdleConnections implements the interface of [http.Client.CloseIdleConnections].
func (t *transport) CloseIdleConnections() { t.shared.http.CloseIdleConnections() }

// origin is the scheme, host and port of a URL.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}

	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// call is a request with all its attempts.
type call struct {
	*transport

	request   *http.Request
	operation string
	retry     retry
	again     bool // it was sent again with another token
}

func (c *call) isWrite() bool { return !isSafe(c.request.Method) }

// run sends the request until it is done.
func (c *call) run(ctx context.Context) (*http.Response, error) {
	var held *token
	if c.tokens != nil {
		var err error
		if held, err = c.tokens.current(ctx); err != nil {
			return nil, err
		}
	}
	for {
		res, err := c.attempt(ctx, held)
		if err == nil {
			return res, nil
		}
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return nil, err // not sent
		}
		if e.Status == http.StatusUnauthorized && held != nil {
			if c.again {
				c.tokens.rejected(held, c.service)

				return nil, err
			}
			if held, err = c.tokens.renewed(ctx, held, c.service); err != nil {
				return nil, err
			}
			c.again = true

			continue
		}
		if !c.retry.next(ctx, c.shared.options, e) {
			return nil, err
		}
	}
}

// attempt sends the request once.
func (c *call) attempt(ctx context.Context, held *token) (*http.Response, error) {
	release, err := c.limiter.take(ctx, c.isWrite())
	if err != nil {
		return nil, c.notSent(ctx, err)
	}
	if err := c.limiter.wait(ctx, c.isWrite(), c.retry.latest(ctx, c.shared.options)); err != nil {
		release()

		return nil, c.notSent(ctx, err)
	}
	sending, cancel := context.WithTimeout(ctx, c.shared.timeout)
	counted := c.shared.options.Metrics.request(c.service, c.request.Method, c.operation)
	var sent atomic.Bool
	end := func(err error) {
		cancel()
		release()
		counted(err)
	}
	res, err := c.send.RoundTrip(c.prepare(sending, held, &sent))
	if err != nil {
		err = c.lost(ctx, err, sent.Load())
		end(err)

		return nil, err
	}
	if err := c.check(ctx, res); err != nil {
		c.note(err)
		end(err)

		return nil, err
	}
	c.limiter.accepted()
	res.Body = &body{ReadCloser: res.Body, most: c.shared.options.MaxBody, end: func(err error) error {
		if err != nil {
			err = c.lost(ctx, err, true)
		}
		end(err)

		return err
	}}

	return res, nil
}

// prepare returns the request of one attempt.
func (c *call) prepare(ctx context.Context, held *token, sent *atomic.Bool) *http.Request {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// A write gets another connection only if nothing was sent by the one before.
		GetConn:      func(string) { sent.Store(false) },
		WroteHeaders: func() { sent.Store(true) },
	})
	r := c.request.Clone(ctx)
	if r.GetBody != nil {
		r.Body, _ = r.GetBody() // from memory
	}
	if held != nil {
		r.Header.Set(tokenHeader, held.id.Reveal())
	}

	return r
}

// describe returns an error of this request.
func (c *call) describe() Error {
	return Error{Service: c.service, Method: c.request.Method, Path: c.request.URL.Path}
}

// notSent is the error of a request that waited in vain.
func (c *call) notSent(ctx context.Context, err error) error {
	e := noResponse(ctx, c.describe(), err)
	if errors.Is(err, apierr.ErrThrottled) {
		e.means = apierr.ErrThrottled
	}
	e.permanent = true

	return e
}

// lost is the error of a request without a complete response.
func (c *call) lost(ctx context.Context, err error, sent bool) error {
	e := noResponse(ctx, c.describe(), err)
	e.sent = sent
	e.Message = c.shared.redact(e.Message)

	return e
}

// check returns an error for a response that is not a success, and closes its body then.
func (c *call) check(ctx context.Context, res *http.Response) error {
	e := c.describe()
	e.Status = res.StatusCode
	e.RequestID = cmp.Or(res.Header.Get("X-Openstack-Request-Id"), res.Header.Get("X-Compute-Request-Id"))
	if res.StatusCode >= http.StatusOK && res.StatusCode <= http.StatusMultipleChoices {
		return c.checkContent(ctx, e, res)
	}
	if isRedirect(c.request, res) {
		return nil
	}
	defer res.Body.Close() //nolint:errcheck // read only
	if res.StatusCode < http.StatusBadRequest {
		e.means, e.Message = apierr.ErrUnavailable, "redirect that is not followed"
		if to, err := res.Location(); err == nil {
			e.Message = c.shared.redact("redirect to " + origin(to) + to.Path + ", which is not followed")
		}

		return &e
	}
	content, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if err != nil {
		content = nil // the status alone
	}
	f := parseFault(c.service, res.StatusCode, content)
	e.means = meaning(c.service, c.request.Method, res.StatusCode, f)
	e.Type, e.Message, e.own = f.kind, c.shared.redact(brief(f.message)), f.own
	e.retryAfter = cmp.Or(res.Header.Get("Retry-After"), f.retryAfter)
	e.receipt = res.Header.Get("Openstack-Auth-Receipt") != ""

	return &e
}

// checkContent returns an error for a success that no service sends.
func (c *call) checkContent(ctx context.Context, e Error, res *http.Response) error {
	kind := res.Header.Get("Content-Type")
	if res.ContentLength > 0 && isJSON(kind) {
		return nil
	}
	first, err := firstByte(res)
	switch {
	case err != nil:
		_ = res.Body.Close() // its error is already known

		return c.lost(ctx, err, true)
	case first == 0 && c.request.Method == http.MethodGet:
		e.Message = "empty response"
	case first == 0 || isJSON(kind):
		return nil
	case kind == "" && first == '{':
		return nil // what is decoded must be the object that is expected
	default:
		e.Message = "response is not JSON but " + brief(cmp.Or(kind, "of an unknown type"))
	}
	_ = res.Body.Close() // not read
	e.means = apierr.ErrUnavailable

	return &e
}

// note slows down a service that is busy.
func (c *call) note(err error) {
	e, ok := errors.AsType[*Error](err)
	if !ok || !errors.Is(e.means, apierr.ErrThrottled) && (e.Status != http.StatusServiceUnavailable || e.retryAfter == "") {
		return
	}
	c.limiter.throttled(e.wait(c.shared.options.Clock.Now()), e.Status == http.StatusServiceUnavailable && e.retryAfter == "")
}

// maxMessage bounds the text of an error.
const maxMessage = 500

// brief returns a text in one line of bounded length.
func brief(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) <= maxMessage {
		return text
	}

	return strings.ToValidUTF8(text[:maxMessage], "") + "…"
}
