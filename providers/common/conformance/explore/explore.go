package explore

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Cloud is a test cloud with fault injection.
type Cloud interface {
	// InjectFault makes some of the calls fail from now on, until ClearFaults. The
	// function returns how many have failed so far.
	InjectFault(t testing.TB, i Injection) (hits func() int)
	// ClearFaults ends the injection, if there is one.
	ClearFaults(t testing.TB)
	// Calls returns the number of calls that the cloud received so far.
	Calls() int
	// Resources describes all that exists, each in one line and in order, so that
	// equal clouds return equal lines.
	Resources() []string
}

// Run is one run of an operation.
type Run struct {
	// Cloud is what the operation changes.
	Cloud Cloud
	// Operate runs the operation in a process that ends with ctx.
	Operate func(ctx context.Context) error
	// Continue, unless nil, has the same process go on once the fault is cleared.
	// It is not called for a process that was killed, and must leave the cloud as
	// it found it.
	Continue func()
	// Next is what the next process may do. After a single fault it does the first.
	Next []Process
}

// Process is what the next process does.
type Process struct {
	// Operate runs its operation, in which a second fault is injected. Only
	// [Explorer.InjectPair] calls it.
	Operate func(ctx context.Context) error
	// Recover runs its operation until it succeeds, and checks the result. It
	// fails the test otherwise.
	Recover func()
}

// Baseline is the run without faults.
type Baseline struct {
	// Calls is how many calls the operation makes.
	Calls int
	// Operated describes the cloud after the operation, Recovered after the next
	// process has found nothing to recover.
	Operated, Recovered string
}

// Explorer explores one operation. Several goroutines may use it unless Writes is
// set.
type Explorer struct {
	// Begin begins a run in the state before the operation. A fault will be
	// injected at the given call, so the calls before it may be replayed instead
	// of made, if the cloud is as it would be after them. The number is 0 for the
	// baseline.
	Begin func(t testing.TB, call int) Run
	// Err is the error of the operation without faults.
	Err error
	// Strict demands that the baseline's calls are made in each run, and that a
	// fault of a call is an error of the operation unless it is injected once.
	Strict bool
	// Faults are those of pairs, all if it is nil.
	Faults []Fault
	// Writes, unless nil, reports whether a call of the baseline changes the
	// cloud. Then recovery runs once for each state that runs end in.
	Writes func(call int) bool

	once      sync.Once
	baseline  Baseline
	processes int // that may come next
	recovered map[outcome]bool
	before    map[int]bool // calls whose state before them was recovered from
}

// outcome is a state in which runs end, and the process that comes next.
type outcome struct {
	state string
	next  int
}

// describe returns the state of a cloud.
func describe(cloud Cloud) string { return strings.Join(cloud.Resources(), "\n") }

// Baseline returns the run without faults, which is made once.
func (e *Explorer) Baseline(t testing.TB) Baseline {
	t.Helper()
	e.once.Do(func() {
		inScope(t, "without faults", func(t testing.TB) {
			run := e.Begin(t, 0)
			before := run.Cloud.Calls()
			if err := run.Operate(t.Context()); !errors.Is(err, e.Err) {
				t.Fatalf("the error is %v, want %v", err, e.Err)
			}
			calls := run.Cloud.Calls() - before
			operated := describe(run.Cloud)
			run.Next[0].Recover()
			e.processes = len(run.Next)
			e.baseline = Baseline{calls, operated, describe(run.Cloud)}
		})
	})
	if e.baseline.Calls == 0 {
		t.Fatal("without faults the operation fails or makes no calls")
	}

	return e.baseline
}

// Outcomes returns the number of states that were recovered from. It is counted
// only with Writes.
func (e *Explorer) Outcomes() int { return len(e.recovered) }

// Sweep injects a fault at each of the selected calls, and returns their number.
func (e *Explorer) Sweep(t testing.TB, i Injection, s Spread) int {
	t.Helper()
	calls := s.Of(e.Baseline(t).Calls)
	for _, i.First = range calls {
		e.Inject(t, i)
	}
	t.Logf("%d calls, a fault is injected at %d of them", e.baseline.Calls, len(calls))

	return len(calls)
}

// Inject runs the operation with a fault and has the next process recover.
func (e *Explorer) Inject(t testing.TB, i Injection) {
	t.Helper()
	e.Baseline(t)
	inScope(t, i.String(), func(t testing.TB) {
		run := e.Begin(t, i.First)
		err := e.operate(t, run, i)
		if e.Writes != nil && !i.Once {
			// The cloud is as it was before the call, if that changes nothing.
			if i.First > e.baseline.Calls || !i.Fault.Applied() || !e.Writes(i.First) {
				if e.before[i.First] {
					return
				}
				set(&e.before, i.First)
			}
		}
		e.recover(t, run, 0, err)
	})
}

// InjectPair runs the operation with a fault, then the operation of a next
// process with another fault, and has a process after that recover.
func (e *Explorer) InjectPair(t testing.TB, first, second Injection, next int) {
	t.Helper()
	e.Baseline(t)
	inScope(t, first.String()+", then "+second.String(), func(t testing.TB) {
		run := e.Begin(t, first.First)
		_ = e.operate(t, run, first)
		ended := inject(t, run.Cloud, second, run.Next[next].Operate)
		if e.Strict && !second.Once && ended.broken() != (ended.err != nil) && (e.Err == nil || !errors.Is(ended.err, e.Err)) {
			t.Fatalf("the second time %d calls failed, the error is %v", ended.hits, ended.err)
		}
		e.recover(t, run, next, ended.err)
	})
}

// InjectPairs injects pairs of faults, each at any call and before any of the next
// processes.
func (e *Explorer) InjectPairs(t testing.TB, random *rand.Rand, pairs int) {
	t.Helper()
	calls, faults := e.Baseline(t).Calls, e.Faults
	if faults == nil {
		faults = Faults()
	}
	injection := func() Injection {
		return Injection{First: 1 + random.IntN(calls), Fault: faults[random.IntN(len(faults))]}
	}
	for range pairs {
		e.InjectPair(t, injection(), injection(), random.IntN(e.processes))
	}
}

// operate runs the operation with a fault and checks how it ended.
func (e *Explorer) operate(t testing.TB, run Run, i Injection) error {
	t.Helper()
	ended := inject(t, run.Cloud, i, run.Operate)
	fails := ended.broken() || e.Err != nil
	if e.Strict && (ended.broken() != (i.First <= e.baseline.Calls) || !i.Once && fails != (ended.err != nil)) {
		t.Fatalf("%d calls failed, of %d without faults; the error is %v", ended.hits, e.baseline.Calls, ended.err)
	}
	if ended.err == nil {
		if diff := cmp.Diff(e.baseline.Operated, describe(run.Cloud)); diff != "" {
			t.Errorf("the operation returned no error but is not done (-without faults +with faults):\n%s", diff)
		}
	}
	if run.Continue != nil && !ended.killed {
		run.Continue()
	}

	return ended.err
}

// ending is how an operation with a fault ended.
type ending struct {
	hits   int // calls that failed
	killed bool
	err    error
}

func (e ending) broken() bool { return e.hits > 0 }

// inject runs an operation with a fault.
func inject(t testing.TB, cloud Cloud, i Injection, operate func(ctx context.Context) error) ending {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	i.Kill = kill
	hits := cloud.InjectFault(t, i)
	err := operate(ctx)
	killed := ctx.Err() != nil
	cloud.ClearFaults(t)

	return ending{hits(), killed, err}
}

// recover has the next process recover from a run that ended with err.
func (e *Explorer) recover(t testing.TB, run Run, next int, err error) {
	t.Helper()
	ended := describe(run.Cloud)
	if e.Writes != nil {
		if e.recovered[outcome{ended, 0}] || e.recovered[outcome{ended, next}] {
			return
		}
		set(&e.recovered, outcome{ended, next})
	}
	run.Next[next].Recover()
	if diff := cmp.Diff(e.baseline.Recovered, describe(run.Cloud)); diff != "" {
		t.Errorf("the next process did not recover, after %v (-without faults +with faults):\n%s", err, diff)
	}
	if t.Failed() {
		t.Fatalf("it recovered from (-without faults +with faults):\n%s", cmp.Diff(e.baseline.Operated, ended))
	}
}

// set adds a key to a set.
func set[K comparable](keys *map[K]bool, key K) {
	if *keys == nil {
		*keys = map[K]bool{}
	}
	(*keys)[key] = true
}
