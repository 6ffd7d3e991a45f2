package snapshot

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// TestPassCost counts the calls of passes over many objects (FW-NODE-13).
func TestPassCost(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason           string
		objects, workers int
		// calls are what a pass costs at most. One that follows another goes
		// straight to the list.
		calls int
	}{
		"one object":              {"it is read by key", 1, 1, 1},
		"few objects":             {"one call by key for all", 5, 5, 1},
		"many objects":            {"at most two calls by key, then the list", 35, 10, 3},
		"as many as workers":      {"all wait in one batch", 20, 20, 2},
		"a full page":             {"the list is one page", 40, 20, 3},
		"more than a page":        {"the list is two pages", 50, 20, 4},
		"one after the other":     {"after the fifth the list", 20, 1, 6},
		"fewer than the list has": {"no list for a small batch", 3, 3, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const page = 40
				c := newCloud(page)
				s, keys := c.open(), c.add(tc.objects)
				run := func() { pass(t, s, tc.workers, keys) }
				if got := c.calls(run); got > tc.calls {
					t.Errorf("%s: the first pass cost %d calls, want at most %d", tc.reason, got, tc.calls)
				}
				if got := c.calls(run); got != 0 {
					t.Errorf("%s: a pass soon after cost %d calls", tc.reason, got)
				}
				time.Sleep(maxAge)
				if got := c.calls(run); got > tc.calls || tc.objects > 20 && got != (tc.objects+page-1)/page {
					t.Errorf("%s: the next pass cost %d calls", tc.reason, got)
				}
				time.Sleep(5 * time.Minute)
				if got := c.calls(run); got > tc.calls {
					t.Errorf("%s: a pass much later cost %d calls, want at most %d", tc.reason, got, tc.calls)
				}
			})
		})
	}
}

// TestOneKeyACall: where a call reads one object, several that are queried at the
// same time are listed.
func TestOneKeyACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(1000)
		s := c.open(func(o *Options) { o.MaxKeys, o.MaxAliases = 0, 0 })
		keys := c.add(20)
		pass(t, s, 20, keys)
		missing := []string{"o-missing", "o-gone"}
		get(t, s, missing, 0)
		if lists, gets := c.count(listPage), c.count(getKeys); lists != 1 || gets != len(missing) {
			t.Errorf("%d lists and %d calls by key", lists, gets)
		}
	})
}

// TestGetMissing: objects that are missing are not read at each query, and come when
// they exist.
func TestGetMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const missing = "o-missing"
		c := newCloud(1000)
		s, keys := c.open(), append(c.add(maxKeys+1), missing)
		query := func() { get(t, s, keys, maxKeys+1) }
		if got := c.calls(query); got != 2 {
			t.Errorf("want the list and one call by key, got %d calls", got)
		}
		for range 5 {
			if got := c.calls(query); got != 0 {
				t.Errorf("a query soon after cost %d calls", got)
			}
		}
		time.Sleep(maxAge)
		if got := c.calls(query); got != 2 {
			t.Errorf("want the list and one call by key once both are out of date, got %d calls", got)
		}
		c.put(object{id: missing})
		time.Sleep(maxAge)
		get(t, s, keys, maxKeys+2)
	})
}

// TestMetrics counts how queries were served.
func TestMetrics(t *testing.T) {
	t.Parallel()
	registry := kmetrics.NewKubeRegistry()
	set := metrics.NewSet(registry, clock.RealClock{})
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(1000)
		s := c.open(func(o *Options) { o.Metrics = set.Recorder("test").Snapshot("objects") })
		keys := c.add(maxKeys + 1)
		for range 2 {
			get(t, s, keys, len(keys))
		}
		pass(t, s, 1, c.addUnlisted(1))
		get(t, s, []string{"o-missing", "o-gone", "o-never"}, 0)
	})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "multicloud_ccm_snapshot_requests_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "outcome" {
					got[label.GetValue()] = metric.GetCounter().GetValue()
				}
			}
		}
	}
	if diff := cmp.Diff(map[string]float64{"shared": 203, "hit": 201, "miss": 2}, got); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}
