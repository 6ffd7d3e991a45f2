package harness

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder records the log of a case in place of the test that runs it.
type recorder struct {
	testing.TB

	mu       sync.Mutex
	failed   bool
	log      []string
	cleanups []func()
}

// Record runs part of a test to its end and returns its log and whether it failed.
// The test itself does not fail.
func Record(t *testing.T, run func(t testing.TB)) (log string, failed bool) {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.cleanUp()
		run(r)
	}()
	<-done
	r.mu.Lock()
	defer r.mu.Unlock()

	return strings.Join(r.log, "\n"), r.failed
}

// cleanUp runs the cleanups, last first.
func (r *recorder) cleanUp() {
	for _, cleanup := range slices.Backward(r.cleanups) {
		cleanup()
	}
}

func (r *recorder) Helper()           {}
func (r *recorder) Cleanup(f func())  { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Log(args ...any)   { r.write(false, fmt.Sprint(args...)) }
func (r *recorder) Error(args ...any) { r.write(true, fmt.Sprint(args...)) }

func (r *recorder) Logf(format string, args ...any) { r.write(false, fmt.Sprintf(format, args...)) }

func (r *recorder) Errorf(format string, args ...any) { r.write(true, fmt.Sprintf(format, args...)) }

func (r *recorder) Fatal(args ...any) {
	r.write(true, fmt.Sprint(args...))
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.write(true, fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// Failed reports whether the recorded part has failed.
func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.failed
}

func (r *recorder) write(failure bool, line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || failure
	r.log = append(r.log, line)
}
