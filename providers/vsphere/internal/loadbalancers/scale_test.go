package loadbalancers_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// TestRestart (VS-LB-5): a process that starts finds 100 Services, which have 401 objects, unchanged by five pages of a search and a
// list, whatever else the manager has.
func TestRestart(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{Tier1s: []nsxt.Tier1{{ID: "t2", EdgeCluster: true}}}, func(p *process) {
		p.must(p.Put("/infra/lb-services/other", nsxt.Object{"connectivity_path": "/infra/tier-1s/t2", "size": "LARGE"}))
		for i := range 300 {
			p.must(p.Put(fmt.Sprintf("/infra/lb-pools/other-%d", i), nsxt.Object{"tags": tags("cluster", "other", "owner", "me")}))
		}
		var services []*v1.Service
		for i := range 100 {
			svc := kubetest.Service("default", fmt.Sprintf("web-%d", i), kubetest.Port(v1.ProtocolTCP, 80))
			p.must(p.ensure(svc, workers(3)...))
			services = append(services, svc)
		}
		p.settle()
		p.restart()
		calls, writes := p.Calls(), p.Writes()
		for _, svc := range services {
			p.must(p.ensure(svc, workers(3)...))
		}
		if calls, writes = p.Calls()-calls, p.Writes()-writes; calls != 6 || writes != 0 {
			p.Errorf("%d calls, %d writes; want five pages of a search and a list of profiles", calls, writes)
		}
		p.settle()
		calls = p.Calls()
		for _, svc := range services {
			p.must(p.UpdateLoadBalancer(p.ctx, testCluster, svc, workers(4)))
		}
		if calls = p.Calls() - calls; calls > 210 {
			p.Errorf("a Node that joins 100 Services costs %d calls, want one to read and one to write each pool, and few searches", calls)
		}
	})
}

// TestDeletedTogether (VS-LB-2): the LBService goes with the last virtual server, in whatever order several Services end.
func TestDeletedTogether(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{}, func(p *process) {
		var services []*v1.Service
		for i := range 5 {
			uid := fmt.Sprintf("0000000%d-5e1f-4c0d-8a7b-00c0ffee0000", i)
			svc := kubetest.Service("default", fmt.Sprintf("web-%d", i), kubetest.Port(v1.ProtocolTCP, 80), kubetest.ServiceUID(uid))
			p.must(p.ensure(svc, workers(1)...))
			services = append(services, svc)
		}
		p.settle()
		var all sync.WaitGroup
		for _, svc := range services {
			all.Go(func() { p.must(p.remove(svc)) })
		}
		all.Wait()
		p.check("all are deleted", []string{})
	})
}

// TestManyNodes (FW-TARGET-3): with 5,000 Nodes and 500 Services, Nodes that join cost only searches, and one that leaves a
// write for each pool that had it, and one more read. With the race detector there are fewer.
func TestManyNodes(t *testing.T) {
	t.Parallel()
	count, services := profile.Of(300, 300, 5000), profile.Of(20, 20, 500)
	inProcess(t, nsxt.Spec{}, func(p *process) {
		p.settings.MaxTargets = new(int32(7)) // a LARGE load balancer has 7,500 members
		p.restart()
		nodes := workers(count + 100)
		var all []*v1.Service
		var creations sync.WaitGroup
		for i := range services {
			svc := kubetest.Service("default", fmt.Sprintf("web-%d", i), kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443))
			all = append(all, svc)
			some := nodes[7*i%(count-7):][:7] // they stay when there are more
			creations.Go(func() { p.must(p.ensure(svc, some...)) })
		}
		creations.Wait()
		p.settle()
		update := func(nodes []*v1.Node) (calls, writes int) {
			calls, writes = p.Calls(), p.Writes()
			for _, svc := range all {
				p.must(p.UpdateLoadBalancer(p.ctx, testCluster, svc, nodes))
			}

			return p.Calls() - calls, p.Writes() - writes
		}
		if calls, writes := update(nodes); calls > 100 || writes != 0 {
			p.Errorf("100 Nodes that join %d Services cost %d calls, %d writes", services, calls, writes)
		}
		p.settle()
		gone, having := p.VirtualServers()[0].Members[0].Address, 0
		for _, v := range p.VirtualServers() {
			if slices.ContainsFunc(v.Members, func(m nsxt.Member) bool { return m.Address == gone }) {
				having++
			}
		}
		nodes = slices.DeleteFunc(nodes, func(n *v1.Node) bool { return n.Status.Addresses[0].Address == gone })
		if calls, writes := update(nodes); writes != having || calls > 2*having+100 {
			p.Errorf("a Node that leaves costs %d calls, %d writes; %d pools had it", calls, writes, having)
		}
	})
}
