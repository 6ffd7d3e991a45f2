package session

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
)

// conn is one session with one API.
type conn struct {
	api         api
	credentials Credentials
	since       time.Time
	soap        *vim25.Client
	rest        *rest.Client
	parent      *conn // the SOAP session that a REST client shares
}

// closeIdle closes connections that are idle.
func (c *conn) closeIdle() {
	if c.soap != nil {
		c.soap.CloseIdleConnections()
	}
	if c.rest != nil {
		c.rest.CloseIdleConnections()
	}
}

// logOut ends a session. That it has ended already is no error.
func (c *conn) logOut(ctx context.Context) error {
	defer c.closeIdle()
	var err error
	switch {
	case c.parent != nil: // ends with the SOAP session
	case c.soap != nil:
		err = session.NewManager(c.soap).Logout(ctx)
	default:
		err = c.rest.Logout(ctx)
	}
	if err == nil || isSessionEnded(err) {
		return nil
	}

	return fmt.Errorf("log out of %s: %w", c.api, classify(err))
}
