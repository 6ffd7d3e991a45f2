package session

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
)

// What can be wrong with credentials. The texts are those that users of the
// existing vSphere controller manager know.
var (
	// ErrMissing means that there is no user or no password, and no session
	// manager either.
	ErrMissing = errors.New("Username/Password is missing")
	// ErrUnknownKey means that a Secret or a directory has a key of neither form.
	ErrUnknownKey = errors.New("Unknown secret key") //nolint:staticcheck // a text that users know
	// ErrIncomplete means that a user or a password is there, but not the
	// server it is for.
	ErrIncomplete = errors.New("Credentials did not have all required values")
	// ErrNotFound means that there are no credentials for this server.
	ErrNotFound = errors.New("Credentials not found")
)

// Credentials say how to log in to one vCenter: with a session manager if one
// is named, with a client certificate if User is one in PEM form (Password then
// is its key), and with user and password otherwise. Two values are the same
// version of the credentials exactly if they are equal.
type Credentials struct {
	User     string
	Password config.Secret

	// ManagerURL is the session manager that hands out tickets for sessions to
	// clone, ManagerToken what it wants to see. Without a token it is shown the
	// token of the pod's service account.
	ManagerURL   string
	ManagerToken config.Secret
}

// shared reports whether a session manager is asked for a session.
func (c Credentials) shared() bool { return c.ManagerURL != "" }

// certificate reports whether User is a certificate rather than a name.
func (c Credentials) certificate() bool {
	block, _ := pem.Decode([]byte(c.User))

	return block != nil
}

// password reports whether vCenter is sent a password, which may lock the account.
func (c Credentials) password() bool { return !c.shared() && !c.certificate() }

// check reports whether there is enough to log in with.
func (c Credentials) check() error {
	if !c.shared() && (c.User == "" || c.Password == "") {
		return ErrMissing
	}

	return nil
}

// String names the account and nothing secret.
func (c Credentials) String() string {
	switch {
	case c.shared():
		return "session manager " + redactURL(c.ManagerURL)
	case c.certificate():
		return "client certificate"
	default:
		return fmt.Sprintf("user %q", c.User)
	}
}

// Format keeps every verb from showing more than String does.
func (c Credentials) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// redactURL leaves out what may be secret in a URL: a password and a query.
func redactURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "with an unreadable URL"
	}
	u.RawQuery, u.Fragment = "", ""

	return u.Redacted()
}

// Source has the credentials of vCenters, by server.
type Source = credential.Source[Credentials]

// Inline returns the source of credentials in the cloud-config itself.
func Inline(credentials Credentials) Source {
	return credential.Inline(credentials, credentials.check())
}
