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
	parent      *conn // of a REST client that rides on a SOAP session: that one
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

// end logs out. A session that is gone already has ended well.
func (c *conn) end(ctx context.Context) error {
	defer c.closeIdle()
	var err error
	switch {
	case c.parent != nil: // ends with the SOAP session
	case c.soap != nil:
		err = session.NewManager(c.soap).Logout(ctx)
	default:
		err = c.rest.Logout(ctx)
	}
	if err == nil || ended(err) {
		return nil
	}

	return fmt.Errorf("log out of %s: %w", c.api, classify(err))
}
