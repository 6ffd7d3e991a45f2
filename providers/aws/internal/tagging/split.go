package tagging

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
)

// The error codes of EC2 for an ID of no instance, and for a missing
// permission, which may be missing for some instances only.
const (
	codeInvalid      = "InvalidID"
	codeUnauthorized = "UnauthorizedOperation"
)

// refusedError means that EC2 has no such instance. It is not an error of other
// instances of the same call.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }

// Unwrap returns the error with the code.
func (e *refusedError) Unwrap() error { return e.err }

// undecidedError means that a call failed because of one of its instances, and
// that it is not known which. It does not count as a failure of the instance.
type undecidedError struct{ err error }

func (e *undecidedError) Error() string {
	return fmt.Sprintf("another instance of the same call may be the cause: %v", e.err)
}

// Unwrap returns the error with the code.
func (e *undecidedError) Unwrap() error { return e.err }

// own returns the error of an instance that was the only one in its call, or
// was named.
func own(err error) error {
	switch client.Code(err) {
	case inventory.CodeNotFound, codeInvalid, inventory.CodeMalformed:
		return &refusedError{err}
	}

	return err
}

// perInstance reports whether an error can be due to a single instance of a call.
// Those of the transport, of the credentials and of the rate of calls are not.
func perInstance(err error) bool {
	switch {
	case client.Code(err) == "", errors.Is(err, apierr.ErrThrottled), errors.Is(err, apierr.ErrUnavailable):
		return false
	case errors.Is(err, apierr.ErrDenied):
		return client.Code(err) == codeUnauthorized
	}

	return true
}

// maxCalls is the maximum number of calls of a batch. It suffices to find one
// instance among all, with two calls each time the batch is halved.
func maxCalls(instances int) int { return 1 + 2*bits.Len(uint(max(instances, 1)-1)) }

// batchWrite is the processing of a batch. EC2 changes nothing in a call in
// which it refuses an instance:
//
//	the error names instances      they have failed, the others are sent without them
//	it names none                  the instances are halved
//	an instance is alone           it has failed
//	there are no calls left        it is not known which instances have failed
//	it refuses one after another   the same: the tags may be the cause
//	it is of no instance           all of the call have failed
type batchWrite struct {
	write writeFunc
	left  int // calls
	last  error
	// accepted reports whether a call has succeeded, alone counts the instances
	// that were refused in a call of their own without being named.
	accepted bool
	alone    int
	results  map[string]batch.Result[struct{}]
}

// writeAll writes the tags of a batch, and returns a result for each instance.
func writeAll(ctx context.Context, write writeFunc, instances []string) map[string]batch.Result[struct{}] {
	b := &batchWrite{write: write, left: maxCalls(len(instances)), results: make(map[string]batch.Result[struct{}], len(instances))}
	b.send(ctx, instances)

	return b.results
}

// send writes the tags of some instances, and reports whether all have them.
func (b *batchWrite) send(ctx context.Context, instances []string) bool {
	if b.left == 0 || !b.accepted && b.alone >= suspicious {
		b.settle(instances, b.undecided())

		return false
	}
	b.left--
	err := b.write(ctx, instances)
	if err == nil || !perInstance(err) {
		b.accepted = b.accepted || err == nil
		b.settle(instances, err)

		return err == nil
	}
	b.last = err
	if len(instances) == 1 {
		err = own(err)
		if isRefusal(instances[0], err) {
			b.alone++
		}
		b.settle(instances, err)

		return false
	}
	named := inventory.Named(err)
	rest := slices.DeleteFunc(slices.Clone(instances), named.Has)
	if len(rest) == len(instances) {
		b.halve(ctx, instances)

		return false
	}
	b.settle(slices.DeleteFunc(slices.Clone(instances), func(id string) bool { return !named.Has(id) }), own(err))
	if len(rest) > 0 {
		b.send(ctx, rest)
	}

	return false
}

// halve writes the tags of instances that were refused together. Where the first
// half is not the cause, the second is, and is halved at once.
func (b *batchWrite) halve(ctx context.Context, instances []string) {
	first, second := instances[:len(instances)/2], instances[len(instances)/2:]
	if b.send(ctx, first) && len(second) > 1 {
		b.halve(ctx, second)

		return
	}
	b.send(ctx, second)
}

func (b *batchWrite) settle(instances []string, err error) {
	for _, instance := range instances {
		b.results[instance] = batch.Result[struct{}]{Err: err}
	}
}

// undecided returns the error of instances for which no call was left. A
// missing permission is most likely missing for all.
func (b *batchWrite) undecided() error {
	if client.Code(b.last) == codeUnauthorized {
		return b.last
	}

	return &undecidedError{b.last}
}
