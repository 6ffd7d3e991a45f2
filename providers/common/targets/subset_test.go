package targets_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// cluster has Nodes in zones, and what is behind one load balancer.
type cluster struct {
	nodes   []*v1.Node
	serving sets.Set[string]
	made    int
	service *v1.Service
}

func newCluster(zones ...int) *cluster {
	c := &cluster{serving: sets.New[string](), service: &v1.Service{ObjectMeta: metav1.ObjectMeta{UID: "a-uid"}}}
	for zone, count := range zones {
		c.add(zone, count)
	}

	return c
}

func (c *cluster) add(zone, count int) {
	for range count {
		c.made++
		c.nodes = append(c.nodes, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", c.made), Labels: map[string]string{v1.LabelTopologyZone: fmt.Sprint("zone-", zone)}},
			Spec:       v1.NodeSpec{ProviderID: fmt.Sprint("cloud://", c.made)},
		})
	}
}

// down marks a Node as not ready.
func (c *cluster) down(i int, since time.Time) {
	c.nodes[i].Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown, LastTransitionTime: metav1.NewTime(since)}}
}

// round chooses the Nodes, which serve then, and returns how many have joined and left.
func (c *cluster) round(t testing.TB, limit targets.Limit, since, now time.Time) (joined, left int) {
	t.Helper()
	subset, err := targets.New(c.service, c.nodes, nil, since, now)
	if err != nil {
		t.Fatal(err)
	}
	chosen := c.choose(subset, limit)
	left = len(c.serving.Difference(chosen))
	joined = len(chosen.Difference(c.serving))
	c.serving = chosen

	return joined, left
}

// choose returns the names of the chosen Nodes.
func (c *cluster) choose(subset *targets.Subset, limit targets.Limit) sets.Set[string] {
	chosen, others := targets.Choose(subset, c.names(), func(name string) string { return name }, c.serving.Has, limit)
	if len(chosen)+len(others) != len(c.nodes) {
		panic("Nodes are missing")
	}

	return sets.New(chosen...)
}

func (c *cluster) names() []string {
	var all []string
	for _, n := range c.nodes {
		all = append(all, n.Name)
	}

	return all
}

// of returns how many Nodes of each zone serve, of those in the cluster.
func (c *cluster) of() map[string]int {
	count := map[string]int{}
	for _, n := range c.nodes {
		if c.serving.Has(n.Name) {
			count[n.Labels[v1.LabelTopologyZone]]++
		}
	}

	return count
}

// FW-TARGET-1, FW-TARGET-2: how many Nodes of which zones are chosen.
func TestSize(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason     string
		zones      []int
		annotation string
		configured *int32
		local      bool
		limit      targets.Limit
		want       []int
	}{
		"small":          {reason: "all of 250", zones: []int{100, 100, 50}, want: []int{100, 100, 50}},
		"large":          {reason: "100 of 251, by zone", zones: []int{100, 100, 51}, want: []int{40, 40, 21}},
		"huge":           {reason: "as many", zones: []int{2000, 2000, 1000}, want: []int{40, 40, 20}},
		"rare zone":      {reason: "at least three of each", zones: []int{600, 5}, want: []int{100, 3}},
		"smallest zone":  {reason: "if there are as many", zones: []int{600, 2}, want: []int{100, 2}},
		"no zones":       {reason: "Nodes without labels are one zone", zones: []int{600}, want: []int{100}},
		"annotation":     {reason: "a number of its own", zones: []int{60, 30}, annotation: "30", want: []int{20, 10}},
		"annotated more": {reason: "more than there are", zones: []int{60, 30}, annotation: "300", want: []int{60, 30}},
		"annotated all":  {reason: "takes precedence over the cloud-config", zones: []int{300}, annotation: "all", configured: new(int32(20)), want: []int{300}},
		"configured":     {reason: "for every Service", zones: []int{60, 30}, configured: new(int32(9)), want: []int{6, 3}},
		"configured all": {reason: "0 is all", zones: []int{300}, configured: new(int32(0)), want: []int{300}},
		"local":          {reason: "only Nodes with endpoints serve", zones: []int{300}, annotation: "20", local: true, want: []int{300}},
		"quota":          {reason: "what the cloud permits in all", zones: []int{60, 30}, limit: targets.Limit{Total: 30, Reached: true}, want: []int{20, 10}},
		"small quota":    {reason: "it is not exceeded by rounding, or to have three", zones: []int{30, 30, 30}, limit: targets.Limit{Total: 8, Reached: true}, want: []int{2, 2, 2}},
		"zone quota":     {reason: "or in each zone", zones: []int{60, 30}, limit: targets.Limit{PerZone: 40, Reached: true}, want: []int{40, 30}},
		"part at quota":  {reason: "a number is reduced before it is exceeded", zones: []int{300}, annotation: "200", limit: targets.Limit{PerZone: 40}, want: []int{40}},
		"local at quota": {reason: "the others have no traffic", zones: []int{60, 30}, local: true, limit: targets.Limit{PerZone: 40, Reached: true}, want: []int{40, 30}},
		"quota of all":   {reason: "it can have been raised", zones: []int{60}, limit: targets.Limit{PerZone: 40}, want: []int{60}},
		"zones":          {reason: "zones that the load balancer does not have", zones: []int{200, 200}, limit: targets.Limit{Zones: []string{"zone-1"}}, want: []int{0, 100}},
		"small zones":    {reason: "all are chosen", zones: []int{20, 20}, limit: targets.Limit{Zones: []string{"zone-1"}}, want: []int{20, 20}},
		"no such zones":  {reason: "none of them has Nodes", zones: []int{200, 200}, limit: targets.Limit{Zones: []string{"zone-2"}}, want: []int{50, 50}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(tc.zones...)
			if tc.annotation != "" {
				c.service.Annotations = map[string]string{string(targets.AnnotationMaxTargets): tc.annotation}
			}
			if tc.local {
				c.service.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
			}
			subset, err := targets.New(c.service, c.nodes, tc.configured, start, start)
			if err != nil {
				t.Fatal(err)
			}
			c.serving = c.choose(subset, tc.limit)
			for i, want := range tc.want {
				if got := c.of()[fmt.Sprint("zone-", i)]; got != want {
					t.Errorf("%s: %d of zone %d, want %d", tc.reason, got, i, want)
				}
			}
		})
	}
}

// FW-TARGET-1: another value of the annotation is an error that names it.
func TestAnnotation(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"0", "-1", "some", "1.5", "99999999999"} {
		svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{string(targets.AnnotationMaxTargets): value}}}
		if _, err := targets.New(svc, nil, nil, start, start); !errors.Is(err, apierr.ErrInvalid) {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// FW-TARGET-3: Nodes that join cost nothing, one that leaves is not replaced before a quarter is missing. Every process
// chooses the same ones, and each Service others.
func TestStable(t *testing.T) {
	t.Parallel()
	c := newCluster(2000, 2000, 1000)
	c.round(t, targets.Limit{}, start, start)
	first := c.serving.Clone()
	if joined, left := c.round(t, targets.Limit{}, start, start.Add(2*time.Hour)); joined+left > 0 {
		t.Errorf("the next round has %d joining and %d leaving", joined, left)
	}
	c.add(0, 100)
	if joined, left := c.round(t, targets.Limit{}, start, start); joined+left > 0 {
		t.Errorf("100 joining Nodes cost %d joining and %d leaving", joined, left)
	}
	other := newCluster(2000, 2000, 1000)
	other.round(t, targets.Limit{}, start, start)
	if !other.serving.Equal(first) {
		t.Error("another process chooses other Nodes")
	}
	other.serving, other.service.UID = sets.New[string](), types.UID("another-uid")
	other.round(t, targets.Limit{}, start, start)
	if same := len(other.serving.Intersection(first)); same > 15 {
		t.Errorf("%d of 100 Nodes are also behind another Service", same)
	}
	var gone int
	c.nodes = deleteServing(c, 8, &gone)
	if joined, _ := c.round(t, targets.Limit{}, start, start); joined > 0 || gone != 8 {
		t.Errorf("%d joined after %d of 40 Nodes of a zone are gone", joined, gone)
	}
	c.nodes = deleteServing(c, 1, &gone)
	if joined, _ := c.round(t, targets.Limit{}, start, start); joined != 11 {
		t.Errorf("%d joined after %d of 40 Nodes of a zone are gone", joined, gone)
	}
}

// deleteServing deletes Nodes of the first zone that serve.
func deleteServing(c *cluster, count int, gone *int) []*v1.Node {
	var stay []*v1.Node
	for _, n := range c.nodes {
		if count > 0 && c.serving.Has(n.Name) && n.Labels[v1.LabelTopologyZone] == "zone-0" {
			count--
			*gone++

			continue
		}
		stay = append(stay, n)
	}

	return stay
}

// FW-TARGET-3: a subset stays one until the cluster has less than 200 Nodes, and all of them stay up to 250.
func TestNothingFlips(t *testing.T) {
	t.Parallel()
	c := newCluster(251)
	c.round(t, targets.Limit{}, start, start)
	c.nodes = c.nodes[:240]
	c.round(t, targets.Limit{}, start, start)
	if n := len(c.serving); n > 100 || n < 80 {
		t.Errorf("%d of 240 Nodes after 100 of 251", n)
	}
	c.nodes = c.nodes[:199]
	c.round(t, targets.Limit{}, start, start)
	if n := len(c.serving); n != 199 {
		t.Errorf("%d of 199 Nodes", n)
	}
	c.add(0, 51)
	for _, n := range c.nodes[199:] {
		n.CreationTimestamp = metav1.NewTime(start)
	}
	c.round(t, targets.Limit{}, start, start.Add(time.Minute))
	if n := len(c.serving); n != 250 {
		t.Errorf("%d of 250 Nodes after all of 199", n)
	}
	other := newCluster(84, 84, 83)
	other.serving = sets.New(other.names()[:204]...) // what a take-over has left
	other.nodes = other.nodes[:249]
	other.round(t, targets.Limit{}, start, start)
	if n := len(other.serving); n > 204 {
		t.Errorf("%d of 249 Nodes after 204 of 251", n)
	}
}

// FW-TARGET-4: what is too much after a take-over goes after an hour, in parts, and the zone keeps twice what it needs.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	c := newCluster(600, 400)
	c.serving = sets.New(c.names()...)
	if joined, left := c.round(t, targets.Limit{}, start, start.Add(59*time.Minute)); joined+left > 0 {
		t.Errorf("%d joining and %d leaving in the first hour", joined, left)
	}
	rounds := 0
	for ; rounds < 100; rounds++ {
		before := len(c.serving)
		joined, left := c.round(t, targets.Limit{}, start, start.Add(time.Hour))
		if joined > 0 || left > before/4 {
			t.Fatalf("%d joining and %d leaving of %d", joined, left, before)
		}
		if left == 0 {
			break
		}
	}
	if of := c.of(); of["zone-0"] != 120 || of["zone-1"] != 80 || rounds < 10 {
		t.Errorf("%v after %d rounds", of, rounds)
	}
}

// FW-TARGET-2, FW-TARGET-4: targets in zones that the load balancer does not have stay for an hour.
func TestTakeOverOfZones(t *testing.T) {
	t.Parallel()
	c := newCluster(200, 200)
	c.serving = sets.New(c.names()...)
	limit := targets.Limit{Zones: []string{"zone-0"}}
	if joined, left := c.round(t, limit, start, start.Add(59*time.Minute)); joined+left > 0 {
		t.Errorf("%d joining and %d leaving in the first hour", joined, left)
	}
	if joined, left := c.round(t, limit, start, start.Add(time.Hour)); joined > 0 || left != 200 {
		t.Errorf("%d joining and %d leaving afterwards", joined, left)
	}
}

// FW-TARGET-6: at a quota, Nodes that are not ready make room for others. Nodes that join change nothing, and one that leaves is replaced.
func TestQuota(t *testing.T) {
	t.Parallel()
	c := newCluster(100)
	c.service.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
	c.serving = sets.New(c.names()[:60]...) // as many as a port without room for another one has got
	limit := targets.Limit{PerZone: 30, Reached: true}
	if joined, left := c.round(t, limit, start, start); joined > 0 || left != 30 {
		t.Errorf("%d joining and %d leaving of 60 to make room", joined, left)
	}
	c.add(0, 10)
	if joined, left := c.round(t, limit, start, start); joined+left > 0 {
		t.Errorf("%d joining and %d leaving after Nodes have joined", joined, left)
	}
	few := newCluster(100, 200)
	few.service.Annotations = map[string]string{string(targets.AnnotationMaxTargets): "10"}
	few.serving = sets.New(few.names()[:180]...)
	if joined, left := few.round(t, targets.Limit{PerZone: 50, Reached: true, Registered: 150}, start, start); joined > 0 || left != 31 {
		t.Errorf("%d joining and %d leaving of 180 in the first hour, want only those above the quota", joined, left)
	}
	down := 0
	for i, n := range c.nodes {
		if c.serving.Has(n.Name) && down < 5 {
			c.down(i, start)
			down++
		}
	}
	if joined, left := c.round(t, limit, start, start.Add(time.Hour)); joined != 5 || left != 5 {
		t.Errorf("%d joining and %d leaving after 5 of 30 are not ready", joined, left)
	}
	var gone int
	c.nodes = deleteServing(c, 1, &gone)
	if joined, left := c.round(t, limit, start, start.Add(time.Hour)); joined != 1 || left != 1 {
		t.Errorf("%d joining and %d leaving after one is gone", joined, left)
	}
}

// FW-TARGET-5: Nodes that are not ready for a minute are replaced if they are more than half of a zone, and chosen last.
func TestNotReady(t *testing.T) {
	t.Parallel()
	c := newCluster(300)
	c.round(t, targets.Limit{}, start, start)
	down := 0
	for i, n := range c.nodes {
		if c.serving.Has(n.Name) && down < 50 {
			c.down(i, start)
			down++
		}
	}
	if joined, left := c.round(t, targets.Limit{}, start, start.Add(2*time.Minute)); joined+left > 0 {
		t.Errorf("half of them are not ready: %d joining and %d leaving", joined, left)
	}
	for i, n := range c.nodes {
		if c.serving.Has(n.Name) && c.nodes[i].Status.Conditions == nil {
			c.down(i, start)

			break
		}
	}
	if joined, left := c.round(t, targets.Limit{}, start, start.Add(time.Minute)); joined+left > 0 {
		t.Errorf("more than half for a minute: %d joining and %d leaving", joined, left)
	}
	if joined, left := c.round(t, targets.Limit{}, start, start.Add(time.Minute+1)); joined != 51 || left > 0 {
		t.Errorf("more than half for longer: %d joining and %d leaving", joined, left)
	}
	for i := range c.nodes {
		c.down(i, start)
	}
	if joined, left := c.round(t, targets.Limit{}, start, start.Add(time.Hour-1)); joined+left > 0 {
		t.Errorf("none is ready: %d joining and %d leaving", joined, left)
	}
	other := newCluster(300)
	for i := range 250 {
		other.down(i, start)
	}
	other.round(t, targets.Limit{}, start, start.Add(time.Hour))
	for _, n := range other.nodes[250:] {
		if !other.serving.Has(n.Name) {
			t.Errorf("%s is ready, and not one of %d", n.Name, len(other.serving))
		}
	}
}

// FW-TARGET-3: on a day on which all Nodes are replaced, no zone is ever without Nodes that serve, and few join and leave.
func TestDay(t *testing.T) {
	t.Parallel()
	c, random := newCluster(200, 200, 100), rand.New(rand.NewPCG(1, 2))
	c.round(t, targets.Limit{}, start, start)
	changes, least := 0, 100
	for round := range 500 {
		zone := random.IntN(3)
		c.add(zone, 1)
		changes += c.change(t, start.Add(time.Duration(round)*time.Minute))
		for i, n := range c.nodes {
			if n.Labels[v1.LabelTopologyZone] == fmt.Sprint("zone-", zone) {
				c.nodes = append(c.nodes[:i:i], c.nodes[i+1:]...)

				break
			}
		}
		before := c.of()
		for i := range 3 {
			least = min(least, before[fmt.Sprint("zone-", i)])
		}
		changes += c.change(t, start.Add(time.Duration(round)*time.Minute))
	}
	if least < 10 || changes > 250 {
		t.Errorf("%d Nodes of a zone, %d changes", least, changes)
	}
}

func (c *cluster) change(t testing.TB, now time.Time) int {
	t.Helper()
	joined, left := c.round(t, targets.Limit{}, start, now)

	return joined + left
}

// BenchmarkChoose has a Node join a cluster of 5,000 with 500 Services.
func BenchmarkChoose(b *testing.B) {
	for name, most := range map[string]*int32{"part": nil, "all": new(int32(0))} {
		b.Run(name, func(b *testing.B) {
			c := newCluster(2000, 2000, 1000)
			names := c.names()
			c.round(b, targets.Limit{}, start, start)
			b.ReportAllocs()
			for b.Loop() {
				for range 500 {
					subset, _ := targets.New(c.service, c.nodes, most, start, start)
					targets.Choose(subset, names, func(name string) string { return name }, c.serving.Has, targets.Limit{})
				}
			}
		})
	}
}
