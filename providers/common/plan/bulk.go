package plan

import (
	"cmp"
	"context"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// Bulk is a call about several items that a cloud makes for all of them or for none. It finds
// those that the cloud refuses, whether they are named or not.
type Bulk[T any] struct {
	// Send makes the call for some of the items.
	Send func(ctx context.Context, items []T) error
	// IsRefusal reports whether an error may be about single items, and IsQuota whether it is about
	// their number. Any other error ends the run.
	IsRefusal, IsQuota func(err error) bool
	// Names reports whether an error names an item. Nil names none.
	Names func(err error, item T) bool
	// Page is how many items a call may have, and Most how many calls may be refused; 0 for no
	// limit.
	Page, Most int
	// Full means that a quota was reached before: one item is tried before all others.
	Full bool
}

// Outcome is what became of the items of a [Bulk].
type Outcome[T any] struct {
	// Accepted is the number of items that the cloud accepted.
	Accepted int
	// Refused are the items that the cloud refuses.
	Refused []Refused[T]
	// Excess are the items over a quota, and Quota is its error.
	Excess []T
	Quota  error
	// Untried are the items that no call was left for.
	Untried []T
}

// Refused is an item that a cloud refuses, with its error.
type Refused[T any] struct {
	Item  T
	Cause error
}

// Do makes the call for all items that the cloud accepts.
//
//	the cloud refuses  then
//	items that it names  the others are sent
//	one item             it is refused, or it and all others that follow exceed a quota
//	several              the first half is sent, and the others; if the first half is accepted, it is
//	                     known that the others are not, and half of them is sent
//
// One refused item of n costs about log2(n) refused calls. An error is not about items.
func (b Bulk[T]) Do(ctx context.Context, items []T) (Outcome[T], error) {
	r := &bulkRun[T]{Bulk: b}
	if b.Full && len(items) > 1 {
		if err := r.send(ctx, items[:1]); err != nil {
			return r.out, err
		}
		items = items[1:]
	}
	for page := range slices.Chunk(items, cmp.Or(b.Page, max(len(items), 1))) {
		if err := r.send(ctx, page); err != nil {
			return r.out, err
		}
	}

	return r.out, nil
}

type bulkRun[T any] struct {
	Bulk[T]

	out     Outcome[T]
	refused int // calls
}

func (r *bulkRun[T]) send(ctx context.Context, items []T) error {
	switch {
	case len(items) == 0:
		return nil
	case len(r.out.Excess) > 0:
		r.out.Excess = append(r.out.Excess, items...)

		return nil
	case r.Most > 0 && r.refused >= r.Most:
		r.out.Untried = append(r.out.Untried, items...)

		return nil
	}
	err := r.Send(ctx, items)
	switch {
	case err == nil:
		r.out.Accepted += len(items)

		return nil
	case !r.IsRefusal(err) && !r.IsQuota(err):
		return err
	}
	r.refused++

	return r.split(ctx, items, err)
}

// split sends those of several items that are not the reason for a refusal of all of them.
func (r *bulkRun[T]) split(ctx context.Context, items []T, refusal error) error {
	named, rest := lists.Split(items, func(item T) bool { return r.Names != nil && r.Names(refusal, item) })
	switch {
	case len(named) > 0:
		r.refuse(named, refusal)

		return r.send(ctx, rest)
	case len(items) > 1:
	case r.IsQuota(refusal):
		r.out.Excess, r.out.Quota = append(r.out.Excess, items...), refusal

		return nil
	default:
		r.refuse(items, refusal)

		return nil
	}
	half, before := len(items)/2, r.refused
	if err := r.send(ctx, items[:half]); err != nil {
		return err
	}
	rest = items[half:]
	if r.refused == before && len(rest) > 1 && (r.Most == 0 || r.refused < r.Most) {
		return r.split(ctx, rest, refusal)
	}

	return r.send(ctx, rest)
}

func (r *bulkRun[T]) refuse(items []T, cause error) {
	for _, item := range items {
		r.out.Refused = append(r.out.Refused, Refused[T]{item, cause})
	}
}
