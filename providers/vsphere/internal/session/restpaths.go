package session

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/vmware/govmomi/vapi/rest"
)

// A vCenter serves the REST API at two paths. The one that the SDK uses is
// deprecated since vCenter 7.0 U2, which is the first to have all of the other one:
// https://kb.vmware.com/s/article/83022.
const (
	legacyPrefix  = rest.Path + "/com/vmware/cis/"
	legacySession = legacyPrefix + "session"
	newPrefix     = "/api/cis/"
	newSession    = "/api/session"
)

// restPaths stores at which path a vCenter serves the REST API. The zero value
// begins with the newer one.
type restPaths struct {
	legacy atomic.Bool
}

// either makes a call at the path that served the last one, and if that is not
// found, at the other one. What neither path finds does not exist.
func (p *restPaths) either(call func(legacy bool) (status int, err error)) error {
	legacy := p.legacy.Load()
	status, err := call(legacy)
	if status != http.StatusNotFound {
		return err
	}
	status, err = call(!legacy)
	if status != 0 && status != http.StatusNotFound && status < http.StatusInternalServerError {
		p.legacy.Store(!legacy)
	}

	return err
}

// logIn makes a session. The path matters: a token is sent with a signature of it.
func (p *restPaths) logIn(ctx context.Context, client *rest.Client, user *url.Userinfo) error {
	return p.either(func(legacy bool) (int, error) {
		var err error
		if legacy {
			err = client.Login(ctx, user)
		} else {
			err = newLogin(ctx, client, user)
		}
		if err == nil {
			return http.StatusOK, nil
		}

		return restStatus(err), err
	})
}

// newLogin makes a session at the newer path:
// https://developer.broadcom.com/xapis/vsphere-automation-api/latest/cis/api/session/post
func newLogin(ctx context.Context, client *rest.Client, user *url.Userinfo) error {
	req := client.Resource(newSession).Request(http.MethodPost)
	if password, ok := user.Password(); ok {
		req.SetBasicAuth(user.Username(), password)
	}
	var id string
	if err := client.Do(ctx, req, &id); err != nil {
		return err //nolint:wrapcheck // the caller wraps it
	}
	client.SessionID(id)

	return nil
}

// restTransport sends the calls of one REST client of the SDK to the path that the
// vCenter serves, and counts them.
type restTransport struct {
	base  http.RoundTripper
	count countFunc
	paths *restPaths
}

// RoundTrip implements [http.RoundTripper].
func (t restTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	renewed, ok := newForm(req)
	if !ok || req.Header.Get("Authorization") != "" {
		return t.send(req, req)
	}
	if req.Body != nil {
		defer func() { _ = req.Body.Close() }() // nothing has been read from it
	}
	var res *http.Response
	err := t.paths.either(func(legacy bool) (status int, err error) {
		form := renewed
		if legacy {
			form = req
		}
		if form, err = repeatable(form); err != nil {
			return 0, err
		}
		if res != nil {
			_ = res.Body.Close() // it was not found at the other path
		}
		if res, err = t.send(form, req); err != nil { //nolint:bodyclose // the SDK closes the last one
			return 0, err
		}
		if !legacy {
			res = wrapped(res) //nolint:bodyclose // the SDK closes the last one
		}

		return res.StatusCode, nil
	})
	if err != nil {
		return nil, err
	}

	return res, nil
}

// repeatable returns a request with a body of its own.
func repeatable(req *http.Request) (*http.Request, error) {
	out := req.Clone(req.Context())
	if req.GetBody == nil { // the SDK has none to send
		out.Body, out.ContentLength = http.NoBody, 0

		return out, nil
	}
	var err error
	out.Body, err = req.GetBody()

	return out, err //nolint:wrapcheck // reads memory
}

// newForm returns the same request for the newer path. It returns false if that of the
// SDK is not for the older one. The forms are those of
// https://developer.broadcom.com/xapis/vsphere-automation-api/latest/cis-tagging.
func newForm(req *http.Request) (*http.Request, bool) {
	path, ok := strings.CutPrefix(req.URL.Path, legacyPrefix)
	if !ok {
		return nil, false
	}
	out := req.Clone(req.Context())
	action := req.URL.Query().Get("~action")
	out.URL.RawQuery = ""
	out.URL.Path = newPrefix + strings.Replace(path, "/id:", "/", 1)
	switch {
	case req.URL.Path == legacySession:
		out.URL.Path = newSession
		if action == "get" {
			out.Method = http.MethodGet
		}
	case action == "list-tags-for-category": // the category is in the body
		out.URL.Path, _, _ = strings.Cut(newPrefix+path, "/id:")

		fallthrough
	case action != "":
		out.URL.RawQuery = url.Values{"action": {action}}.Encode()
	}

	return out, true
}

// wrapped returns a response of the newer path in the form that the SDK expects of the
// older one.
func wrapped(res *http.Response) *http.Response {
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusCreated {
		return res
	}
	body := io.MultiReader(strings.NewReader(`{"value":`), res.Body, strings.NewReader(`}`))
	res.Body = struct {
		io.Reader
		io.Closer
	}{body, res.Body}
	res.ContentLength = -1
	res.Header.Del("Content-Length")

	return res
}
