package inventory

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// ofLists applies a fault to the pages of lists of the cluster, beginning with
// the one that is given, and the latency to all other calls.
func ofLists(from int, latency time.Duration, fault simserver.Fault) simserver.Fault {
	var mu sync.Mutex
	pages := 0

	return func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		mu.Lock()
		list := r.Form.Get("Filter.1.Name") == "tag-key"
		if list {
			pages++
		}
		hit := list && pages >= from
		mu.Unlock()
		if hit {
			fault(w, r, apply)

			return
		}
		simserver.Slow(latency)(w, r, apply)
	}
}

// hang sends no response until the client gives up.
func hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// TestListMayTakeLongerThanAPage: a list has as much time as its pages take.
// Those who waited for it and those who come next use it, and it is as old as
// its end.
func TestListMayTakeLongerThanAPage(t *testing.T) {
	t.Parallel()
	b := newFixture(t, aws.Options{PageSize: 10}, realTime)
	ids := b.seed.AddNodes(400)
	synctest.Test(t, func(t *testing.T) {
		inventory := New(newClient(t, b.cloud), b.config)
		b.cloud.Interceptor().Inject(describe, simserver.Always(), simserver.Slow(time.Second))
		begun := time.Now()
		found, err := inventory.Get(t.Context(), ids)
		if took := time.Since(begun); err != nil || len(found) != len(ids) || took != 40*time.Second {
			t.Fatalf("%d of %d instances after %s: %v", len(found), len(ids), took, err)
		}
		time.Sleep(DefaultMaxAge - time.Second)
		if found, err := inventory.Get(t.Context(), ids); err != nil || len(found) != len(ids) {
			t.Errorf("soon after: %d instances, %v", len(found), err)
		}
	})
	if got := len(b.forms()); got != 40 {
		t.Errorf("%d calls for a list of 40 pages", got)
	}
}

// TestFailedListLeavesIDs: where the list of the cluster fails because EC2 does
// not respond, the instances are described by ID, without those whose page had
// come. The list is not repeated before its age. Other failures are those of any
// call.
func TestFailedListLeavesIDs(t *testing.T) {
	t.Parallel()
	const nodes, page = 450, 150
	for name, tc := range map[string]struct {
		reason string
		from   int
		fault  simserver.Fault
		works  bool
		// lists and byID are the calls.
		lists, byID int
	}{
		"no page":          {"a filter of tags takes EC2 too long", 1, hang, true, 1, 3},
		"the third page":   {"two pages had been read", 3, hang, true, 3, 1},
		"denied":           {"other filters are denied, too", 1, aws.Denied(), false, 1, 0},
		"throttled":        {"more calls are throttled, too", 1, aws.Throttled(), false, 1, 0},
		"throttled page 3": {"more calls are throttled, too", 3, aws.Throttled(), false, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, aws.Options{PageSize: page}, realTime)
			ids := b.seed.AddNodes(nodes)
			synctest.Test(t, func(t *testing.T) {
				inventory := New(newClient(t, b.cloud), b.config)
				b.cloud.Interceptor().Inject(describe, simserver.Always(), ofLists(tc.from, 0, tc.fault))
				found, err := inventory.Get(t.Context(), ids)
				if works := err == nil && len(found) == nodes; works != tc.works {
					t.Errorf("%s: %d instances, %v", tc.reason, len(found), err)
				}
				if tc.works {
					time.Sleep(DefaultMaxAge / 3)
					if found, err := inventory.Get(t.Context(), ids); err != nil || len(found) != nodes {
						t.Errorf("%s: soon after: %d instances, %v", tc.reason, len(found), err)
					}
				}
			})
			lists, byID := 0, 0
			for _, request := range b.forms() {
				if request.Form.Has("InstanceId.1") {
					byID++
				} else {
					lists++
				}
			}
			if lists != tc.lists || byID != tc.byID {
				t.Errorf("%s: %d pages of lists and %d calls by ID, want %d and %d", tc.reason, lists, byID, tc.lists, tc.byID)
			}
		})
	}
}
