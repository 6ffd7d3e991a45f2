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

// The errors of credentials. The texts are those of the upstream vSphere controller
// manager, which its users know.
var (
	// ErrMissing means that there is no user or no password, and no session
	// manager either.
	ErrMissing = errors.New("Username/Password is missing")
	// ErrUnknownKey means that a key of a Secret or a directory has neither form.
	ErrUnknownKey = errors.New("Unknown secret key") //nolint:staticcheck // a text that users know
	// ErrIncomplete means that there is a user or a password without a server.
	ErrIncomplete = errors.New("Credentials did not have all required values")
	// ErrNotFound means that there are no credentials for this server.
	ErrNotFound = errors.New("Credentials not found")
)

// Credentials are what one vCenter is logged in to with: a session manager if one
// is named, a client certificate if User is one in PEM form (Password then is its
// key), and user and password otherwise. Two values are the same version of the
// credentials if they are equal.
type Credentials struct {
	User     string
	Password config.Secret

	// ManagerURL is that of the session manager, which returns tickets of sessions
	// to clone, and ManagerToken is the bearer token for it. Default: the token of
	// the pod's service account.
	ManagerURL   string
	ManagerToken config.Secret
}

// shared reports whether the session comes from a session manager.
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

// String names the account, without secrets.
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

// redactURL removes what may be secret in a URL: a password and a query.
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

// InFile is the source of credentials in the cloud-config itself.
type InFile = credential.InFile[Credentials]

// NewInFile returns the source of credentials in the cloud-config itself.
func NewInFile(credentials Credentials) *InFile {
	return credential.NewInFile(credentials, credentials.check())
}
