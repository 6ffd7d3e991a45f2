package nsxt

import (
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"strings"
	"time"
)

// The lockout of an account: failures within the window lock it for as long
// (AuthenticationPolicyProperties of NSX-T 4.2.1).
const (
	maxFailures   = 5
	lockoutWindow = 900 * time.Second
)

// caller is who makes a call.
type caller struct {
	name string
	// principal reports whether it is an identity with a certificate.
	principal bool
}

// account is a user with a password.
type account struct {
	name, password string
	remote         bool
	failures       []time.Time
	lockedUntil    time.Time
	refused        int
}

func newAccounts(spec Spec) map[string]*account {
	accounts := map[string]*account{}
	for name, password := range spec.Users {
		accounts[name] = &account{name: name, password: password}
	}
	for name, password := range spec.RemoteUsers {
		accounts[name] = &account{name: name, password: password, remote: true}
	}

	return accounts
}

// login checks a password. The account locks after too many failures, and is refused then
// even with the right password ([docs] NSX-T 3.2, authentication policy).
func (c *Cloud) login(name, password string, remote bool) (caller, error) {
	a, ok := c.accounts[name]
	if !ok {
		return caller{}, c.refusedLogin()
	}
	now := c.now()
	right := a.remote == remote && subtle.ConstantTimeCompare([]byte(a.password), []byte(password)) == 1
	if right && !now.Before(a.lockedUntil) {
		a.failures = nil

		return caller{name: name}, nil
	}
	a.refused++
	if !now.Before(a.lockedUntil) {
		a.fail(now)
	}

	return caller{}, c.refusedLogin()
}

// fail counts a failure and locks the account if there were too many.
func (a *account) fail(now time.Time) {
	recent := []time.Time{now}
	for _, at := range a.failures {
		if now.Sub(at) < lockoutWindow {
			recent = append(recent, at)
		}
	}
	a.failures = recent
	if len(recent) >= maxFailures {
		a.failures, a.lockedUntil = nil, now.Add(lockoutWindow)
	}
}

// refusedLogin returns the response to wrong credentials.
func (c *Cloud) refusedLogin() *apiError {
	e := newError(http.StatusForbidden, codeRefusedLogin)
	e.status = c.spec.RefusedStatus

	return e
}

// authenticate finds out who calls, in one of four ways.
func (c *Cloud) authenticate(k *call) (caller, error) {
	r := k.request
	if token := r.Header.Get("csp-auth-token"); token != "" {
		return c.loginByToken(token)
	}
	if name, password, remote, ok := passwordOf(r); ok {
		return c.login(name, password, remote)
	}
	if cookie, err := r.Cookie(cookieName); err == nil {
		return c.loginBySession(k, cookie.Value)
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		return c.loginByCertificate(r.TLS.PeerCertificates[0])
	}

	return caller{}, c.refusedLogin()
}

// claimed returns who a request says that it is from.
func (c *Cloud) claimed(r *http.Request) string {
	if r.Header.Get("csp-auth-token") != "" {
		return tokenUser
	}
	if name, _, _, ok := passwordOf(r); ok {
		return name
	}
	if cookie, err := r.Cookie(cookieName); err == nil && c.sessions[cookie.Value] != nil {
		return c.sessions[cookie.Value].user
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		return r.TLS.PeerCertificates[0].Subject.CommonName
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}

	return host
}

// passwordOf returns the credentials of a request with the scheme Basic, or Remote for
// accounts of a directory ([docs] NSX 4.1, API authentication with vIDM).
func passwordOf(r *http.Request) (name, password string, remote, ok bool) {
	scheme, encoded, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	remote = strings.EqualFold(scheme, "Remote")
	if !remote && !strings.EqualFold(scheme, "Basic") {
		return "", "", false, false
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", "", false, false
	}
	name, password, ok = strings.Cut(string(decoded), ":")

	return name, password, remote, ok
}

// SetPassword changes the password of an account. Its sessions stay.
func (c *Cloud) SetPassword(user, password string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accounts[user].password = password
}

// RefusedLogins returns how many logins of an account were refused.
func (c *Cloud) RefusedLogins(user string) int {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.accounts[user].refused
}

// Locked reports whether an account is locked.
func (c *Cloud) Locked(user string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.now().Before(c.accounts[user].lockedUntil)
}
