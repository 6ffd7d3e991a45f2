package nodes

import (
	"context"
	"errors"
	"fmt"
	"testing"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
)

// cloud is the in-memory cloud with sessions.
type cloud struct {
	*sim.Cloud
	build    build
	logins   int
	sessions map[int]bool
}

var (
	_ conformance.Cloud          = (*cloud)(nil)
	_ conformance.SessionCounter = (*cloud)(nil)
)

func (c *cloud) Connect(t testing.TB) cloudprovider.Interface {
	t.Helper()

	return c.build.connect(t, c)
}

func (c *cloud) InjectFailure(t testing.TB, failure conformance.Failure) {
	t.Helper()
	c.Cloud.InjectFailure(t, failure)
	if failure == conformance.Refusing {
		c.Lock()
		defer c.Unlock()
		clear(c.sessions)
	}
}

func (c *cloud) Sessions() int {
	c.Lock()
	defer c.Unlock()

	return len(c.sessions)
}

// login opens a session.
func (c *cloud) login(ctx context.Context) (int, error) {
	if err := c.Enter(ctx); err != nil {
		return 0, fmt.Errorf("log in: %w", err)
	}
	c.Lock()
	defer c.Unlock()
	c.logins++
	c.sessions[c.logins] = true

	return c.logins, nil
}

// logout ends a session.
func (c *cloud) logout(ctx context.Context, session int) error {
	if err := c.Enter(ctx); err != nil {
		return fmt.Errorf("log out: %w", err)
	}
	c.Lock()
	defer c.Unlock()
	delete(c.sessions, session)

	return nil
}

// list returns the machines that a filter selects.
func (c *cloud) list(ctx context.Context, session int, selects func(*sim.Machine) bool) ([]*sim.Machine, error) {
	if err := c.Enter(ctx); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	c.Lock()
	defer c.Unlock()
	if !c.sessions[session] {
		return nil, apierr.Mark(apierr.ErrDenied, errors.New("list machines: no session"))
	}
	var found []*sim.Machine
	for _, m := range c.Machines {
		if selects(m) {
			found = append(found, m)
		}
	}

	return found, nil
}
