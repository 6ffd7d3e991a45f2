package conformance

import (
	"slices"
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

// disturbEach does the work once in peace, and then once for each of its calls
// that is picked with that call disturbed, always on a stage of its own. Work that
// says it is done must be, and repairing must end in the same state as if nothing
// had happened.
func disturbEach(t testing.TB, how Disturbance, pick picks, prepare func(t testing.TB) stage) {
	t.Helper()
	var acted, repaired []string
	calls := 0
	inScope(t, "undisturbed", func(t testing.TB) {
		s := prepare(t)
		before := s.cloud.Calls()
		if err := s.act(); err != nil {
			t.Fatalf("it fails: %v", err)
		}
		calls = s.cloud.Calls() - before
		acted = s.state()
		s.repair()
		repaired = s.state()
	})
	if calls == 0 {
		t.Fatal("the work costs no calls, so there is nothing to disturb")
	}
	picked := pick.of(calls)
	for _, first := range picked {
		d := how
		d.First = first
		inScope(t, d.String(), func(t testing.TB) { disturbOne(t, d, prepare(t), acted, repaired) })
	}
	t.Logf("%d calls, of which %d are disturbed, each in its turn", calls, len(picked))
}

// picks says which calls of a piece of work are disturbed.
type picks struct {
	// points is how many are, all if it is 0.
	points int
	// turn is the number of the way in which they are disturbed. Each way has
	// other calls, as far as there are enough, so that together they come to most.
	turn int
}

// of picks some of the numbers from 1 to n, spread over all of them.
func (p picks) of(n int) []int {
	points, turns := p.points, len(disturbances())
	if points <= 0 || points > n {
		points = n
	}
	picked := make([]int, points)
	for i := range picked {
		picked[i] = 1 + (i*turns+p.turn)*n/(points*turns)
	}

	return picked
}

// disturbOne does the work once with the disturbance.
func disturbOne(t testing.TB, d Disturbance, s stage, acted, repaired []string) {
	t.Helper()
	s.cloud.Disturb(t, d)
	err := s.act()
	s.cloud.Heal(t)
	if state := s.state(); err == nil && !slices.Equal(acted, state) {
		t.Errorf("it says it is done and is not (-undisturbed +disturbed):\n%s", cmp.Diff(acted, state))
	}
	s.repair()
	if diff := cmp.Diff(repaired, s.state()); diff != "" {
		t.Errorf("it is not put right, after %v (-undisturbed +disturbed):\n%s", err, diff)
	}
}
