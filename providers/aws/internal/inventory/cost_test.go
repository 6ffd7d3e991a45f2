package inventory

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestPassCost counts the calls of passes over many nodes (W31).
func TestPassCost(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason         string
		nodes, workers int
		// calls are what a pass costs at most. One that follows another goes
		// straight to the list.
		calls int
	}{
		"one node":                {"W31: a question by ID", 1, 1, 1},
		"few nodes":               {"W31: one question by ID for all", 5, 5, 1},
		"many nodes":              {"at most two calls by ID, then the list", 35, 10, 3},
		"as many as workers":      {"W31: all wait in one batch", 20, 20, 2},
		"a full page":             {"the list is one page", 40, 20, 3},
		"more than a page":        {"the list is two pages", 50, 20, 4},
		"one after the other":     {"W31: after the fifth the list", 20, 1, 6},
		"fewer than the list has": {"W31: no list for a small batch", 3, 3, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const page = 40
			b := newFixture(t, aws.Options{PageSize: page}, func(c *Config) { c.Window = 100 * time.Millisecond })
			ids := b.seed.AddNodes(tc.nodes)
			if got := b.calls(func() { b.pass(tc.workers, ids) }); got > tc.calls {
				t.Errorf("%s: the first pass cost %d calls, want at most %d", tc.reason, got, tc.calls)
			}
			if got := b.calls(func() { b.pass(tc.workers, ids) }); got != 0 {
				t.Errorf("%s: a pass soon after cost %d calls", tc.reason, got)
			}
			b.sleep(DefaultMaxAge)
			if got := b.calls(func() { b.pass(tc.workers, ids) }); got > tc.calls || tc.nodes > 20 && got != (tc.nodes+page-1)/page {
				t.Errorf("%s: the next pass cost %d calls", tc.reason, got)
			}
			b.sleep(5 * time.Minute)
			if got := b.calls(func() { b.pass(tc.workers, ids) }); got > tc.calls {
				t.Errorf("%s: a pass much later cost %d calls, want at most %d", tc.reason, got, tc.calls)
			}
		})
	}
}

// TestUntaggedPassCost: no list has instances without the cluster's tag (§3).
// They are asked for by ID, along with those that will be asked for next (W31).
func TestUntaggedPassCost(t *testing.T) {
	t.Parallel()
	b := newFixture(t, aws.Options{}, func(c *Config) { c.Window = 100 * time.Millisecond })
	ids := b.untagged(maxIDs + 50)
	b.pass(20, ids)
	b.sleep(DefaultMaxAge)
	// one by ID, the list, and all the rest
	if got := b.calls(func() { b.pass(20, ids) }); got > 2+2+1 {
		t.Errorf("a pass over 250 untagged instances cost %d calls", got)
	}
	b.sleep(interest)
	if got := b.calls(func() { b.pass(1, ids[:1]) }); got != 1 {
		t.Fatalf("a question cost %d calls", got)
	}
	forms := b.forms()
	if n := len(values(forms[len(forms)-1], "instance-id")); n != 1 {
		t.Errorf("%d instances are asked for that nobody wants any more", n-1)
	}
}

// TestListsWhileNodesJoin: Nodes join, each is asked about by the controllers for
// Nodes until it is Ready, each makes all Services ask for all instances, and now
// and then there is a pass over all. The cluster is listed twice a minute at most,
// and each time by one query for each of its tags.
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

// TestCollect: every key once, in order, and each is looked up once for each
// time that it is there.
func TestCollect(t *testing.T) {
	t.Parallel()
	lookups := 0
	answers := map[string]int{}
	got := collect(answers, []string{"c", "a", "b", "c", "b", "a"}, time.Time{}, func(key string, _ time.Time) (int, bool) {
		lookups++
		return 7, key == "a"
	})
	if diff := cmp.Diff([]string{"c", "b"}, got); diff != "" || lookups != 6 || answers["a"] != 7 || len(answers) != 1 {
		t.Errorf("%d look-ups, found %v, unknown (-want +got):\n%s", lookups, answers, diff)
	}
}

// BenchmarkCollect is one look-up of 10,000 instances of which none is known.
func BenchmarkCollect(b *testing.B) {
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("i-%017x", i)
	}
	m := newMemory(time.Second, time.Second)
	for b.Loop() {
		if got := collect(map[string]*Instance{}, ids, time.Unix(1000, 0), m.lookUp); len(got) != len(ids) {
			b.Fatal(len(got))
		}
	}
}

// TestDeadInBatch: one dead ID does not fail the batch (W32).
func TestDeadInBatch(t *testing.T) {
	t.Parallel()
	b := newFixture(t, aws.Options{})
	ids := append(b.seed.AddNodes(4), "i-0dead000000000000")
	got := b.calls(func() {
		workers(len(ids), ids, func(id string) {
			_, err := b.Find(t.Context(), id)
			if (err == nil) == (id == ids[4]) {
				t.Errorf("find %s: %v", id, err)
			}
			if id == ids[4] && !errors.Is(err, ErrAbsent) {
				t.Errorf("want ErrAbsent, got %v", err)
			}
		})
	})
	if got != 1 {
		t.Errorf("AWS-API-5: want 1 call, got %d", got)
	}
	if request := b.forms()[0]; len(values(request, "instance-id")) != 5 || request.Form.Get("InstanceId.1") != "" {
		t.Errorf("AWS-API-5: want a filter with 5 IDs, got %v", request.Form)
	}
}

// TestGetMissing: instances that are not there are not asked for at each sync
// (W34), and come when they are there.
func TestGetMissing(t *testing.T) {
	t.Parallel()
	b := newFixture(t, aws.Options{})
	ids := append(b.seed.AddNodes(maxIDs+1), "i-0dead000000000000")
	sync := func(want int) {
		t.Helper()
		found, err := b.Get(t.Context(), ids)
		if err != nil || len(found) != want || found["i-0dead000000000000"] != nil && want == 201 {
			t.Fatalf("got %d instances, %v", len(found), err)
		}
	}
	if got := b.calls(func() { sync(201) }); got != 2 {
		t.Errorf("W34: want the list and one question by ID, got %d calls", got)
	}
	for range 5 {
		if got := b.calls(func() { sync(201) }); got != 0 {
			t.Errorf("W34: a sync soon after cost %d calls", got)
		}
	}
	b.sleep(DefaultMaxAge)
	if got := b.calls(func() { sync(201) }); got != 2 {
		t.Errorf("want the list and one question by ID once both are out of date, got %d calls", got)
	}
	b.seed.AddNode(aws.InstanceSpec{ID: "i-0dead000000000000"})
	b.sleep(DefaultMissingAge)
	sync(202)
}

// TestListFilters: lists are filtered by EC2 (W34, §15).
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
			b.list(b.seed.AddNodes(few + 2))
			var got []map[string][]string
			for _, request := range b.forms()[1:] { // the first is by ID
				if request.Form.Get("MaxResults") != "340" {
					t.Errorf("want pages of 340, got %v", request.Form)
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

// TestLegacyMembers: an instance with the legacy tag alone is of the cluster, one
// of another cluster is not (AWS-CLUSTER-8).
func TestLegacyMembers(t *testing.T) {
	t.Parallel()
	b := newFixture(t, aws.Options{}, func(c *Config) { c.Cluster.Legacy = true })
	subnet := b.seed.Private[b.seed.Zones[0]]
	for i, tags := range []map[string]string{{"KubernetesCluster": clusterID}, {"KubernetesCluster": "other"}, {aws.ClusterTag(clusterID): ""}} {
		b.cloud.AddInstance(aws.InstanceSpec{
			Tags: tags, PrivateDNSName: fmt.Sprintf("host-%d", i), InterfaceSpec: aws.InterfaceSpec{Subnet: subnet},
		})
	}
	for i, want := range []error{nil, ErrAbsent, nil} {
		if _, err := b.FindByName(t.Context(), fmt.Sprintf("host-%d", i)); !errors.Is(err, want) {
			t.Errorf("AWS-CLUSTER-8: instance %d: want %v, got %v", i, want, err)
		}
	}
	b.list(b.seed.AddNodes(few + 2))
	if got := len(b.Seen(time.Minute)); got != few+4 {
		t.Errorf("want %d instances in the list, got %d", few+4, got)
	}
}
