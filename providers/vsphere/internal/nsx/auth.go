package nsx

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

// Auth authenticates calls.
type Auth interface {
	// authorize adds what authenticates a call to its header. The function that it returns
	// is called with the result, and reports whether a call that was refused may be sent
	// again with other credentials.
	authorize(ctx context.Context, header http.Header) (done func(error) (again bool), err error)
}

// Certificate authenticates by the client certificate of the connection.
type Certificate struct{}

func (Certificate) authorize(context.Context, http.Header) (func(error) bool, error) {
	return func(error) bool { return false }, nil
}

// Credentials are an account of the manager, or of a directory that it uses.
type Credentials struct {
	User     string
	Password config.Secret
}

// Password authenticates each call by user and password, as the manager has no other way
// to accept them that works through a virtual address of several managers. Each call is a
// login.
type Password struct {
	// Host names the manager in errors.
	Host string
	// Remote has the user looked up in VMware Identity Manager.
	Remote bool
	// Guard limits refused logins. It lets a password that was not accepted yet be sent once
	// at a time, and an accepted one twice.
	Guard *login.Guard

	source atomic.Pointer[credential.Source[Credentials]]
}

// LoginLimits are those of a manager, which locks an account for 15 minutes after 5
// refused logins in 15 minutes, the API included:
// https://docs.vmware.com/en/VMware-NSX-T-Data-Center/3.2/administration/GUID-99BAED85-D754-4589-9050-72A1AB528C10.html.
// A login without a response counts for a minute. If it was refused, the password is wrong
// and no call succeeds anyhow: at worst, the account is locked for longer. With the
// interval of refused ones, a manager that restarts would end all calls for 15 minutes.
func LoginLimits() login.Limits {
	limits := login.DefaultLimits()
	limits.Interval = 15*time.Minute + time.Second // clocks differ
	limits.LostInterval = time.Minute

	return limits
}

// errNotStarted means that credentials are not known before the provider has started.
var errNotStarted = apierr.Mark(apierr.ErrUnavailable, errors.New("the provider has not started yet"))

// Use sets where the credentials are.
func (p *Password) Use(source credential.Source[Credentials]) { p.source.Store(&source) }

func (p *Password) authorize(ctx context.Context, header http.Header) (func(error) bool, error) {
	source := p.source.Load()
	if source == nil {
		return nil, errNotStarted
	}
	credentials, err := (*source).Lookup(ctx, "")
	if err != nil {
		return nil, err
	}
	done, err := p.Guard.Reserve(ctx, login.Request{Account: strings.ToLower(credentials.User), Password: credentials.Password, Target: p.Host})
	if err != nil {
		return nil, err
	}
	scheme := "Basic"
	if p.Remote {
		scheme = "Remote"
	}
	account := credentials.User + ":" + credentials.Password.Reveal()
	header.Set("Authorization", scheme+" "+base64.StdEncoding.EncodeToString([]byte(account)))

	return func(err error) bool {
		done(loginResult(err), err)

		return false
	}, nil
}

// loginResult is what the result of a call says about its login.
func loginResult(err error) login.Result {
	e, failed := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return login.Accepted
	case errors.Is(err, ErrLogin):
		return login.Refused
	case failed && e.sent:
		return login.Lost
	case !failed || e.Status == 0:
		return login.Failed // not sent
	case e.Code == 0 || e.isBusy() || e.isTemporary():
		return login.Failed // of a proxy, or from before the login
	}

	return login.Accepted
}

// ParseCredentials reads the Secret with the credentials of the manager. One newline at
// the end of a value is removed.
func ParseCredentials(data map[string][]byte) (map[string]Credentials, error) {
	for _, key := range []string{"username", "password"} {
		if credential.Value(data, key) == "" {
			return nil, errors.New("key " + key + " is missing or empty")
		}
	}
	credentials := Credentials{User: credential.Value(data, "username"), Password: config.Secret(credential.Value(data, "password"))}

	return map[string]Credentials{"": credentials}, nil
}
