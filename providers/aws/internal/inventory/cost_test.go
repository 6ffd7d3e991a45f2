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

// TestDeletedInBatch: one deleted ID does not fail the batch (AWS-API-5).
func TestDeletedInBatch(t *testing.T) {
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
	b.list(b.seed.AddNodes(listed))
	if got := len(b.Peek(time.Minute)); got != listed+2 {
		t.Errorf("want %d instances in the list, got %d", listed+2, got)
	}
}
