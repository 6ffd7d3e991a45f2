package snapshot

import (
	"slices"
	"time"
)

// few is how many objects can be read in several calls before all are listed
// instead.
const few = 5

// burst counts the calls for single objects, so that a pass over many of them is
// noticed.
type burst struct {
	// span is how long a call counts, largest is how many keys one takes.
	span    time.Duration
	largest int
	calls   []call
}

type call struct {
	at   time.Time
	size int
}

// exceeds reports whether a call for one more set of objects is not to be made,
// because the list of all is cheaper: it comes after others, as those of a loop
// with a few workers do, or it would be several calls.
func (b *burst) exceeds(size int, now time.Time) bool {
	b.calls = slices.DeleteFunc(b.calls, func(before call) bool { return !fresh(before.at, now, b.span) })
	sum := size
	for _, before := range b.calls {
		sum += before.size
	}
	if size > b.largest || len(b.calls) > 0 && sum > few {
		b.calls = nil

		return true
	}
	b.calls = append(b.calls, call{now, size})

	return false
}
