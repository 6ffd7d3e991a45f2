// Package sim is an in-memory cloud for the tests of the conformance suites: it
// has machines, fails as a whole or in single calls, and counts calls. Each suite
// adds what its own providers need.
//
// It is no test cloud for a provider: those speak the real protocol.
package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

const (
	// Provider is the name of the providers of this cloud.
	Provider = "sim"
	// Scheme is what the providerIDs of its machines begin with.
	Scheme = Provider + "://"

	// latency is how long a call takes, so that others can come in between.
	latency = time.Millisecond
)

// The errors of the cloud.
var (
	ErrExists  = errors.New("it exists already")
	ErrMissing = errors.New("it does not exist")

	errDenied   = errors.New("login denied")
	errRefused  = errors.New("connection refused")
	errInternal = errors.New("internal error")
	errReset    = errors.New("connection reset")
	errThrottle = errors.New("slow down")
)

// PageError is a response of a proxy in place of the cloud, with its HTTP status.
type PageError int

func (e PageError) Error() string { return fmt.Sprintf("response %d is a page", int(e)) }

// Machine is an instance of the cloud. It never changes; a change replaces it.
type Machine struct {
	Ref   instance.Ref
	IPs   []string
	Power conformance.Power
}

// ProviderID implements [instance.Instance].
func (m *Machine) ProviderID() string { return m.Ref.ProviderID }

// State implements [instance.Instance].
func (m *Machine) State() instance.State {
	if m.Power == conformance.On {
		return instance.Running
	}

	return instance.Stopped
}

// Cloud is an in-memory cloud. Its lock guards its own fields and those that a
// suite adds.
type Cloud struct {
	sync.Mutex

	Machines []*Machine
	// Created counts what was created, for names.
	Created int
	// Decoys are the names of resources that belong to others.
	Decoys []string

	calls, writes int
	failure       conformance.Failure
	failing       chan struct{} // closed by ClearFaults; nil without a failure
	fault         *fault
}

// fault is an injected fault.
type fault struct {
	explore.Injection
	seen, hits int
}

// New returns a cloud without machines.
func New(t testing.TB) *Cloud {
	t.Helper()
	c := &Cloud{}
	t.Cleanup(func() { c.ClearFaults(t) })

	return c
}

// Create implements [conformance.Cloud].
func (c *Cloud) Create(_ testing.TB, m conformance.Machine) instance.Ref {
	c.Lock()
	defer c.Unlock()
	c.Created++
	made := &Machine{IPs: m.IPs, Ref: instance.Ref{
		ProviderID: fmt.Sprintf(Scheme+"%08d", c.Created),
		SystemUUID: fmt.Sprintf("%08x-0102-0304-0506-0708090a0b0c", c.Created),
		NodeName:   m.Name,
	}}
	c.Machines = append(c.Machines, made)

	return made.Ref
}

// Delete implements [conformance.Cloud].
func (c *Cloud) Delete(t testing.TB, ref instance.Ref) {
	t.Helper()
	c.Lock()
	defer c.Unlock()
	i := c.index(t, ref)
	c.Machines = slices.Delete(slices.Clone(c.Machines), i, i+1)
}

// SetPower implements [conformance.Cloud].
func (c *Cloud) SetPower(t testing.TB, ref instance.Ref, power conformance.Power) {
	t.Helper()
	c.Lock()
	defer c.Unlock()
	i := c.index(t, ref)
	c.Machines[i] = &Machine{Ref: ref, IPs: c.Machines[i].IPs, Power: power}
}

// index returns the place of a machine. The cloud is locked.
func (c *Cloud) index(t testing.TB, ref instance.Ref) int {
	t.Helper()
	i := slices.IndexFunc(c.Machines, func(m *Machine) bool { return m.Ref == ref })
	if i < 0 {
		t.Fatalf("there is no machine %+v", ref)
	}

	return i
}

// Machine returns the machine of a canonical providerID, nil if there is none. The
// cloud is locked.
func (c *Cloud) Machine(providerID string) *Machine {
	for _, m := range c.Machines {
		if m.Ref.ProviderID == providerID && strings.HasPrefix(providerID, Scheme) {
			return m
		}
	}

	return nil
}

// Calls implements [conformance.Cloud].
func (c *Cloud) Calls() int {
	c.Lock()
	defer c.Unlock()

	return c.calls
}

// Writes implements [conformance.MutableCloud].
func (c *Cloud) Writes() int {
	c.Lock()
	defer c.Unlock()

	return c.writes
}

// Enter counts a call and returns the error of a cloud that fails.
func (c *Cloud) Enter(ctx context.Context) error {
	c.Lock()
	c.calls++
	failing, failure := c.failing, c.failure
	c.Unlock()
	if failing == nil {
		return ctx.Err()
	}
	switch failure {
	case conformance.Unreachable:
		return apierr.Mark(apierr.ErrUnavailable, errRefused)
	case conformance.Throttling:
		return apierr.Mark(apierr.ErrThrottled, errThrottle)
	case conformance.Refusing:
		return apierr.Mark(apierr.ErrDenied, errDenied)
	case conformance.ProxyNotFound, conformance.ProxyOK, conformance.ProxyBadGateway:
		return apierr.Mark(apierr.ErrUnavailable, PageError(failure.Page()))
	case conformance.Hanging:
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-failing:
		return apierr.Mark(apierr.ErrUnavailable, errRefused)
	}
}

// Read makes a call that changes nothing. The function runs with the lock.
func (c *Cloud) Read(ctx context.Context, read func()) error {
	return c.call(ctx, func() error {
		read()

		return nil
	})
}

// Write makes a call that may change something. The function runs with the lock.
func (c *Cloud) Write(ctx context.Context, write func() error) error {
	c.Lock()
	c.writes++
	c.Unlock()

	return c.call(ctx, write)
}

// call makes a call, unless it fails.
func (c *Cloud) call(ctx context.Context, apply func() error) error {
	if err := c.Enter(ctx); err != nil {
		return err
	}
	time.Sleep(latency)
	c.Lock()
	defer c.Unlock()
	f := c.fault
	if !f.next() {
		return apply()
	}
	if f.Fault.Applied() {
		_ = apply() // the response is lost
	}
	switch f.Fault {
	case explore.Throttled:
		return apierr.Mark(apierr.ErrThrottled, errThrottle)
	case explore.Failed:
		return apierr.Mark(apierr.ErrUnavailable, errInternal)
	case explore.Killed, explore.KilledLate:
		f.Kill()
	case explore.Dropped, explore.Lost:
	}

	return apierr.Mark(apierr.ErrUnavailable, errReset)
}

// next reports whether the next call gets the fault.
func (f *fault) next() bool {
	if f == nil {
		return false
	}
	f.seen++
	if f.seen < f.First || f.Once && f.seen > f.First {
		return false
	}
	f.hits++

	return true
}

// Describe returns the lines of resources in order, by whether their owners are
// decoys. The cloud is locked.
func (c *Cloud) Describe(decoys bool, each func(add func(owner string, resource fmt.Stringer))) []string {
	var lines []string
	each(func(owner string, resource fmt.Stringer) {
		if slices.Contains(c.Decoys, owner) == decoys {
			lines = append(lines, resource.String())
		}
	})
	slices.Sort(lines)

	return lines
}
