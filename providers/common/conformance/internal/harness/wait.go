package harness

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
)

const (
	// Interval is how long a case waits between two checks.
	Interval = 20 * time.Millisecond
	// Rounds is how often a case checks that something does not happen.
	Rounds = 5
	// Workers is how many objects are served at a time, as the binary does.
	Workers = 20
)

// ErrNoResult is the error of a call that did not return in time. It may still
// use what it was called with.
var ErrNoResult = errors.New("no result in time")

// CallLimit is when a call that must return has not returned, even on a busy
// machine.
func (f *Fixture[C]) CallLimit() time.Duration { return 2*f.Timeout + 10*time.Second }

// CancelLimit is how long a call may go on after it was canceled: less than it may
// take by itself, so that the two can be distinguished.
func (f *Fixture[C]) CancelLimit() time.Duration { return f.Timeout / 2 }

// Call makes a call. It must return, whatever happens in the cloud.
func Call[T any, C conformance.Cloud](f *Fixture[C], what string, call func(context.Context) (T, error)) (T, error) {
	f.T.Helper()
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call(f.T.Context())
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-time.After(f.CallLimit()):
		f.T.Errorf("%s did not return, though one call may take %s", what, f.Timeout)
		var none T

		return none, ErrNoResult
	}
}

// Do is [Call] of a function that returns only an error.
func Do[C conformance.Cloud](f *Fixture[C], what string, call func(context.Context) error) error {
	f.T.Helper()
	_, err := Call(f, what, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })

	return err
}

// Eventually waits until a check no longer returns an error.
func (f *Fixture[C]) Eventually(what string, check func() error) {
	f.T.Helper()
	deadline := time.Now().Add(f.NoticeTime)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			f.T.Fatalf("%s: not within %s: %v", what, f.NoticeTime, err)
		}
		time.Sleep(Interval)
	}
}

// Always looks several times that something stays true; check fails the case
// itself.
func (f *Fixture[C]) Always(check func()) {
	f.T.Helper()
	for range Rounds {
		check()
		time.Sleep(Interval)
	}
}

// CheckCancels cancels a call and returns its error. It fails the case if the call
// goes on.
func (f *Fixture[C]) CheckCancels(what string, call func(context.Context) error) error {
	f.T.Helper()
	ctx, cancel := context.WithCancel(f.T.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	time.Sleep(Interval) // let it get to the cloud
	cancel()
	select {
	case err := <-done:
		return err
	case <-time.After(f.CancelLimit()):
		f.T.Errorf("%s goes on after it was canceled", what)

		return ErrNoResult
	}
}

// CheckFails fails the case if any of the calls returns no error during the failure,
// or one of another meaning, twice in a row.
func (f *Fixture[C]) CheckFails(failure conformance.Failure, calls map[string]func() error) {
	f.T.Helper()
	for range 2 {
		var wg sync.WaitGroup
		for what, call := range calls {
			wg.Go(func() {
				err := call()
				if err == nil {
					f.T.Errorf("%s is no error during a failure", what)
				}
				f.CheckMeaning(what, failure, err)
			})
		}
		wg.Wait()
	}
}

// Parallel runs a function for every number below n, several at a time.
func Parallel(n int, run func(i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(Workers, n) {
		wg.Go(func() {
			for i := range next {
				run(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
