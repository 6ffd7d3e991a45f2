package octavia_test

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

const (
	uidTag     = "multicloud-ccm.io/service-uid=" + testUID
	opUpdateLB = "octavia.UpdateLoadBalancer"
)

// shared adds a load balancer of another Service, with the port TCP/8080.
func (f *writeFixture) shared(tags ...string) {
	f.lb = f.AddLoadBalancer(openstack.LoadBalancerSpec{
		Name: otherTag, Subnet: f.subnet, Tags: tags, Listeners: []openstack.ListenerSpec{{
			Name: "listener_0_" + otherTag, Protocol: "TCP", Port: 8080, Tags: []string{otherTag},
			Pool: &openstack.LBPoolSpec{Name: "pool_0_" + otherTag, Members: []openstack.LBMemberSpec{{Name: "node-9", Address: "10.0.0.109", Port: 9}}},
		}},
	})
	f.owner = false
}

// tags checks the tags of the load balancer.
func (f *writeFixture) tags(reason string, want ...string) {
	f.t.Helper()
	got := f.LoadBalancer(f.lb).Tags
	if len(got) == 0 {
		got = nil
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("%s: tags of the load balancer: %s", reason, diff)
	}
}

// setTags sets the tags of the load balancer, as another Service does.
func (f *writeFixture) setTags(tags ...string) {
	f.write(func(ctx context.Context) error {
		_, err := f.api.UpdateLoadBalancer(ctx, f.lb, client.LoadBalancerUpdate{Tags: client.Set(tags)})

		return err
	})
}

// claim returns the plan that claims the load balancer.
func (f *writeFixture) claim(svc *v1.Service, most int) change.Plan {
	f.t.Helper()
	d := f.desired(svc)

	return octavia.Claim(f.observe(d.Names), d, most)
}

// OS-LB-15: the tag of a Service is added beside those of others, as far as these permit it.
func TestClaim(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason      string
		options     openstack.Options
		owner       bool
		tags, later []string
		most        int
		want        []string
		writes      int
		err         error
		text        string
	}{
		"another Service":         {reason: "its tag stays", tags: []string{otherTag, "mine"}, most: 2, want: []string{otherTag, "mine", lbn}, writes: 1},
		"claimed already":         {reason: "nothing is written", tags: []string{otherTag, lbn}, most: 1, want: []string{otherTag, lbn}},
		"claimed meanwhile":       {reason: "tags are read right before", tags: []string{otherTag}, later: []string{otherTag, lbn}, most: 2, want: []string{otherTag, lbn}},
		"a tag that came late":    {reason: "it is not lost", tags: []string{otherTag}, later: []string{otherTag, "late"}, most: 2, want: []string{otherTag, "late", lbn}, writes: 1},
		"too many":                {reason: "the owner counts", tags: []string{otherTag}, most: 1, want: []string{otherTag}, err: apierr.ErrConflict, text: "max-shared-lb"},
		"too many since the plan": {reason: "it is counted right before", tags: []string{otherTag}, later: []string{otherTag, otherTag + "2"}, most: 2, want: []string{otherTag, otherTag + "2"}, err: apierr.ErrConflict, text: otherTag + "2"},
		"own, without tags":       {reason: "the tag with the UID is added along with the other one", owner: true, most: 0, want: []string{lbn, uidTag}, writes: 1},
		"own, of the reference":   {reason: "a tag with the UID alone is no reason to write", owner: true, tags: []string{lbn}, want: []string{lbn}},
		"an API without tags":     {reason: "there is nothing to write", options: openstack.Options{OctaviaMinor: 4}, owner: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, c.options, func(f *writeFixture) {
				f.shared(c.tags...)
				f.owner = c.owner
				steps := f.claim(web(), c.most)
				if c.later != nil {
					f.setTags(c.later...)
				}
				f.Interceptor().Reset()
				_, err := f.apply(steps)
				f.fails(c.reason, err, c.err, c.text)
				f.tags(c.reason, c.want...)
				f.sent(c.reason, opUpdateLB, c.writes)
			})
		})
	}
}

// A run that fails to delete a listener keeps the tag by which it is found again.
func TestReleaseIsLast(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		f.ensure(web())
		f.SetDenied(opDeleteListener)
		_, err := f.apply(octavia.DiffDelete(f.observe(f.names()), f.names(), true))
		f.fails("it may not", err, apierr.ErrDenied, "delete listener")
		f.tags("it is still used", lbn, uidTag)
		f.SetDenied()
		if _, err := f.apply(octavia.DiffDelete(f.observe(f.names()), f.names(), true)); err != nil {
			t.Error(err)
		}
		f.tags("none")
	})
}

// A load balancer that a rename has given the UID of a Service is not renamed back by the same
// Service of a second cluster.
func TestRenameOnce(t *testing.T) {
	t.Parallel()
	const old = "kube_service_kube_shop_web"
	for name, c := range map[string]struct {
		reason string
		tags   []string
		want   []string
	}{
		"reference": {"it has no tag with a UID", []string{old}, []string{lbn, uidTag}},
		"tagged":    {"it has that tag", []string{uidTag, old}, []string{uidTag, lbn}},
		"foreign":   {"another tag is not replaced", []string{old, "multicloud-ccm.io/service-uid=2"}, []string{lbn, "multicloud-ccm.io/service-uid=2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, openstack.Options{}, func(f *writeFixture) {
				f.lb = f.AddLoadBalancer(openstack.LoadBalancerSpec{Name: old, Subnet: f.subnet, Tags: c.tags})
				steps, _ := f.renaming()
				if _, err := f.apply(steps); err != nil {
					t.Fatal(err)
				}
				f.tags(c.reason, c.want...)
				info := f.observe(f.names()).LoadBalancer
				second := request.NewNames("kube", web(kubetest.ServiceUID("3")))
				facts := certainty.LoadBalancer{Name: info.Name, Project: "p", Pinned: "p", Tags: info.Tags, Annotated: true}
				if got, err := facts.Ownership(second); got != certainty.Sharer {
					t.Errorf("%s: the second Service is %s, %v", c.reason, got, err)
				}
			})
		})
	}
}

// OS-LB-25: two Nodes with one address become one member, and members have the subnet of
// their Node.
func TestBuildMembers(t *testing.T) {
	t.Parallel()
	member := func(node, address string) request.Member {
		return request.Member{Target: request.Target{Node: node, Address: netip.MustParseAddr(address)}, Port: 30080}
	}
	r := &request.Request{Names: request.NewNames("kubernetes", web()), MemberSubnet: request.MemberSubnet{ID: "one"}}
	resolved := &request.Resolved{Ports: []request.ResolvedPort{{
		Port:    request.Port{Listener: features.ProtocolTCP, Pool: features.ProtocolTCP, Protocol: v1.ProtocolTCP, Number: 80, NodePort: 30080},
		Members: []request.Member{member("node-1", "10.0.0.1"), member("node-2", "::ffff:10.0.0.1"), member("node-3", "10.0.0.3")},
	}}}
	for name, c := range map[string]struct {
		reason  string
		subnets map[string]string
		want    []string
	}{
		"one subnet":     {reason: "of all Nodes", want: []string{"node-1 one", "node-3 one"}},
		"detected":       {reason: "each Node has its own", subnets: map[string]string{"node-1": "first", "node-3": "third"}, want: []string{"node-1 first", "node-3 third"}},
		"a Node unread":  {reason: "its subnet is not sent", subnets: map[string]string{"node-1": "first"}, want: []string{"node-1 first", "node-3 "}},
		"nothing is set": {reason: "no subnet is sent", subnets: map[string]string{}, want: []string{"node-1 ", "node-3 "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := octavia.Build(r, resolved, octavia.Context{Owner: true, Features: features.For(features.Version{Major: 2, Minor: 26}, "amphora"), MemberSubnets: c.subnets})
			var got []string
			for _, m := range d.Ports[0].Pool.Members {
				got = append(got, m.Name+" "+m.SubnetID)
			}
			openstacktest.Check(t, c.reason, c.want, got)
		})
	}
}

// renaming plans the names of this cluster for what was made in another one.
func (f *writeFixture) renaming() (change.Plan, []service.Warning) {
	o := f.observe(f.names())

	return octavia.Rename(o, f.names(), o.LoadBalancer.Name)
}
