package explore

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// scope is a part of a test that cleans up at its own end and begins each message
// with its subject.
type scope struct {
	testing.TB
	subject string

	mu       sync.Mutex
	cleanups []func()
}

// inScope runs a part of a test in a scope.
func inScope(t testing.TB, subject string, run func(t testing.TB)) {
	t.Helper()
	s := &scope{TB: t, subject: subject}
	defer s.end()
	run(s)
}

// end runs the cleanups, last first.
func (s *scope) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cleanup := range slices.Backward(s.cleanups) {
		cleanup()
	}
}

// Cleanup registers a function to be called at the end of the scope.
func (s *scope) Cleanup(cleanup func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, cleanup)
}

// Error reports a failure.
func (s *scope) Error(args ...any) {
	s.Helper()
	s.TB.Error(s.subject + ": " + fmt.Sprint(args...))
}

// Errorf reports a failure.
func (s *scope) Errorf(format string, args ...any) {
	s.Helper()
	s.TB.Error(s.subject + ": " + fmt.Sprintf(format, args...))
}

// Fatal reports a failure and ends the test.
func (s *scope) Fatal(args ...any) {
	s.Helper()
	s.TB.Fatal(s.subject + ": " + fmt.Sprint(args...))
}

// Fatalf reports a failure and ends the test.
func (s *scope) Fatalf(format string, args ...any) {
	s.Helper()
	s.TB.Fatal(s.subject + ": " + fmt.Sprintf(format, args...))
}
