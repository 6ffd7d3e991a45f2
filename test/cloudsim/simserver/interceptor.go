package simserver

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

// When picks calls by their number; the first call after Inject has number 1.
type When struct{ from, to int }

// Always picks every call.
func Always() When { return When{1, math.MaxInt} }

// Nth picks the nth call alone.
func Nth(n int) When { return When{n, n} }

// First picks the first n calls.
func First(n int) When { return When{1, n} }

// From picks the nth call and all that follow.
func From(n int) When { return When{n, math.MaxInt} }

// Interceptor counts and delays the calls to a simulated cloud, and injects
// faults into them. The zero value passes everything on.
type Interceptor struct {
	Log

	mu      sync.Mutex
	latency time.Duration
	rules   []*Rule
}

// Rule injects a fault into the calls that it picks until it is removed.
type Rule struct {
	interceptor *Interceptor
	op          string
	when        When
	fault       Fault

	// Guarded by interceptor.mu.
	seen, hits int
}

// SetLatency makes every call wait for d before anything else happens to it.
func (g *Interceptor) SetLatency(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.latency = d
}

// Inject adds a rule for the calls whose operation or group is op, or for all
// of them when op is [Any]. Of several rules that pick a call the oldest
// applies.
func (g *Interceptor) Inject(op string, when When, fault Fault) *Rule {
	rule := &Rule{interceptor: g, op: op, when: when, fault: fault}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rules = append(g.rules, rule)

	return rule
}

// Clear removes all rules. Calls that are held stay held.
func (g *Interceptor) Clear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rules = nil
}

// Remove ends the rule. It does nothing the second time.
func (r *Rule) Remove() {
	r.interceptor.mu.Lock()
	defer r.interceptor.mu.Unlock()
	r.interceptor.rules = slices.DeleteFunc(r.interceptor.rules, func(other *Rule) bool { return other == r })
}

// Hits returns how many calls had the fault.
func (r *Rule) Hits() int {
	r.interceptor.mu.Lock()
	defer r.interceptor.mu.Unlock()

	return r.hits
}

// Serve passes one call on to apply, which responds to it, unless a rule
// injects a fault.
func (g *Interceptor) Serve(w http.ResponseWriter, r *http.Request, call Call, apply http.Handler) {
	fault, latency := g.intercept(call)
	if !sleep(r.Context(), latency) {
		panic(http.ErrAbortHandler) // the client is gone
	}
	if fault == nil {
		apply.ServeHTTP(w, r)

		return
	}
	fault(w, r, apply)
}

// intercept counts the call and returns its fault, if any, and its latency.
func (g *Interceptor) intercept(call Call) (Fault, time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var fault Fault
	for _, rule := range g.rules {
		if rule.op != Any && rule.op != call.Op && rule.op != call.Group {
			continue
		}
		rule.seen++
		if fault == nil && rule.seen >= rule.when.from && rule.seen <= rule.when.to {
			rule.hits++
			fault = rule.fault
		}
	}
	g.add(call)

	return fault, g.latency
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
