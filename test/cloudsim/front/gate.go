package front

import (
	"context"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Any is the name that matches every operation.
const Any = "*"

// When picks calls by their number; the first call after Break has number 1.
type When struct{ from, to int }

// Always picks every call.
func Always() When { return When{1, math.MaxInt} }

// Nth picks the nth call alone.
func Nth(n int) When { return When{n, n} }

// First picks the first n calls.
func First(n int) When { return When{1, n} }

// From picks the nth call and all that follow.
func From(n int) When { return When{n, math.MaxInt} }

// Gate counts, delays and breaks the calls on their way to a simulated cloud.
// The zero value lets everything pass.
type Gate struct {
	Log

	mu      sync.Mutex
	latency time.Duration
	rules   []*Rule
}

// Rule breaks the calls that it picks until it is removed.
type Rule struct {
	gate   *Gate
	op     string
	when   When
	effect Effect

	// Guarded by gate.mu.
	seen, hits int
}

// SetLatency makes every call wait for d before anything else happens to it.
func (g *Gate) SetLatency(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.latency = d
}

// Break adds a rule for the calls whose operation or group is op, or for all of
// them when op is [Any]. Of several rules that pick a call the oldest has it.
func (g *Gate) Break(op string, when When, effect Effect) *Rule {
	rule := &Rule{gate: g, op: op, when: when, effect: effect}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rules = append(g.rules, rule)
	return rule
}

// Mend removes all rules. Calls that are held stay held.
func (g *Gate) Mend() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rules = nil
}

// Remove ends the rule. It does nothing the second time.
func (r *Rule) Remove() {
	r.gate.mu.Lock()
	defer r.gate.mu.Unlock()
	r.gate.rules = slices.DeleteFunc(r.gate.rules, func(other *Rule) bool { return other == r })
}

// Hits returns how many calls the rule has broken.
func (r *Rule) Hits() int {
	r.gate.mu.Lock()
	defer r.gate.mu.Unlock()
	return r.hits
}

// Serve passes one call on to apply, which answers it, unless a rule breaks it.
func (g *Gate) Serve(w http.ResponseWriter, r *http.Request, call Call, apply http.Handler) {
	effect, latency := g.admit(call)
	if !sleep(r.Context(), latency) {
		panic(http.ErrAbortHandler) // the client is gone
	}
	if effect == nil {
		apply.ServeHTTP(w, r)
		return
	}
	effect(w, r, apply)
}

// admit counts the call and returns what shall happen to it.
func (g *Gate) admit(call Call) (Effect, time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var effect Effect
	for _, rule := range g.rules {
		if rule.op != Any && rule.op != call.Op && rule.op != call.Group {
			continue
		}
		rule.seen++
		if effect == nil && rule.seen >= rule.when.from && rule.seen <= rule.when.to {
			rule.hits++
			effect = rule.effect
		}
	}
	g.add(call)
	return effect, g.latency
}

// sleep waits for d and reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
