package nsxt

import (
	"net/http"
	"net/url"
	"time"
)

const (
	cookieName = "JSESSIONID"
	xsrfHeader = "X-Xsrf-Token"
)

// session is a login that a cookie stands for, at one manager ([docs] NSX 4.1, session
// authentication).
type session struct {
	user, xsrf string
	node       int
	used       time.Time
}

// createSession logs in with a form ([API] CreateAuthenticatedSession).
func (c *Cloud) createSession(k *call) (any, error) {
	form, err := url.ParseQuery(string(k.body))
	if err != nil {
		return nil, invalid("%v", err)
	}
	name := form.Get("j_username")
	a := c.accounts[name]
	who, err := c.login(name, form.Get("j_password"), a != nil && a.remote)
	if err != nil {
		return nil, err
	}
	id := c.ids.Hex("session", 32)
	s := &session{user: who.name, xsrf: c.ids.Hex("xsrf", 32), node: k.node, used: c.now()}
	c.sessions[id] = s
	cookie := &http.Cookie{Name: cookieName, Value: id, Path: "/", Secure: true, HttpOnly: true}
	k.header.Set("Set-Cookie", cookie.String())
	k.header.Set(xsrfHeader, s.xsrf)

	return nil, nil
}

// destroySession logs out.
func (c *Cloud) destroySession(k *call) (any, error) {
	if cookie, err := k.request.Cookie(cookieName); err == nil {
		delete(c.sessions, cookie.Value)
	}

	return nil, nil
}

// loginBySession checks a cookie and the token that belongs to it.
func (c *Cloud) loginBySession(k *call, id string) (caller, error) {
	s := c.sessions[id]
	if s == nil || s.node != k.node || c.now().Sub(s.used) > c.spec.SessionIdle {
		return caller{}, &apiError{status: http.StatusUnauthorized, code: codeRefusedLogin, module: moduleCommon, message: "The session is not valid."}
	}
	if k.request.Header.Get(xsrfHeader) != s.xsrf {
		return caller{}, newError(http.StatusForbidden, 98)
	}
	s.used = c.now()

	return caller{name: s.user}, nil
}

// Sessions returns the number of sessions that did not end.
func (c *Cloud) Sessions() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, s := range c.sessions {
		if c.now().Sub(s.used) <= c.spec.SessionIdle {
			n++
		}
	}

	return n
}

// EndSessions ends all sessions and access tokens.
func (c *Cloud) EndSessions() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.sessions)
	clear(c.tokens)
}
