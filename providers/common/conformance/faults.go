package conformance

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stage is a test cloud, prepared for one piece of work.
type stage struct {
	cloud MutableCloud
	// act is the work, which is disturbed.
	act func() error
	// repair does what must put things right afterwards, with a provider that
	// knows nothing of what happened.
	repair func()
	// state describes what there is.
	state func() []string
}

// disturbances are the ways in which work is disturbed; First is filled in.
func disturbances() []Disturbance {
	return []Disturbance{
		{Fault: Throttled},
		{Fault: Failed},
		{Fault: Dropped},
		{Fault: Lost},
		{Fault: Failed, Only: true},
		{Fault: Lost, Only: true},
	}
}

// describe is a disturbance as part of a case's name.
func describe(d Disturbance) string {
	if d.Only {
		return "any one call is " + d.Fault.String()
	}

	return "all calls from any on are " + d.Fault.String()
}

// rehearsal is a piece of work done in peace, once for all ways of disturbing it.
type rehearsal struct {
	once sync.Once
	// calls is what the work costs, 0 if it failed.
	calls int
	// acted and repaired are the states after the work, and after repairing what
	// needs no repair.
	acted, repaired []string
}

// play does the work in peace, unless that was done.
func (r *rehearsal) play(t testing.TB, prepare func(t testing.TB) stage) {
	t.Helper()
	r.once.Do(func() {
		inScope(t, "without faults", func(t testing.TB) {
			s := prepare(t)
			before := s.cloud.Calls()
			if err := s.act(); err != nil {
				t.Fatalf("it fails: %v", err)
			}
			calls := s.cloud.Calls() - before
			r.acted = s.state()
			s.repair()
			r.repaired, r.calls = s.state(), calls
		})
	})
	if r.calls == 0 {
		t.Fatal("the work fails in peace or costs no calls, so there is nothing to disturb")
	}
}

// rehearsals are those of a suite, by the name of the work.
type rehearsals struct {
	mu     sync.Mutex
	byName map[string]*rehearsal
}

// of is that of a piece of work.
func (r *rehearsals) of(name string) *rehearsal {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byName == nil {
		r.byName = map[string]*rehearsal{}
	}
	if r.byName[name] == nil {
		r.byName[name] = &rehearsal{}
	}

	return r.byName[name]
}

// series is a way to disturb a piece of work at some of its calls.
type series struct {
	how Disturbance
	// points is how many calls are disturbed, all if it is 0.
	points int
	// turn is the number of the way. Each way has other calls, as far as there
	// are enough, so that together they come to most.
	turn int
}

// picks are some of the numbers from 1 to n, spread over all of them.
func (s series) picks(n int) []int {
	points, turns := s.points, len(disturbances())
	if points <= 0 || points > n {
		points = n
	}
	picked := make([]int, points)
	for i := range picked {
		picked[i] = 1 + (i*turns+s.turn)*n/(points*turns)
	}

	return picked
}

// disturbEach does the work once for each of its calls that is picked with that
// call disturbed, always on a stage of its own. Work that says it is done must be,
// and repairing must end in the same state as if nothing had happened.
func disturbEach(t testing.TB, s series, peace *rehearsal, prepare func(t testing.TB) stage) {
	t.Helper()
	peace.play(t, prepare)
	picked := s.picks(peace.calls)
	for _, first := range picked {
		d := s.how
		d.First = first
		inScope(t, d.String(), func(t testing.TB) { disturbOne(t, d, prepare(t), peace) })
	}
	t.Logf("%d calls, of which %d are disturbed, each in its turn", peace.calls, len(picked))
}

// disturbOne does the work once with the disturbance.
func disturbOne(t testing.TB, d Disturbance, s stage, peace *rehearsal) {
	t.Helper()
	s.cloud.Disturb(t, d)
	err := s.act()
	s.cloud.Heal(t)
	if state := s.state(); err == nil && !slices.Equal(peace.acted, state) {
		t.Errorf("it says it is done and is not (-without faults +with faults):\n%s", cmp.Diff(peace.acted, state))
	}
	s.repair()
	if diff := cmp.Diff(peace.repaired, s.state()); diff != "" {
		t.Errorf("it is not put right, after %v (-without faults +with faults):\n%s", err, diff)
	}
}
