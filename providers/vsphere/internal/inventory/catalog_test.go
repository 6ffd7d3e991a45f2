package inventory

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// withCategories is a vCenter with a zone and as many other categories.
func withCategories(t *testing.T, others int) *cloudsim.VCenter {
	t.Helper()
	spec := zoned(map[string]cloudsim.Tags{"cluster": zone("a")})
	spec.Tags = cloudsim.Tags{}
	for n := range others {
		spec.Tags[fmt.Sprintf("other-%d", n)] = nil
	}

	return simulate(t, spec)
}

// A vCenter with more categories than can be read in the time of one attempt: each
// goes on where the one before it ended, and reads again only what was cut short.
func TestLargeTagCatalogIsReadInParts(t *testing.T) {
	t.Parallel()
	const others = 300
	v := withCategories(t, others)
	i := watch(t, v, Config{
		ZoneCategory: "k8s-zone", RegionCategory: "missing", // so that all are read
		CallTimeout: time.Second, TagErrorTTL: time.Nanosecond,
	})
	vm := one(t, i, byName("web"))
	v.SetLatency(20 * time.Millisecond)
	eventually(t, func() string {
		if _, _, err := i.Zones(t.Context(), vm); !errors.Is(err, ErrNoTag) {
			return fmt.Sprintf("Zones() = %v, want no tag of the missing category", err)
		}

		return ""
	})
	attempts := v.Count("ListCategories")
	if attempts == 1 {
		t.Fatal("one attempt was enough, so this test shows nothing")
	}
	if got, most := v.Count("GetCategory"), others+1+attempts*categoriesAtOnce; got > most {
		t.Errorf("GetCategory was called %d times in %d attempts, want at most %d", got, attempts, most)
	}
}

// An attempt that made progress is followed by the next one at once, one that made
// none is not.
func TestProgressIsNoReasonToWait(t *testing.T) {
	t.Parallel()
	keep := keepError(time.Minute)
	late := errors.New("late")
	if got := keep(fmt.Errorf("REST: %w", &unfinishedError{error: late})); got != 0 {
		t.Errorf("progress: kept for %s, want not at all", got)
	}
	if got := keep(late); got != time.Minute {
		t.Errorf("no progress: kept for %s, want a minute", got)
	}
}

// What was read of the categories is good for later catalogs.
func TestNewTagCostsNoReadingOfAllCategories(t *testing.T) {
	t.Parallel()
	v := withCategories(t, 50)
	i := watch(t, v, Config{ZoneCategory: "k8s-zone", RegionCategory: "late", TagTTL: time.Millisecond})
	vm := one(t, i, byName("web"))
	if _, _, err := i.Zones(t.Context(), vm); !errors.Is(err, ErrNoTag) {
		t.Fatalf("Zones() = %v, want no tag", err)
	}
	v.Reset()
	ok(t, v.AttachTag("/emea/dc", "late", "r"))
	eventually(t, func() string {
		if _, region, err := i.Zones(t.Context(), vm); region != "r" || err != nil {
			return fmt.Sprintf("region %q, %v, want r", region, err)
		}

		return ""
	})
	if got := v.Count("GetCategory"); got != 1 {
		t.Errorf("GetCategory was called %d times, want once for the new category", got)
	}
}

// One rejection because of too many calls is no failure.
func TestRefusedTagCallIsRepeated(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		for _, op := range []string{"ListCategories", "GetCategory", "ListTagsForCategory", "ListAttachedObjectsOnTags", "GetTag"} {
			t.Run(fmt.Sprint(op, status), func(t *testing.T) {
				t.Parallel()
				v := simulate(t, zoned(map[string]cloudsim.Tags{"cluster": zone("a")}))
				i := watch(t, v, Config{ZoneCategory: "k8s-zone", TagRetryDelay: time.Millisecond})
				v.Inject(op, simserver.Nth(1), simserver.Status(status))
				if zone, _, err := i.Zones(t.Context(), one(t, i, byName("web"))); zone != "a" || err != nil {
					t.Errorf("Zones() = %q, %v, want a", zone, err)
				}
				if got := v.Count(op); got != 2 {
					t.Errorf("%s was called %d times, want 2", op, got)
				}
			})
		}
	}
}
