package openstack

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/loadbalancers"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// TestConformanceLoadBalancers runs the suite of all providers over load balancers of each
// kind of cloud: with and without security groups for the members, with the provider OVN,
// and on a cloud without tags and extensions that needs one call for each part. With the race
// detector only the one with security groups runs, without faults of single calls.
func TestConformanceLoadBalancers(t *testing.T) {
	t.Parallel()
	kinds := map[string]struct {
		options openstack.Options
		config  string // of [LoadBalancer]
		adapt   func(*loadbalancers.Adapter)
	}{
		"Amphora": {config: "create-monitor = true\n"},
		"Managed": {config: "manage-security-groups = true\ncreate-monitor = true\n", adapt: func(a *loadbalancers.Adapter) {
			a.Budget.Create += 6 + 3
			a.Budget.Resync += 2 // ports of the Nodes, rules of the group
		}},
		"OVN": {options: openstack.Options{Profile: openstack.OVN}, config: "lb-provider = ovn\n", adapt: func(a *loadbalancers.Adapter) {
			// It has no HTTP health monitors, and restricts no clients by itself.
			a.Without.LocalTraffic, a.Without.SourceRanges = true, true
		}},
		"Bare": {options: openstack.Options{Profile: openstack.Bare}, config: "provider-requires-serial-api-calls = true\nlb-provider =\n", adapt: func(a *loadbalancers.Adapter) {
			a.Without.SourceRanges = true                               // since version 2.12 of the API
			a.Without.LocalTraffic = true                               // there are no health monitors
			a.Protocols = []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP} // SCTP since 2.23
			a.Budget.Create = 40
			// Without tags, an empty load balancer whose creation had no response may be that of another
			// cluster: if the Service is deleted before it has members, it stays (OS-LB-2).
			a.Without.FaultInjection = true
		}},
	}
	for name, kind := range kinds {
		if profile.Race && name != "Managed" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			adapter := balancersSuite(func(t testing.TB) loadbalancers.Cloud { return newBalancersAdapter(t, kind.options, kind.config) })
			adapter.Budget.Services = 10
			adapter.Timeout = longest
			adapter.NoticeTime = time.Minute
			adapter.InMemory = true
			adapter.FaultPoints = 2 // TestCrash has all of them
			adapter.Without.FaultInjection = profile.Race
			if kind.adapt != nil {
				kind.adapt(&adapter)
			}
			if openstacktest.SmallPages {
				adapter.Budget.Resync *= 2 // the lists have more pages
			}
			loadbalancers.Run(t, adapter)
		})
	}
}

// balancersSuite is what every test cloud declares to the suite, with the Budget of a
// creation: 10 calls, and a look after each of the two writes.
func balancersSuite(newCloud func(testing.TB) loadbalancers.Cloud) loadbalancers.Adapter {
	return loadbalancers.Adapter{
		Provider:  ProviderName,
		NewCloud:  newCloud,
		Malformed: []string{"openstack://", "openstack:///worker-1"},
		Internal:  map[string]string{string(request.AnnotationInternal): "true"},
		Edited:    []map[string]string{{string(request.AnnotationKeepFloatingIP): "no"}},
		Refused: []map[string]string{
			{string(request.AnnotationClass): "missing"},
			{string(request.AnnotationProxyProtocol): "true", string(request.AnnotationXForwardedFor): "true"},
			{string(request.AnnotationSubnetID): "not-an-id"},
		},
		Protocols: []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP},
		Without:   loadbalancers.Capabilities{Copies: true, DualStack: true},
		Budget:    loadbalancers.Budget{Create: 12, Resync: 4},
	}
}

// longest is how long a call takes without a response of the cloud.
const longest = 10 * time.Second

// balancersAdapter is the test cloud of the suite: a network of servers behind a router
// with an external network, and a Kubernetes API for each cluster.
type balancersAdapter struct {
	*nodesAdapter
	*clusterSet

	config           string
	subnet, external string
	decoys           []string // IDs of load balancers
	// empty is what exists before providers create anything.
	empty []string
}

var (
	_ loadbalancers.Cloud        = (*balancersAdapter)(nil)
	_ loadbalancers.ServiceStore = (*balancersAdapter)(nil)
)

func newBalancersAdapter(t testing.TB, options openstack.Options, config string) *balancersAdapter {
	t.Helper()
	// The suite looks once after each change. TestCrash has stale reads.
	options.StaleReads = new(openstack.StaleReads)
	options.InMemory = true
	// It has more Services at once than a project may have groups by default.
	options.Quotas = openstack.Quotas{SecurityGroups: 200, SecurityGroupRules: 2000}
	a := &balancersAdapter{
		nodesAdapter: &nodesAdapter{openstacktest.Start(t, options), newServerNodes()},
		clusterSet:   newClusterSet(),
		config:       config,
	}
	inside := a.AddNetwork(openstack.NetworkSpec{Name: network})
	a.subnet = a.AddSubnet(openstack.SubnetSpec{Network: inside, CIDR: "10.9.0.0/16"})
	a.external = a.AddNetwork(openstack.NetworkSpec{Name: "public", External: true, Project: openstack.ProjectOther})
	a.AddSubnet(openstack.SubnetSpec{Network: a.external, CIDR: "203.0.112.0/22"})
	a.AddRouter(openstack.RouterSpec{Name: "router", External: a.external, Subnets: []string{a.subnet}})
	a.Create(t, conformance.Machine{Name: "control-plane", IPs: []string{"10.9.255.10"}}) // it proves the project
	a.empty = unassigned(a.Cloud.Resources())

	return a
}

// Create adds a server, and its Node to all clusters.
func (a *balancersAdapter) Create(t testing.TB, m conformance.Machine) instance.Ref {
	t.Helper()
	ref := a.nodesAdapter.Create(t, m)
	a.add(ref)

	return ref
}

// Connect makes the provider of the first cluster.
func (a *balancersAdapter) Connect(t testing.TB) cloudprovider.Interface {
	return a.ConnectAs(t, "east")
}

// ConnectAs makes the provider of a cluster.
func (a *balancersAdapter) ConnectAs(t testing.TB, cluster string) cloudprovider.Interface {
	t.Helper()
	text := a.CloudConfig(openstack.UserCCM, "[Metadata]\nrequest-timeout = 2s\n[LoadBalancer]\n"+a.config)

	times := hasty()
	times.client.Dial = a.ClientOptions().Dial
	times.balancing = loadBalancerTuning{Unclear: -1, Waits: pending.Options{Interval: time.Millisecond, Limit: 2 * time.Second}}

	return connectTo(t, a.cluster(cluster), noEnvironment(), text, times)
}

// LoadBalancers implements loadbalancers.Cloud.
func (a *balancersAdapter) LoadBalancers() []loadbalancers.LoadBalancer {
	var all []loadbalancers.LoadBalancer
	for _, lb := range a.Cloud.LoadBalancers() {
		if slices.Contains(a.decoys, lb.ID) || lb.Status == "DELETED" {
			continue
		}
		all = append(all, a.describe(lb))
	}

	return all
}

// describe returns a load balancer as clients see it.
func (a *balancersAdapter) describe(lb openstack.LoadBalancer) loadbalancers.LoadBalancer {
	seen := loadbalancers.LoadBalancer{Name: lb.Name, Addresses: []string{lb.VIPAddress}, Internal: true}
	if public := a.publicAddress(lb); public != "" {
		seen.Addresses[0], seen.Internal = public, false
	}
	for _, view := range a.Listeners(lb.ID) {
		seen.Affinity = seen.Affinity || view.SourceIP
		listener := loadbalancers.Listener{Protocol: v1.Protocol(view.Protocol), Port: int32(view.Port)} //nolint:gosec // a port
		for _, m := range view.Members {
			listener.Targets = append(listener.Targets, loadbalancers.Target{ProviderID: a.providerID(m.Address), Port: int32(m.Port)}) //nolint:gosec // a port
			if view.Monitor == "HTTP" {
				listener.HealthPort = int32(m.MonitorPort) //nolint:gosec // a port
			}
		}
		seen.Listeners = append(seen.Listeners, listener)
	}

	return seen
}

// publicAddress is the floating IP of a load balancer, empty without one.
func (a *balancersAdapter) publicAddress(lb openstack.LoadBalancer) string {
	for _, e := range a.Serving() {
		if e.LoadBalancer == lb.Name && e.Address != lb.VIPAddress && strings.HasPrefix(e.Address, "203.0.11") {
			return e.Address
		}
	}

	return ""
}

// providerID returns that of the server with an address, or the address.
func (a *balancersAdapter) providerID(address string) string {
	for _, id := range a.PortIDs() {
		if port, _ := a.Port(id); slices.Contains(port.IPs, address) && port.Device != "" {
			return "openstack:///" + port.Device
		}
	}

	return address
}

// Reach evaluates the ranges of the listener, and the security groups of each server: a
// load balancer of OVN keeps the address of the client, the others send traffic from their
// own subnet.
func (a *balancersAdapter) Reach(_ testing.TB, name string, protocol v1.Protocol, port int32, client netip.Addr) []string {
	var reached []string
	for _, e := range a.Serving() {
		if e.LoadBalancer != name || e.Protocol != string(protocol) || e.Port != int(port) || !allows(e.Sources, client) {
			continue
		}
		for _, member := range e.Members {
			target := netip.MustParseAddrPort(member)
			source := client
			if !strings.Contains(a.config, "ovn") {
				source = netip.MustParseAddr("10.9.0.2")
			}
			id := a.providerID(target.Addr().String())
			managed := strings.Contains(a.config, "manage-security-groups")
			if (!managed || a.Accepts(target.Addr().String(), string(protocol), int(target.Port()), source)) && !slices.Contains(reached, id) {
				reached = append(reached, id)
			}
		}
	}

	return reached
}

// allows reports whether a client is in one of the prefixes, all if there are none.
func allows(sources []string, client netip.Addr) bool {
	return len(sources) == 0 || slices.ContainsFunc(sources, func(text string) bool { return netip.MustParsePrefix(text).Contains(client) })
}

// Remove implements loadbalancers.Cloud.
func (a *balancersAdapter) Remove(t testing.TB, name string) {
	t.Helper()
	for _, lb := range a.Cloud.LoadBalancers() {
		if lb.Name == name && !slices.Contains(a.decoys, lb.ID) {
			a.DeleteLoadBalancer(lb.ID)
		}
	}
}

// Resources implements conformance.MutableCloud.
func (a *balancersAdapter) Resources() []string {
	return slices.DeleteFunc(unassigned(a.Cloud.Resources()), func(line string) bool { return slices.Contains(a.empty, line) })
}

// assigned is what the cloud assigns to load balancers: addresses and IDs.
var assigned = regexp.MustCompile(`(floating IP | at |"vip_address":"|octavia-lb-|ovn-lb-vip-)[0-9a-f.-]+`)

// unassigned returns lines without what the cloud assigns, which depends on what there was
// before.
func unassigned(lines []string) []string {
	for i, line := range lines {
		lines[i] = assigned.ReplaceAllString(assigned.ReplaceAllString(line, "${1}*"), "${1}*")
	}
	slices.Sort(lines)

	return lines
}

// SeedDecoys implements loadbalancers.Cloud. What it creates differs from a resource of the
// Service in one respect: its project, its cluster, its name, its tags or its description.
func (a *balancersAdapter) SeedDecoys(_ testing.TB, service *v1.Service) (describe func() []string) {
	name := "kube_service_east_" + service.Namespace + "_" + service.Name
	theirs := strings.Replace(name, "_east_", "_east-2_", 1)
	text := "Floating IP for Kubernetes external service " + service.Namespace + "/" + service.Name
	groups := []string{"lb-sg-" + string(service.UID) + "-" + service.Namespace + "-" + service.Name + "0", "lb-sg-x-" + service.Namespace + "-" + service.Name}
	port := int(service.Spec.Ports[0].Port)
	pool := &openstack.LBPoolSpec{Name: "pool_0_" + name, Members: []openstack.LBMemberSpec{{Name: "node-1", Address: "10.9.0.250", Port: 30080, Subnet: a.subnet}}}
	others := a.AddSubnet(openstack.SubnetSpec{Network: a.AddNetwork(openstack.NetworkSpec{Name: "others", Project: openstack.ProjectOther}), CIDR: "10.9.0.0/16"})
	specs := []openstack.LoadBalancerSpec{
		{Name: name, Tags: []string{name}, Project: openstack.ProjectOther, Subnet: others},
		{Name: name + "0", Tags: []string{name + "0"}, Subnet: a.subnet},
		{Name: theirs, Tags: []string{theirs}, Subnet: a.subnet},
		{Name: strings.ToUpper(name), Subnet: a.subnet},
		{Name: "of a user", Tags: []string{"web"}, Subnet: a.subnet},
	}
	for i, spec := range specs {
		spec.Listeners = []openstack.ListenerSpec{{Name: fmt.Sprintf("listener_%d_%s", i, spec.Name), Protocol: "TCP", Port: port, Tags: spec.Tags}}
		if spec.Project == "" {
			spec.Listeners[0].Pool = pool
		}
		a.decoys = append(a.decoys, a.AddLoadBalancer(spec))
	}
	vip := a.Cloud.LoadBalancer(a.decoys[4]).VIPPort
	a.AddFloatingIP(openstack.FloatingIPSpec{Network: a.external, Port: vip, Description: text + " from cluster east-2"})
	a.AddFloatingIP(openstack.FloatingIPSpec{Network: a.external, Description: text + " from cluster east"})
	a.AddFloatingIP(openstack.FloatingIPSpec{Network: a.external, Description: "web"})
	var about []string
	for _, group := range groups {
		a.AddSecurityGroup(openstack.SecurityGroupSpec{Name: group})
		about = append(about, " of security group "+group)
	}
	for _, id := range a.decoys[1:] {
		about = append(about, " of load balancer "+a.Cloud.LoadBalancer(id).Name)
	}

	return func() []string {
		return slices.DeleteFunc(append(slices.Clone(about), a.Leaks()...), func(line string) bool {
			return !strings.HasPrefix(line, "lost ") && !slices.ContainsFunc(about, func(what string) bool { return strings.HasSuffix(line, what) })
		})
	}
}
