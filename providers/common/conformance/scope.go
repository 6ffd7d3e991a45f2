package conformance

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// scope is a part of a test that cleans up at its own end, and says what it is
// about in every message.
type scope struct {
	testing.TB
	about string

	mu       sync.Mutex
	cleanups []func()
}

// inScope runs the work in a scope.
func inScope(t testing.TB, about string, work func(t testing.TB)) {
	t.Helper()
	s := &scope{TB: t, about: about}
	defer s.end()
	work(s)
}

// end runs what was left to clean up, last first.
func (s *scope) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cleanup := range slices.Backward(s.cleanups) {
		cleanup()
	}
}

// Cleanup leaves work to the end of the scope.
func (s *scope) Cleanup(work func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, work)
}

// Error reports a failure.
func (s *scope) Error(args ...any) {
	s.Helper()
	s.TB.Error(s.about + ": " + fmt.Sprint(args...))
}

// Errorf reports a failure.
func (s *scope) Errorf(format string, args ...any) {
	s.Helper()
	s.TB.Error(s.about + ": " + fmt.Sprintf(format, args...))
}

// Fatal reports a failure and ends the test.
func (s *scope) Fatal(args ...any) {
	s.Helper()
	s.TB.Fatal(s.about + ": " + fmt.Sprint(args...))
}

// Fatalf reports a failure and ends the test.
func (s *scope) Fatalf(format string, args ...any) {
	s.Helper()
	s.TB.Fatal(s.about + ": " + fmt.Sprintf(format, args...))
}
