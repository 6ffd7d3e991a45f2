package inventory

import (
	"errors"
	"fmt"
	"testing"
	"time"

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
