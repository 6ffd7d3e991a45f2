package inventory

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestListsWhileNodesJoin: Nodes join, each is looked up by the controllers for
// Nodes until it is Ready, each makes all Services look up all instances, and
// now and then there is a pass over all. The cluster is listed twice a minute at
// most, and each time by one query for each of its tags.
func TestListsWhileNodesJoin(t *testing.T) {
	t.Parallel()
	for name, legacy := range map[string]bool{"one tag": false, "legacy tag": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testListsWhileNodesJoin(t, legacy)
		})
	}
}

func testListsWhileNodesJoin(t *testing.T, legacy bool) {
	t.Helper()
	b := newFixture(t, aws.Options{}, func(c *Config) { c.Window, c.Cluster.Legacy = time.Nanosecond, legacy })
	ids := b.seed.AddNodes(60)
	lists := map[string][]time.Time{}
	counted := 0
	count := func() {
		for _, request := range b.forms()[counted:] {
			counted++
			for _, tag := range []string{"tag-key", "tag:KubernetesCluster"} {
				if filters(request)[tag] != nil && request.Form.Get("NextToken") == "" {
					lists[tag] = append(lists[tag], b.clock.Now())
				}
			}
		}
	}
	for second := range 180 {
		if second%5 == 0 {
			ids = append(ids, b.seed.AddNodes(1)...)
			for range 2 { // before and after the Node has its provider ID
				if _, err := b.Get(t.Context(), ids); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.pass(1, ids[len(ids)-min(len(ids), 8):]) // those not Ready yet
		if second%120 == 0 {
			b.pass(20, ids)
		}
		count()
		b.sleep(time.Second)
	}
	for tag, times := range lists {
		for k := 2; k < len(times); k++ {
			if within := times[k].Sub(times[k-2]); within < time.Minute {
				t.Fatalf("3 lists by %s within %s", tag, within)
			}
		}
	}
	if want := map[bool]int{false: 1, true: 2}[legacy]; len(lists) != want {
		t.Errorf("the cluster is listed by %d tags, want %d", len(lists), want)
	}
}

// TestMissingInBatch (AWS-API-5): IDs that EC2 does not have do not fail the batch.
// EC2 is asked for the IDs themselves, and again without those that it names.
func TestMissingInBatch(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason    string
		missing   []string
		firstOnly bool
		// calls are those that are made for the IDs, filtered is whether the last one
		// has a filter.
		calls    int
		filtered bool
	}{
		"none":               {"one call", nil, false, 1, false},
		"one":                {"one more call", []string{"i-0dead000000000000"}, false, 2, false},
		"three":              {"EC2 names all of them", []string{"i-0dead000000000000", "i-0dead000000000001", "i-0dead000000000002"}, false, 2, false},
		"two, one named":     {"one call more for each", []string{"i-0dead000000000000", "i-0dead000000000001"}, true, 3, false},
		"three, one named":   {"the last call has a filter", []string{"i-0dead000000000000", "i-0dead000000000001", "i-0dead000000000002"}, true, 4, true},
		"malformed":          {"EC2 names one at a time", []string{"i-web", "i-0dead000000000000"}, false, 3, false},
		"malformed, several": {"the last call has a filter", []string{"i-web", "i-db", "i-cache", "i-dns"}, false, 4, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, aws.Options{})
			b.cloud.SetFirstMissing(tc.firstOnly)
			there := b.seed.AddNodes(3)
			all := slices.Concat(tc.missing, there)
			got := b.calls(func() {
				workers(len(all), all, func(id string) {
					if _, err := b.Find(t.Context(), id); (err == nil) != slices.Contains(there, id) || err != nil && !errors.Is(err, ErrAbsent) {
						t.Errorf("find %s: %v", id, err)
					}
				})
			})
			if got != tc.calls {
				t.Errorf("%s: %d calls, want %d", tc.reason, got, tc.calls)
			}
			for i, request := range b.forms() {
				if filtered := filters(request) != nil && values(request, "instance-id") != nil; filtered != (tc.filtered && i == tc.calls-1) {
					t.Errorf("%s: call %d has the parameters %v", tc.reason, i+1, request.Form)
				}
			}
		})
	}
}

// TestOnlyMissing: a batch of nothing but missing instances is one call.
func TestOnlyMissing(t *testing.T) {
	t.Parallel()
	b := newFixture(t, aws.Options{})
	if got := b.calls(func() {
		if found, err := b.Get(t.Context(), []string{"i-0dead000000000000", "i-0dead000000000001"}); err != nil || len(found) > 0 {
			t.Errorf("found %v, %v", found, err)
		}
	}); got != 1 {
		t.Errorf("%d calls", got)
	}
}

// TestRefusalNamesNothing: an error that names no ID leaves it to the filter which
// instances there are: that an instance is missing is never concluded from it.
func TestRefusalNamesNothing(t *testing.T) {
	t.Parallel()
	b := newFixture(t, aws.Options{})
	ids := b.seed.AddNodes(3)
	b.cloud.Interceptor().Inject(describe, simserver.First(maxRefusals), aws.Error(http.StatusBadRequest, CodeNotFound, "Some instances do not exist"))
	if found, err := b.Get(t.Context(), ids); err != nil || len(found) != len(ids) {
		t.Errorf("found %d instances, %v", len(found), err)
	}
}

// TestLargeAccount (AWS-API-4): where a filter takes EC2 15 seconds, instances that
// are looked up by ID are found at once.
func TestLargeAccount(t *testing.T) {
	t.Parallel()
	b := newFixture(t, aws.Options{}, realTime)
	ids := b.seed.AddNodes(10)
	b.cloud.SetFilterTime(1500 * time.Millisecond)
	synctest.Test(t, func(t *testing.T) {
		inventory := New(newClient(t, b.cloud), b.config)
		begun := time.Now()
		if _, err := inventory.Find(t.Context(), ids[0]); err != nil {
			t.Error(err)
		}
		if _, err := inventory.Confirm(t.Context(), ids[1]); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("both took %s", took)
		}
		if _, err := inventory.ConfirmByName(t.Context(), "missing"); !errors.Is(err, ErrAbsent) || time.Since(begun) < 15*time.Second {
			t.Errorf("a lookup by name has a filter: %v after %s", err, time.Since(begun))
		}
	})
}

// TestListFilters: lists are filtered by EC2 (AWS-API-6).
func TestListFilters(t *testing.T) {
	t.Parallel()
	states := []string{"pending", "running", "shutting-down", "stopping", "stopped"}
	cases := map[string]struct {
		reason  string
		cluster cluster.ID
		want    []map[string][]string
	}{
		"cluster ID": {
			"AWS-API-6: by the tag",
			cluster.ID{Name: clusterID},
			[]map[string][]string{{"tag-key": {"kubernetes.io/cluster/demo"}, "instance-state-name": states}},
		},
		"legacy": {
			"AWS-CLUSTER-1: the legacy tag counts, too",
			cluster.ID{Name: clusterID, Legacy: true},
			[]map[string][]string{
				{"tag-key": {"kubernetes.io/cluster/demo"}, "instance-state-name": states},
				{"tag:KubernetesCluster": {clusterID}, "instance-state-name": states},
			},
		},
		"no cluster ID": {
			"AWS-API-6: by the VPC",
			cluster.ID{},
			[]map[string][]string{{"vpc-id": {"VPC"}, "instance-state-name": states}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, aws.Options{}, func(c *Config) { c.Cluster = tc.cluster })
			b.list(b.seed.AddNodes(listed))
			var got []map[string][]string
			for _, request := range b.forms()[1:] { // the first is by ID
				if request.Form.Get("MaxResults") != "400" {
					t.Errorf("want pages of 400, got %v", request.Form)
				}
				got = append(got, filters(request))
			}
			for _, want := range tc.want {
				if want["vpc-id"] != nil {
					want["vpc-id"] = []string{b.seed.VPC}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
