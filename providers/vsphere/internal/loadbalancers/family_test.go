package loadbalancers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
)

// TestFamilies (VS-LB-9): a Service has an address of each of its families, with members of the same one. A family that it no
// longer has is removed with its address, and the other one stays as it is.
func TestFamilies(t *testing.T) {
	t.Parallel()
	const four, six = "203.0.113.10", "2001:db8::10"
	inProcess(t, nsxt.Spec{}, func(p *process) {
		svc := web()
		served := func(what string, families []v1.IPFamily, want ...string) {
			p.Helper()
			svc.Spec.IPFamilies = families
			p.must(p.ensure(svc, workers(2)...))
			p.settle()
			var status, servers []string
			for _, ingress := range svc.Status.LoadBalancer.Ingress {
				status = append(status, ingress.IP)
			}
			for _, v := range p.VirtualServers() {
				servers = append(servers, fmt.Sprint(v.Address, " ", v.Ports[0], " ", v.Members[0].Address, " ", len(v.Members)))
			}
			slices.Sort(servers)
			var all []string
			for _, ip := range want {
				member := map[string]string{four: "10.0.0.1", six: "fd00::1"}[ip]
				all = append(all, ip+" 443 "+member+" 2", ip+" 80 "+member+" 2")
			}
			slices.Sort(all)
			if diff := cmp.Diff(want, status) + cmp.Diff(all, servers); diff != "" {
				p.Errorf("%s (-want +got):\n%s", what, diff)
			}
			if n := len(p.List("IpAddressAllocation")); n != len(want) {
				p.Errorf("%s: %d addresses are allocated", what, n)
			}
		}
		served("one family", []v1.IPFamily{v1.IPv4Protocol}, four)
		one := p.Resources()
		served("a family more", []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}, four, six)
		p.restart()
		writes := p.Writes()
		served("unchanged", []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}, four, six)
		if n := p.Writes() - writes; n != 0 {
			p.Errorf("%d writes", n)
		}
		served("a family less", []v1.IPFamily{v1.IPv4Protocol}, four)
		p.check("as before", one)
		p.must(p.remove(svc))
		p.settle() // until the pool has the address back
		svc.Status = v1.ServiceStatus{}
		served("IPv6 first", []v1.IPFamily{v1.IPv6Protocol, v1.IPv4Protocol}, six, four)
		p.must(p.remove(svc))
		p.check("deleted", []string{})
	})
}

// TestOneFamily (VS-LB-9): without a pool for the second family, a Service that prefers two has one, and it is an error for
// one that requires them.
func TestOneFamily(t *testing.T) {
	t.Parallel()
	for policy, fails := range map[v1.IPFamilyPolicy]bool{v1.IPFamilyPolicyPreferDualStack: false, v1.IPFamilyPolicyRequireDualStack: true} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			inProcess(t, nsxt.Spec{}, func(p *process) {
				class := p.settings.Classes[request.DefaultClass]
				class.IPPoolIPv6 = request.Ref{}
				p.settings.Classes[request.DefaultClass] = class
				svc := web()
				svc.Spec.IPFamilies, svc.Spec.IPFamilyPolicy = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}, &policy
				status, err := p.EnsureLoadBalancer(p.ctx, testCluster, svc, workers(2))
				if (err != nil) != fails {
					p.Errorf("status %v, error %v", status, err)
				}
				if p.must(p.remove(svc)); !fails && len(status.Ingress) != 1 {
					p.Errorf("status %v", status)
				}
			})
		})
	}
}

// TestFewNodesOfAFamily (FW-TARGET-2): a part of the Nodes is chosen for each family, of which few Nodes may have addresses.
func TestFewNodesOfAFamily(t *testing.T) {
	t.Parallel()
	inProcess(t, nsxt.Spec{}, func(p *process) {
		svc := web()
		svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
		svc.Annotations = map[string]string{string(targets.AnnotationMaxTargets): "4"}
		nodes := workers(50)
		for _, n := range nodes[2:] {
			n.Status.Addresses = n.Status.Addresses[:1]
		}
		p.must(p.ensure(svc, nodes...))
		p.settle()
		for _, v := range p.VirtualServers() {
			if want := map[bool]int{false: 4, true: 2}[strings.Contains(v.Address, ":")]; len(v.Members) != want {
				p.Errorf("%s has %d members, want %d", v.Address, len(v.Members), want)
			}
		}
	})
}
