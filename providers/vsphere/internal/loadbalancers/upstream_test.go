package loadbalancers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/vspheretest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
)

// upstream is a model of the upstream controller manager: the objects that it writes, how it finds
// them again, and which fields it compares.
type upstream struct {
	*process

	ids int
}

const profilePath = "/infra/lb-app-profiles/default-"

// id returns an ID that looks random.
func (u *upstream) id() string {
	u.ids++

	return fmt.Sprintf("0b7c9d1e-0000-4000-8000-%012d", u.ids)
}

func tags(pairs ...string) []any {
	var all []any
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, map[string]any{"scope": pairs[i], "tag": pairs[i+1]})
	}

	return all
}

// create creates the load balancer of a Service with the address of an allocation.
func (u *upstream) create(svc *v1.Service, nodes []*v1.Node, ip string) {
	u.Helper()
	const by = " created by vsphere-cloud-controller-manager"
	name, own := svc.Namespace+"/"+svc.Name, []string{"cluster", testCluster}
	owner := []string{"owner", policy.Program}
	put := func(path string, o nsxt.Object) { u.must(u.Put(path, o)) }
	service := ""
	for path, o := range u.List("LBService") {
		if o["connectivity_path"] == vspheretest.Tier1 {
			service = path
		}
	}
	if service == "" {
		service = "/infra/lb-services/" + u.id()
		put(service, nsxt.Object{
			"display_name": "cluster:" + testCluster, "description": "virtual server pool for cluster " + testCluster + by,
			"tags": tags(slices.Concat(own, owner)...), "size": "LARGE", "enabled": true, "connectivity_path": vspheretest.Tier1,
		})
	}
	put("/infra/ip-pools/pool/ip-allocations/"+u.id(), nsxt.Object{"tags": tags(slices.Concat(own, owner, []string{"service", name})...), "allocation_ip": ip})
	var members []any
	for _, n := range nodes {
		members = append(members, map[string]any{"admin_state": "ENABLED", "display_name": testCluster + ":" + n.Name, "ip_address": n.Status.Addresses[0].Address})
	}
	for _, port := range svc.Spec.Ports {
		of := []string{"port", fmt.Sprintf("%s/%d", port.Protocol, port.Port), "service", name}
		pool := nsxt.Object{
			"display_name": "cluster:" + testCluster + ":" + name, "description": "pool for cluster " + testCluster + ", service " + name + by,
			"tags": tags(slices.Concat(own, owner, of)...), "snat_translation": map[string]any{"type": "LBSnatAutoMap"}, "members": members,
		}
		if port.Protocol == v1.ProtocolTCP {
			monitor := "/infra/lb-monitor-profiles/" + u.id()
			put(monitor, nsxt.Object{
				"display_name":  fmt.Sprintf("cluster:%s:%s:%d", testCluster, name, port.NodePort),
				"description":   fmt.Sprintf("tcp monitor for cluster %s, service %s, port %d%s", testCluster, name, port.NodePort, by),
				"resource_type": policy.TypeTCPMonitor, "monitor_port": port.NodePort, "tags": tags(slices.Concat(own, owner, of)...),
			})
			pool["active_monitor_paths"] = []any{monitor}
		}
		poolPath := "/infra/lb-pools/" + u.id()
		put(poolPath, pool)
		put("/infra/lb-virtual-servers/"+u.id(), nsxt.Object{
			"display_name": "cluster:" + testCluster + ":" + name, "description": "virtual server for cluster " + testCluster + ", service " + name + by,
			"tags":    tags(slices.Concat(own, []string{"ippoolid", "pool", "lbclass", "default"}, owner, of)...),
			"enabled": true, "ip_address": ip, "ports": []any{fmt.Sprint(port.Port)}, "default_pool_member_ports": []any{fmt.Sprint(port.NodePort)},
			"application_profile_path": profilePath + strings.ToLower(string(port.Protocol)) + "-lb-app-profile",
			"pool_path":                poolPath, "lb_service_path": service,
		})
	}
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: ip}}
}

// find returns the objects of a type with the tags of a Service, and of a port unless that is empty,
// by path.
func (u *upstream) find(resourceType, service, port string) map[string]nsxt.Object {
	found := u.List(resourceType)
	for path, o := range found {
		has := map[string]string{}
		all, _ := o["tags"].([]any)
		for _, tag := range all {
			fields, _ := tag.(map[string]any)
			has[fmt.Sprint(fields["scope"])] = fmt.Sprint(fields["tag"])
		}
		if has["owner"] != policy.Program || has["cluster"] != testCluster || has["service"] != service || port != "" && has["port"] != port {
			delete(found, path)
		}
	}

	return found
}

// sync returns the changes that it would make to the load balancer of a Service.
func (u *upstream) sync(svc *v1.Service, nodes []*v1.Node) (changes []string) {
	name := svc.Namespace + "/" + svc.Name
	change := func(format string, args ...any) { changes = append(changes, fmt.Sprintf(format, args...)) }
	known := map[string]bool{}
	for _, port := range svc.Spec.Ports {
		tag := fmt.Sprintf("%s/%d", port.Protocol, port.Port)
		known[tag] = true
		servers, pools, monitors := u.find("LBVirtualServer", name, tag), u.find("LBPool", name, tag), u.find(policy.TypeTCPMonitor, name, tag)
		if len(servers) != 1 || len(pools) != 1 || (len(monitors) == 1) != (port.Protocol == v1.ProtocolTCP) {
			change("%s: %d virtual servers, %d pools, %d monitors", tag, len(servers), len(pools), len(monitors))

			continue
		}
		server, pool := servers[sortedKeys(servers)[0]], pools[sortedKeys(pools)[0]]
		profile := profilePath + strings.ToLower(string(port.Protocol)) + "-lb-app-profile"
		if fmt.Sprint(server["default_pool_member_ports"]) != fmt.Sprintf("[%d]", port.NodePort) || server["pool_path"] != sortedKeys(pools)[0] || server["application_profile_path"] != profile {
			change("%s: virtual server %v", tag, server)
		}
		var monitored, members, wanted []string
		for _, path := range sortedKeys(monitors) {
			monitored = append(monitored, path)
			if fmt.Sprint(monitors[path]["monitor_port"]) != fmt.Sprint(port.NodePort) {
				change("%s: monitor %v", tag, monitors[path])
			}
		}
		all, _ := pool["members"].([]any)
		for _, member := range all {
			fields, _ := member.(map[string]any)
			members = append(members, fmt.Sprint(fields["ip_address"]))
		}
		for _, n := range nodes {
			wanted = append(wanted, n.Status.Addresses[0].Address)
		}
		if active, _ := pool["active_monitor_paths"].([]any); !slices.Equal(members, wanted) || fmt.Sprint(active) != fmt.Sprint(monitored) {
			change("%s: pool %v", tag, pool)
		}
	}
	for path := range u.find("LBVirtualServer", name, "") {
		if tag := portOf(u, path); !known[tag] {
			change("delete %s", tag)
		}
	}

	return changes
}

func portOf(u *upstream, path string) string {
	o, _ := u.Get(path)
	all, _ := o["tags"].([]any)
	for _, tag := range all {
		if fields, _ := tag.(map[string]any); fields["scope"] == "port" {
			return fmt.Sprint(fields["tag"])
		}
	}

	return ""
}

// remove deletes what it finds of a Service: it ignores monitors that are not for TCP, and groups,
// and knows one pool of addresses.
func (u *upstream) remove(svc *v1.Service) {
	u.Helper()
	for _, resourceType := range []string{"LBVirtualServer", "LBPool", policy.TypeTCPMonitor, "IpAddressAllocation"} {
		for path := range u.find(resourceType, svc.Namespace+"/"+svc.Name, "") {
			if resourceType == "IpAddressAllocation" && !strings.HasPrefix(path, "/infra/ip-pools/pool/") {
				continue
			}
			u.must(u.Delete(path))
			u.settle()
		}
	}
}

// TestThereAndBack (VS-LB-4): objects that the upstream controller manager wrote are used without a write. It finds and leaves
// unchanged what this one has created, and removes it.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	dns := kubetest.Service("default", "dns", kubetest.Port(v1.ProtocolUDP, 53), kubetest.Port(v1.ProtocolTCP, 53))
	t.Run("there", func(t *testing.T) {
		t.Parallel()
		inProcess(t, nsxt.Spec{}, func(p *process) {
			u, services := &upstream{process: p}, []*v1.Service{web(), dns.DeepCopy()}
			for i, svc := range services {
				u.create(svc, workers(2), fmt.Sprintf("203.0.113.%d", 20+i))
			}
			u.settle()
			status := services[0].Status.DeepCopy()
			for _, svc := range services {
				p.must(p.ensure(svc, workers(2)...))
				p.must(p.UpdateLoadBalancer(p.ctx, testCluster, svc, workers(2)))
			}
			if diff := cmp.Diff(*status, services[0].Status); diff != "" || p.Writes() != 0 {
				p.Errorf("%d writes, status (-want +got):\n%s", p.Writes(), diff)
			}
			if got := u.sync(services[0], workers(2)); len(got) != 0 {
				p.Errorf("the model is wrong: %s", got)
			}
			p.must(p.ensure(services[0], workers(3)...))
			if n := p.Writes(); n != 2 {
				p.Errorf("a Node more makes %d writes, want one for each pool", n)
			}
			for _, svc := range services {
				p.must(p.remove(svc))
			}
			u.settle()
			if left := p.List("LBVirtualServer"); len(left) != 0 || len(p.List("LBService"))+len(p.List("IpAddressAllocation"))+len(p.List("LBPool")) != 0 {
				p.Errorf("left: %v, %v", left, p.Resources())
			}
		})
	})
	t.Run("LBService of others", func(t *testing.T) {
		t.Parallel()
		inProcess(t, nsxt.Spec{}, func(p *process) {
			u, svc, other := &upstream{process: p}, web(), dns.DeepCopy()
			p.must(p.Put("/infra/lb-services/theirs", nsxt.Object{"connectivity_path": vspheretest.Tier1, "size": "LARGE"}))
			u.create(svc, workers(2), "203.0.113.20")
			u.settle()
			p.must(p.ensure(svc, workers(2)...))
			if p.Writes() != 0 {
				p.Errorf("%d writes", p.Writes())
			}
			svc.Spec.Ports = append(svc.Spec.Ports, dns.Spec.Ports[0])
			p.must(p.ensure(svc, workers(2)...))
			if _, err := p.EnsureLoadBalancer(p.ctx, testCluster, other, workers(2)); err == nil || !strings.Contains(err.Error(), "/infra/lb-services/theirs of others: set lb-service-id") {
				p.Errorf("a Service without load balancer: %v", err)
			}
			p.must(p.remove(svc))
			p.must(p.remove(other))
			u.settle()
			if len(p.List("LBService")) != 1 || len(p.List("LBVirtualServer"))+len(p.List("LBPool"))+len(p.List("IpAddressAllocation")) != 0 {
				p.Errorf("left: %v", p.Resources())
			}
		})
	})
	t.Run("back", func(t *testing.T) {
		t.Parallel()
		inProcess(t, nsxt.Spec{}, func(p *process) {
			u := &upstream{process: p}
			for _, svc := range []*v1.Service{web(), dns.DeepCopy()} {
				p.must(p.ensure(svc, workers(2)...))
				got := slices.DeleteFunc(u.sync(svc, workers(2)), func(change string) bool {
					return strings.HasPrefix(change, "UDP/53: pool") // it has no monitor with UDP
				})
				if len(got) != 0 {
					p.Errorf("it would change %s", got)
				}
				u.remove(svc)
			}
			if left := p.Resources(); len(left) != 1 || !strings.Contains(left[0], "/infra/lb-services/") {
				p.Errorf("left: %v", left)
			}
		})
	})
	t.Run("exceptions", func(t *testing.T) {
		t.Parallel()
		inProcess(t, nsxt.Spec{}, func(p *process) {
			u, svc := &upstream{process: p}, web()
			kubetest.LocalTraffic(32000)(svc)
			svc.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
			svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
			p.must(p.ensure(svc, workers(2)...))
			u.remove(svc)
			var left []string
			for _, line := range p.Resources() {
				left = append(left, strings.Split(line, "/")[2]+" "+strings.Join(strings.Split(strings.Fields(line)[0], "/")[3:4], ""))
			}
			want := []string{"domains default", "ip-pools pool6", "lb-monitor-profiles", "lb-services"}
			for i := range left {
				if !strings.HasPrefix(left[i], "ip-pools") && !strings.HasPrefix(left[i], "domains") {
					left[i], _, _ = strings.Cut(left[i], " ")
				}
			}
			if diff := cmp.Diff(want, slices.Compact(left)); diff != "" {
				p.Errorf("what it leaves behind (-want +got):\n%s", diff)
			}
			p.must(p.remove(svc))
			p.check("the next process removes that", []string{})
		})
	})
}
