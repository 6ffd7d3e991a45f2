package vsphere

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	suite "github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/loadbalancers"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/vspheretest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// TestConformanceLoadBalancers (VS-LB-1, VS-LB-2, VS-LB-5, VS-LB-6, VS-LB-9, VS-LB-10, VS-LB-11, VS-LB-12) runs the suite of
// all providers over load balancers in an LBService that people manage, and in one of the cluster: with the race detector
// without faults of single calls.
func TestConformanceLoadBalancers(t *testing.T) {
	t.Parallel()
	adapter := suite.Adapter{
		Provider:  ProviderName,
		Malformed: []string{"vsphere://"},
		Edited:    []map[string]string{{string(request.AnnotationClass): "unknown"}},
		Refused:   []map[string]string{{string(request.AnnotationClass): "unknown"}},
		Protocols: []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP},
		// Two ports: two monitors, pools and virtual servers, an allocation, and their realized states.
		Budget:      suite.Budget{Services: 20, Create: 14, Resync: 1},
		Timeout:     5 * time.Minute,
		NoticeTime:  2 * time.Minute, // of a password that is refused at the start
		FaultPoints: 1,               // the tests of internal/loadbalancers have all of them
		How:         suite.How{InMemory: true},
	}
	adapter.Without.FaultInjection = profile.Race
	for name, managed := range map[string]bool{"unmanaged": false, "managed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := adapter
			own.NewCloud = func(t testing.TB) suite.Cloud { return newBalancersAdapter(t, managed) }
			suite.Run(t, own)
		})
	}
}

// balancerSection is the section of a cloud-config about load balancers, without the LBService.
const balancerSection = `[LoadBalancer]
ip-pool-id = pool
ip-pool-id-ipv6 = pool6
tcp-app-profile-name = default-tcp-lb-app-profile
udp-app-profile-name = default-udp-lb-app-profile
persistence-profile-path = ` + persistencePath + "\n"

const persistencePath = "/infra/lb-persistence-profiles/source-ip"

// balancersAdapter is the test cloud of the suite for load balancers.
type balancersAdapter struct {
	*nsxtAdapter

	// managed has an LBService for each cluster, at a tier-1 gateway for each.
	managed bool
	decoys  map[string]nsxt.Object
}

var _ suite.Cloud = (*balancersAdapter)(nil)

func newBalancersAdapter(t testing.TB, managed bool) *balancersAdapter {
	t.Helper()
	a := &balancersAdapter{managed: managed, nsxtAdapter: newNSXTAdapter(t, nsxt.Spec{
		Tier1s: []nsxt.Tier1{{ID: "t2", EdgeCluster: true}, {ID: "t3", EdgeCluster: true}},
		Pools: []nsxt.Pool{
			{ID: "pool", Ranges: []string{"203.0.113.10-203.0.113.250"}}, {ID: "pool6", Ranges: []string{"2001:db8::10-2001:db8::ff"}},
		},
		Profiles: []nsxt.Profile{{Path: persistencePath, Type: "LBSourceIpPersistenceProfile"}},
	})}
	if !managed {
		a.put(t, "/infra/lb-services/lbs", nsxt.Object{"connectivity_path": vspheretest.Tier1, "size": "LARGE"})
	}

	return a
}

func (a *balancersAdapter) put(t testing.TB, path string, o nsxt.Object) {
	t.Helper()
	if err := a.Put(path, o); err != nil {
		t.Fatal(err)
	}
}

// Connect makes the provider of the cluster.
func (a *balancersAdapter) Connect(t testing.TB) cloudprovider.Interface { return a.ConnectAs(t, "") }

// ConnectAs makes the provider. The name of the cluster is that of each call. It starts 15 seconds
// after the last write, as the next leader does.
func (a *balancersAdapter) ConnectAs(t testing.TB, cluster string) cloudprovider.Interface {
	t.Helper()
	time.Sleep(15 * time.Second)
	section := balancerSection + "lb-service-id = lbs\n"
	if a.managed {
		section = balancerSection + "size = LARGE\ntier1-gateway-path = " + vspheretest.Tier1 + "\n"
	}
	if a.managed && cluster == "east-2" {
		section = strings.ReplaceAll(section, "t1\n", "t2\n")
	}
	c, _ := a.connect(t, section)

	return c
}

// named returns the virtual servers by the names of their load balancers.
func (a *balancersAdapter) named() map[string][]nsxt.VirtualServer {
	objects, all := a.List("LBVirtualServer"), map[string][]nsxt.VirtualServer{}
	for _, v := range a.VirtualServers() {
		if a.decoys[v.Path] == nil {
			name := fmt.Sprint(objects[v.Path]["display_name"])
			all[name] = append(all[name], v)
		}
	}

	return all
}

// LoadBalancers implements the suite's Cloud.
func (a *balancersAdapter) LoadBalancers() []suite.LoadBalancer {
	var all []suite.LoadBalancer
	for name, servers := range a.named() {
		all = append(all, a.loadBalancer(name, servers))
	}

	return all
}

// loadBalancer returns one whose addresses have the same listeners, or else all of them.
func (a *balancersAdapter) loadBalancer(name string, servers []nsxt.VirtualServer) suite.LoadBalancer {
	lb := suite.LoadBalancer{Name: name, Affinity: servers[0].Persistent}
	objects := a.List("LBVirtualServer")
	slices.SortStableFunc(servers, func(x, y nsxt.VirtualServer) int { // the second address has longer tags
		return len(fmt.Sprint(objects[x.Path]["tags"])) - len(fmt.Sprint(objects[y.Path]["tags"]))
	})
	for _, v := range servers {
		if !slices.Contains(lb.Addresses, v.Address) {
			lb.Addresses = append(lb.Addresses, v.Address)
		}
		listener := a.listener(v)
		if !slices.ContainsFunc(lb.Listeners, func(other suite.Listener) bool { return reflect.DeepEqual(other, listener) }) {
			lb.Listeners = append(lb.Listeners, listener)
		}
	}

	return lb
}

func (a *balancersAdapter) listener(v nsxt.VirtualServer) suite.Listener {
	listener := suite.Listener{Protocol: v1.Protocol(v.Protocol), Port: number(v.Ports[0])}
	for _, monitor := range v.Monitors {
		if monitor["resource_type"] == policy.TypeHTTPMonitor {
			listener.HealthPort = number(fmt.Sprint(monitor["monitor_port"]))
		}
	}
	for _, member := range v.Members {
		id, ok := a.ids[member.Address]
		if !ok {
			id = member.Address
		}
		listener.Targets = append(listener.Targets, suite.Target{ProviderID: id, Port: number(member.Port)})
	}

	return listener
}

func number(text string) int32 {
	n, _ := strconv.ParseInt(text, 10, 32)

	return int32(n)
}

// Reach implements the suite's Cloud.
func (a *balancersAdapter) Reach(_ testing.TB, name string, protocol v1.Protocol, port int32, client netip.Addr) []string {
	var reached []string
	for _, v := range a.named()[name] {
		if v.Protocol == string(protocol) && v.Ports[0] == strconv.Itoa(int(port)) && v.Admits(client) {
			for _, member := range v.Members {
				reached = append(reached, a.ids[member.Address])
			}
		}
	}
	slices.Sort(reached)

	return slices.Compact(reached) // by addresses of both families
}

// Remove deletes the virtual servers of a load balancer, and waits until the search shows that.
func (a *balancersAdapter) Remove(t testing.TB, name string) {
	t.Helper()
	for _, v := range a.named()[name] {
		if err := a.Cloud.Delete(v.Path); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(6 * time.Minute)
}

// SeedDecoys creates load balancers with other tags, and one with the same tags in the LBService of
// another tier-1 gateway.
func (a *balancersAdapter) SeedDecoys(t testing.TB, service *v1.Service) (describe func() []string) {
	t.Helper()
	a.put(t, "/infra/lb-services/theirs", nsxt.Object{"connectivity_path": "/infra/tier-1s/t3", "size": "SMALL"})
	shared := "theirs"
	if !a.managed {
		shared = "lbs"
	}
	name := service.Namespace + "/" + service.Name
	a.decoys = map[string]nsxt.Object{}
	tags := func(owner, cluster, service string) []any {
		return []any{
			map[string]any{"scope": "owner", "tag": owner},
			map[string]any{"scope": "cluster", "tag": cluster},
			map[string]any{"scope": "service", "tag": service},
			map[string]any{"scope": "port", "tag": "TCP/80"},
			map[string]any{"tag": "x"},
		}
	}
	for id, decoy := range map[string]struct {
		lbService string
		tags      []any
	}{
		"none": {shared, nil}, "owner": {shared, tags("me", "east", name)}, "cluster": {shared, tags(policy.Program, "east-3", name)},
		"service": {shared, tags(policy.Program, "east", name+"2")}, "place": {"theirs", tags(policy.Program, "east", name)},
	} {
		put := func(path string, o nsxt.Object) {
			o["tags"], o["display_name"] = decoy.tags, "cluster:east:"+name
			a.put(t, path, o)
			a.decoys[path] = o
		}
		put("/infra/lb-monitor-profiles/"+id, nsxt.Object{"resource_type": policy.TypeTCPMonitor, "monitor_port": 1})
		put("/infra/lb-pools/"+id, nsxt.Object{"active_monitor_paths": []any{"/infra/lb-monitor-profiles/" + id}})
		put("/infra/lb-virtual-servers/"+id, nsxt.Object{
			"ip_address": "198.51.100." + strconv.Itoa(1+len(a.decoys)), "ports": []any{"80"}, "pool_path": "/infra/lb-pools/" + id,
			"application_profile_path": "/infra/lb-app-profiles/default-tcp-lb-app-profile", "lb_service_path": "/infra/lb-services/" + decoy.lbService,
		})
		put("/infra/ip-pools/pool/ip-allocations/"+id, nsxt.Object{})
	}

	return func() (lines []string) {
		for _, path := range slices.Sorted(maps.Keys(a.decoys)) {
			o, _ := a.Get(path)
			lines = append(lines, fmt.Sprint(path, o["_revision"], o["marked_for_delete"], o["tags"]))
		}

		return lines
	}
}
