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

// TestLateList: no caller waits longer than 5 seconds for the list of the cluster, then
// instances are described by ID. The list has as much time as its pages take, and is
// as old as its end.
func TestLateList(t *testing.T) {
	t.Parallel()
	b := newFixture(t, aws.Options{PageSize: 10}, realTime)
	ids := b.seed.AddNodes(400)
	synctest.Test(t, func(t *testing.T) {
		inventory := New(newClient(t, b.cloud), b.config)
		b.cloud.Interceptor().Inject(describe, simserver.Always(), simserver.Slow(time.Second))
		begun := time.Now()
		for _, reason := range []string{"by ID", "known"} {
			if found, err := inventory.Get(t.Context(), ids[:300]); err != nil || len(found) != 300 || time.Since(begun) != 7*time.Second {
				t.Fatalf("%s: %d of %d instances after %s: %v", reason, len(found), 300, time.Since(begun), err)
			}
		}
		time.Sleep(40*time.Second + DefaultMaxAge - time.Second - time.Since(begun))
		if found, err := inventory.Get(t.Context(), ids[300:]); err != nil || len(found) != 100 {
			t.Errorf("from the list: %d instances, %v", len(found), err)
		}
	})
	if got := len(b.forms()); got != 40+2 {
		t.Errorf("%d calls for a list of 40 pages and 300 IDs", got)
	}
}

// TestFailedListLeavesIDs: where the list of the cluster fails, the instances are
// described by ID, without those whose page had come. The list is not repeated before
// its age.
func TestFailedListLeavesIDs(t *testing.T) {
	t.Parallel()
	const nodes, page = 450, 150
	for name, tc := range map[string]struct {
		reason string
		from   int
		fault  simserver.Fault
		// lists and byID are the calls.
		lists, byID int
	}{
		"no page":          {"a filter of tags takes EC2 too long", 1, hang, 1, 3},
		"the third page":   {"two pages had been read, which count when the list ends", 3, hang, 3, 3},
		"denied":           {"IDs may be allowed", 1, aws.Denied(), 1, 3},
		"throttled":        {"IDs cost EC2 less", 1, aws.Throttled(), 1, 3},
		"throttled page 3": {"two pages had been read", 3, aws.Throttled(), 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, aws.Options{PageSize: page}, realTime)
			ids := b.seed.AddNodes(nodes)
			synctest.Test(t, func(t *testing.T) {
				inventory := New(newClient(t, b.cloud), b.config)
				b.cloud.Interceptor().Inject(describe, simserver.Always(), ofLists(tc.from, 0, tc.fault))
				begun := time.Now()
				for range 2 {
					if found, err := inventory.Get(t.Context(), ids); err != nil || len(found) != nodes || time.Since(begun) > 6*time.Second {
						t.Errorf("%s: %d instances after %s, %v", tc.reason, len(found), time.Since(begun), err)
					}
				}
				time.Sleep(DefaultMaxAge / 3)
				if found, err := inventory.Get(t.Context(), ids); err != nil || len(found) != nodes {
					t.Errorf("%s: soon after: %d instances, %v", tc.reason, len(found), err)
				}
				time.Sleep(DefaultTimeout) // the list ends
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
