package nsxt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// Cloud is a running simulated manager. All its methods may be used from several
// goroutines at once, and each API call is atomic.
type Cloud struct {
	spec        Spec
	server      *simserver.Server
	interceptor simserver.Interceptor
	requests    simstate.Requests[Request]
	kinds       []*kind

	mu         sync.Mutex // held while an operation runs
	state      *state
	ids        simstate.IDs // of requests, sessions and tokens
	limits     limits
	accounts   map[string]*account
	sessions   map[string]*session
	tokens     map[string]time.Time // when access tokens end
	denied     []string
	restarting time.Time // the end of the restart
	pages      pageRefusal
}

// Start makes a manager with the objects of the spec, and listens. Close ends it.
func Start(spec Spec) (*Cloud, error) {
	spec = spec.complete()
	c := &Cloud{spec: spec, kinds: newKinds(), accounts: newAccounts(spec), sessions: map[string]*session{}, tokens: map[string]time.Time{}}
	c.state = newState()
	if err := c.seed(); err != nil {
		return nil, fmt.Errorf("seed simulated manager: %w", err)
	}
	server, err := simserver.Start(spec.Server, c)
	if err != nil {
		return nil, fmt.Errorf("start simulated manager: %w", err)
	}
	c.server = server

	return c, nil
}

// Close stops listening and waits for the calls in progress.
func (c *Cloud) Close() error { return c.server.Close() }

// Host returns the host and port with the prefix, and without a scheme.
func (c *Cloud) Host() string { return c.server.Address() + c.spec.Prefix }

// AuthHost returns the host, port and path of the service that issues tokens.
func (c *Cloud) AuthHost() string { return c.server.Address() + c.spec.Token.Path }

// CertificatePEM returns the certificate of the server, which a client may trust as its CA.
func (c *Cloud) CertificatePEM() []byte { return c.server.CertificatePEM() }

// Server returns what can go down or hang.
func (c *Cloud) Server() *simserver.Server { return c.server }

// Interceptor returns the interceptor that logs, delays and fails calls.
func (c *Cloud) Interceptor() *simserver.Interceptor { return &c.interceptor }

// Dial connects to a manager in memory, which has no port.
func (c *Cloud) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return c.server.Dial(ctx, network, address)
}

// Writes returns the number of calls that may change objects, by operation, whether or not
// they succeeded. It uses the interceptor's log.
func (c *Cloud) Writes() map[string]int {
	writes := c.interceptor.Calls()
	for op := range writes {
		if !c.Mutating(op) {
			delete(writes, op)
		}
	}

	return writes
}

// Mutating reports whether the operation, by its name in the interceptor's log, may change
// objects.
func (c *Cloud) Mutating(op string) bool {
	for _, verb := range []string{"Put", "Patch", "Delete"} {
		if strings.HasPrefix(op, verb) {
			return true
		}
	}

	return false
}

// Restart makes every call fail for a time, as while the services of a manager start
// ([API] all_errors), and ends all sessions.
func (c *Cloud) Restart(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restarting = c.now().Add(d)
	clear(c.sessions)
}

// SetDenied refuses operations by their names or groups, as for an account without the
// right, until the next call.
func (c *Cloud) SetDenied(ops ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied = ops
}

// now is the time of the manager.
func (c *Cloud) now() time.Time { return c.spec.Clock.Now() }

// after runs do at the first operation or inspection when d has passed. The caller holds
// mu, and so does do.
func (c *Cloud) after(d time.Duration, do func(*Cloud)) { c.state.schedule.At(c.now().Add(d), do) }

// inspect runs f with the state as the next operation would find it.
func (c *Cloud) inspect(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applyDue()
	f()
}

// applyDue applies the changes that are due. The caller holds mu.
func (c *Cloud) applyDue() { c.state.schedule.Run(c.now(), c) }

// asAPIError returns an error as a response.
func asAPIError(err error) *apiError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}

	return &apiError{status: http.StatusInternalServerError, module: moduleCommon, message: err.Error()}
}
