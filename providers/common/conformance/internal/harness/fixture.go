package harness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// Defaults of the adapters.
const (
	defaultTimeout    = 30 * time.Second
	defaultNoticeTime = 30 * time.Second
)

// Limits are how long a case waits.
type Limits struct {
	// Timeout is how long the connected provider may take for one call.
	Timeout time.Duration
	// NoticeTime is how long it may take until it has noticed what happened in the
	// cloud.
	NoticeTime time.Duration
}

// Fixture is what one case works with: a new test cloud.
type Fixture[C conformance.Cloud] struct {
	T     testing.TB
	Cloud C
	Limits

	machines int
}

// NewFixture returns the fixture of one case.
func NewFixture[C conformance.Cloud](t testing.TB, cloud C, limits Limits) *Fixture[C] {
	limits.Timeout = cmp.Or(limits.Timeout, defaultTimeout)
	limits.NoticeTime = cmp.Or(limits.NoticeTime, defaultNoticeTime)

	return &Fixture[C]{T: t, Cloud: cloud, Limits: limits}
}

// InjectFailure makes the cloud fail, until the end of the case at the latest, so
// that the provider can close.
func (f *Fixture[C]) InjectFailure(failure conformance.Failure) {
	f.T.Helper()
	f.Cloud.InjectFailure(f.T, failure)
	f.T.Cleanup(func() { f.Cloud.ClearFaults(f.T) })
}

// Machine is an instance of the test cloud with its addresses.
type Machine struct {
	instance.Ref
	IPs []string
}

// Create makes one more instance, with a name and an address of its own.
func (f *Fixture[C]) Create() Machine {
	f.T.Helper()

	return f.CreateNamed(fmt.Sprintf("machine-%d", f.machines+1))
}

// CreateMany makes instances.
func (f *Fixture[C]) CreateMany(n int) []Machine {
	f.T.Helper()
	machines := make([]Machine, n)
	for i := range machines {
		machines[i] = f.Create()
	}

	return machines
}

// CreateNamed makes an instance with this name and an address of its own.
func (f *Fixture[C]) CreateNamed(name string) Machine {
	f.T.Helper()

	return f.CreateFrom(conformance.Machine{Name: name})
}

// CreateFrom makes an instance with an IPv4 address of its own.
func (f *Fixture[C]) CreateFrom(m conformance.Machine) Machine {
	f.T.Helper()
	f.machines++
	m.IPs = []string{fmt.Sprintf("10.9.%d.%d", f.machines/200, f.machines%200+10)}
	ref := f.Cloud.Create(f.T, m)
	if ref.ProviderID == "" || ref.SystemUUID == "" || ref.NodeName == "" {
		f.T.Fatalf("the test cloud made an instance without identity: %+v", ref)
	}

	return Machine{Ref: ref, IPs: append(m.IPs, m.IPv6...)}
}

// CheckCalls fails the case if more calls were made since than the limit.
func (f *Fixture[C]) CheckCalls(limit, since int, what string) {
	f.T.Helper()
	calls := f.Cloud.Calls() - since
	if calls > limit {
		f.T.Errorf("%s: %d calls, the budget is %d", what, calls, limit)
	}
	f.T.Logf("%s: %d calls", what, calls)
}

// Mutable is a fixture of a suite in which providers change the cloud.
type Mutable[C conformance.MutableCloud] struct{ *Fixture[C] }

// During returns the fixture for a process that ends with ctx.
func (f Mutable[C]) During(ctx context.Context) Mutable[C] {
	during := *f.Fixture
	during.T = process{f.T, ctx}

	return Mutable[C]{&during}
}

// process is a test with the context of a process.
type process struct {
	testing.TB
	ctx context.Context // as the one of the test
}

func (p process) Context() context.Context { return p.ctx }

// CheckWritesNothing fails the case if a function writes to the cloud.
func (f Mutable[C]) CheckWritesNothing(what string, run func()) {
	f.T.Helper()
	before := f.Cloud.Writes()
	run()
	if n := f.Cloud.Writes() - before; n != 0 {
		f.T.Errorf("%s makes %d writes", what, n)
	}
}

// CheckNothingLeft fails the case if anything is left that providers created.
func (f Mutable[C]) CheckNothingLeft() {
	f.T.Helper()
	if left := f.Cloud.Resources(); len(left) != 0 {
		f.T.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

// CheckUnchanged fails the case if the lines are not what they were.
func (f Mutable[C]) CheckUnchanged(what string, before, after []string) {
	f.T.Helper()
	if !slices.Equal(before, after) {
		f.T.Errorf("%s changed (-before +after):\n%s", what, gocmp.Diff(before, after))
	}
}
