package inventory

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestMemoryIsTrue: whatever is asked, an answer is one that EC2 gave within the
// age that is allowed, and an instance is never missing because it was not asked
// for.
func TestMemoryIsTrue(t *testing.T) {
	t.Parallel()
	const maxAge, missingAge = 10 * time.Second, 30 * time.Second
	ids := []string{"i-1", "i-2", "i-3"}
	rapid.Check(t, func(t *rapid.T) {
		m := newMemory(maxAge, missingAge)
		now := time.Unix(1000, 0)
		alive := map[string]bool{}
		type moment struct {
			at    time.Time
			alive map[string]bool
		}
		history := []moment{{now, maps.Clone(alive)}}
		was := func(id string, there bool, since time.Time) bool {
			for i, h := range history {
				ended := now
				if i+1 < len(history) {
					ended = history[i+1].at
				}
				if h.alive[id] == there && !ended.Before(since) {
					return true
				}
			}
			return false
		}
		some := func(ids []string) (found []*Instance) {
			for _, id := range ids {
				if alive[id] {
					found = append(found, &Instance{ID: id})
				}
			}
			return found
		}
		id := func() string { return rapid.SampledFrom(ids).Draw(t, "id") }
		t.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(1, 12).Draw(t, "seconds")) * time.Second) },
			"change": func(*rapid.T) {
				one := id()
				alive[one] = !alive[one]
				history = append(history, moment{now, maps.Clone(alive)})
			},
			"ask":  func(*rapid.T) { one := id(); m.store([]string{one}, some([]string{one}), now, now) },
			"list": func(*rapid.T) { m.storeList(some(ids), true, now, now) },
			"look": func(t *rapid.T) {
				one := id()
				found, known := m.lookUp(one, now)
				age := maxAge
				if found == nil {
					age = missingAge
				}
				if known && !was(one, found != nil, now.Add(-age)) {
					t.Fatalf("%s is answered %v, which was not so for %s", one, found, age)
				}
				if !known && found != nil && m.listed(now) && m.list.byID[one] != nil && !m.ids[one].at.After(m.list.begun) {
					t.Fatalf("%s is listed and not known", one)
				}
			},
		})
	})
}

// TestMemoryIsBounded: what was not asked for long ago goes first.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := newMemory(time.Second, time.Second)
	old, now := time.Unix(1000, 0), time.Unix(1000, 0).Add(interest)
	for i := range memorySize {
		m.store([]string{fmt.Sprintf("i-old-%d", i)}, nil, old, old)
	}
	m.store([]string{"i-new"}, nil, now, now)
	if len(m.ids) != 1 {
		t.Errorf("want only what is of interest, got %d", len(m.ids))
	}
	for i := range 2 * memorySize {
		m.storeName(fmt.Sprintf("name-%d", i), []*Instance{{ID: fmt.Sprintf("i-%d", i)}}, now, now)
	}
	if len(m.ids) > memorySize || len(m.names) > memorySize {
		t.Errorf("want at most %d, got %d and %d", memorySize, len(m.ids), len(m.names))
	}
}

// TestReadAlongIsNoInterest: an instance that is only read along with others
// stops being one that will be asked for, some time after it was last.
func TestReadAlongIsNoInterest(t *testing.T) {
	t.Parallel()
	m := newMemory(time.Second, time.Second)
	one, start := []*Instance{{ID: "i-1"}}, time.Unix(1000, 0)
	m.store([]string{"i-1"}, one, start, start)
	for at := start; at.Before(start.Add(interest)); at = at.Add(time.Minute) {
		m.store([]string{"i-1"}, one, at, at) // with others that are asked for
	}
	almost, over := start.Add(interest-time.Nanosecond), start.Add(interest)
	if got := m.wanted(10, nil, almost); len(got) != 1 {
		t.Errorf("just before: %q", got)
	}
	if got := m.wanted(10, nil, over); len(got) != 0 {
		t.Errorf("%q is read along for ever", got)
	}
	m.lookUp("i-1", over)
	if got := m.wanted(10, nil, over.Add(time.Minute)); len(got) != 1 {
		t.Errorf("asked for again: %q", got)
	}
}

// TestMetrics counts how questions were answered.
func TestMetrics(t *testing.T) {
	t.Parallel()
	registry := kmetrics.NewKubeRegistry()
	set := metrics.NewSet(registry, clock.RealClock{})
	b := newFixture(t, aws.Options{}, func(c *Config) { c.Metrics = set.Recorder("aws").Snapshot("instances") })
	ids := b.seed.AddNodes(201)
	for range 2 {
		if _, err := b.Get(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
	}
	b.pass(1, b.untagged(1))
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
	if diff := cmp.Diff(map[string]float64{"shared": 201, "hit": 201, "miss": 1}, got); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
}
