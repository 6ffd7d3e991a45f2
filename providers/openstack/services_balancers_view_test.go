//go:build openstackservices

package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	lbs "github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/loadbalancers"
)

// row is an object of Octavia as JSON.
type row map[string]any

func (r row) text(key string) string {
	text, _ := r[key].(string)

	return text
}

func (r row) number(key string) int32 {
	number, _ := r[key].(float64)

	return int32(number)
}

func (r row) texts(key string) []string {
	var all []string
	list, _ := r[key].([]any)
	for _, text := range list {
		all = append(all, text.(string))
	}

	return all
}

// balancerTree is a load balancer with its parts. Members and monitors are by their pools.
type balancerTree struct {
	lb               row
	listeners, pools []row
	members          map[string][]row
	monitors         map[string]row
	// floating is its floating IP, empty for none.
	floating string
}

// balancersView keeps the load balancers as they were read after the latest request of the
// providers, if none of them was changing: each check looks at them many times.
type balancersView struct {
	requests int
	trees    []balancerTree
}

func (v *balancersView) forget() { v.requests = 0 }

// trees reads the load balancers in the network of the case.
func (a *servicesBalancers) trees() []balancerTree {
	requests := a.gateway.Total()
	if a.view.requests == requests && requests > 0 {
		return a.view.trees
	}
	ctx, cancel := context.WithTimeout(context.Background(), servicesTimeout)
	defer cancel()
	fips := map[string]string{}
	for _, fip := range a.floatingIPs(ctx) {
		fips[fip.PortID] = fip.FloatingIP
	}
	monitors := a.rows(ctx, "healthmonitors", "lbaas", "healthmonitors")
	var all []balancerTree
	for _, lb := range a.rows(ctx, "loadbalancers", "lbaas", "loadbalancers?vip_network_id="+a.networkID) {
		if lb.text("provisioning_status") == "DELETED" {
			continue
		}
		tree := balancerTree{
			lb: lb, floating: fips[lb.text("vip_port_id")], members: map[string][]row{}, monitors: map[string]row{},
			listeners: a.rows(ctx, "listeners", "lbaas", "listeners?loadbalancer_id="+lb.text("id")),
			pools:     a.rows(ctx, "pools", "lbaas", "pools?loadbalancer_id="+lb.text("id")),
		}
		for _, pool := range tree.pools {
			tree.members[pool.text("id")] = a.rows(ctx, "members", "lbaas", "pools", pool.text("id"), "members")
			for _, monitor := range monitors {
				if monitor.text("id") == pool.text("healthmonitor_id") {
					tree.monitors[pool.text("id")] = monitor
				}
			}
		}
		all = append(all, tree)
	}
	a.view.forget()
	if !slices.ContainsFunc(all, func(tree balancerTree) bool { return tree.lb.text("provisioning_status") != "ACTIVE" }) {
		a.view = balancersView{requests, all}
	}

	return all
}

// rows reads a list of Octavia.
func (a *servicesBalancers) rows(ctx context.Context, key string, path ...string) []row {
	var body map[string]json.RawMessage
	_, err := a.LoadBalancer.Get(ctx, a.LoadBalancer.ServiceURL(path...), &body, nil) //nolint:bodyclose // the SDK closes it
	var all []row
	if err == nil {
		err = json.Unmarshal(body[key], &all)
	}
	if err != nil {
		a.t.Errorf("list %s: %v", key, err)
	}

	return all
}

// LoadBalancers implements loadbalancers.Cloud.
func (a *servicesBalancers) LoadBalancers() []loadbalancers.LoadBalancer {
	var all []loadbalancers.LoadBalancer
	for _, tree := range a.trees() {
		if slices.Contains(a.decoys, tree.lb.text("id")) {
			continue
		}
		found := loadbalancers.LoadBalancer{Name: tree.lb.text("name"), Addresses: []string{tree.floating}}
		if tree.floating == "" {
			found.Addresses[0], found.Internal = tree.lb.text("vip_address"), true
		}
		for _, l := range tree.listeners {
			pool := l.text("default_pool_id")
			listener := loadbalancers.Listener{Protocol: layer4(l), Port: l.number("protocol_port")}
			for _, m := range tree.members[pool] {
				listener.Targets = append(listener.Targets, loadbalancers.Target{ProviderID: a.providerID(m.text("address")), Port: m.number("protocol_port")})
				if tree.monitors[pool].text("type") == "HTTP" {
					listener.HealthPort = m.number("monitor_port")
				}
			}
			found.Listeners = append(found.Listeners, listener)
			found.Affinity = found.Affinity || tree.keepsClients(pool)
		}
		all = append(all, found)
	}

	return all
}

// keepsClients reports whether a pool keeps a client at its member.
func (t balancerTree) keepsClients(pool string) bool {
	return slices.ContainsFunc(t.pools, func(p row) bool {
		persistence, _ := p["session_persistence"].(map[string]any)

		return p.text("id") == pool && persistence["type"] == "SOURCE_IP"
	})
}

// layer4 is the protocol of a listener that its clients use.
func layer4(listener row) v1.Protocol {
	switch protocol := listener.text("protocol"); protocol {
	case "UDP", "SCTP":
		return v1.Protocol(protocol)
	default:
		return v1.ProtocolTCP
	}
}

// providerID returns that of the machine with an address, or the address.
func (a *servicesBalancers) providerID(address string) string {
	if id, found := a.addresses[address]; found {
		return id
	}

	return address
}

// Reach evaluates what the API has: the ranges of the listener, and the members of its default
// pool, as far as all of them are there and switched on.
func (a *servicesBalancers) Reach(_ testing.TB, name string, protocol v1.Protocol, port int32, client netip.Addr) []string {
	var reached []string
	for _, tree := range a.trees() {
		if tree.lb.text("name") != name || slices.Contains(a.decoys, tree.lb.text("id")) || tree.lb.text("vip_port_id") == "" {
			continue
		}
		for _, l := range tree.listeners {
			if layer4(l) != protocol || l.number("protocol_port") != port || !serves(l) || !allows(l.texts("allowed_cidrs"), client) {
				continue
			}
			pool := slices.IndexFunc(tree.pools, func(p row) bool { return p.text("id") == l.text("default_pool_id") && serves(p) })
			if pool < 0 {
				continue
			}
			for _, m := range tree.members[tree.pools[pool].text("id")] {
				if id := a.providerID(m.text("address")); serves(m) && m.number("weight") > 0 && !slices.Contains(reached, id) {
					reached = append(reached, id)
				}
			}
		}
	}

	return reached
}

// serves reports whether an object of Octavia has been made, and is switched on. The parts of a
// new load balancer become ACTIVE after it, or stay PENDING_CREATE where the data plane does
// nothing.
func serves(r row) bool {
	return slices.Contains([]string{"ACTIVE", "PENDING_CREATE"}, r.text("provisioning_status")) && r["admin_state_up"] == true
}

// unnamed are the parts of objects that the services choose, or that only repeat what belongs
// to what.
var unnamed = []string{
	"id", "project_id", "tenant_id", "created_at", "updated_at", "provisioning_status", "operating_status", "vip_address", "vip_port_id",
	"vip_subnet_id", "vip_network_id", "subnet_id", "loadbalancers", "listeners", "pools", "members", "healthmonitor_id",
}

// lines describes a load balancer and its parts.
func (t balancerTree) lines() []string {
	names := map[string]string{}
	for _, pool := range t.pools {
		names[pool.text("id")] = pool.text("name")
	}
	var all []string
	add := func(kind string, r row) {
		shown := maps.Clone(r)
		maps.DeleteFunc(shown, func(key string, value any) bool { return value == nil || slices.Contains(unnamed, key) })
		if name, found := names[r.text("default_pool_id")]; found {
			shown["default_pool_id"] = name
		}
		text, err := json.Marshal(shown) // the keys are in order
		if err != nil {
			text = []byte(err.Error())
		}
		all = append(all, fmt.Sprintf("load balancer %s: %s %s", t.lb.text("name"), kind, text))
	}
	add("load balancer", t.lb)
	for _, l := range t.listeners {
		add("listener", l)
	}
	for _, pool := range t.pools {
		add("pool", pool)
		for _, m := range t.members[pool.text("id")] {
			add("member of "+pool.text("name"), m)
		}
		if monitor, found := t.monitors[pool.text("id")]; found {
			add("monitor of "+pool.text("name"), monitor)
		}
	}

	return all
}

// Resources lists load balancers with their parts, floating IPs and security groups.
func (a *servicesBalancers) Resources() []string {
	return a.describe(func(id string) bool { return !slices.Contains(a.decoys, id) })
}

// describe lists what has some of the IDs.
func (a *servicesBalancers) describe(which func(id string) bool) []string {
	ctx, cancel := context.WithTimeout(context.Background(), servicesTimeout)
	defer cancel()
	lines, names := []string{}, map[string]string{}
	for _, tree := range a.trees() {
		names[tree.lb.text("vip_port_id")] = tree.lb.text("name")
		if which(tree.lb.text("id")) {
			lines = append(lines, tree.lines()...)
		}
	}
	for _, fip := range a.floatingIPs(ctx) {
		if which(fip.ID) {
			lines = append(lines, "floating IP of "+names[fip.PortID]+", description "+fip.Description)
		}
	}
	for _, group := range a.groups(ctx) {
		if which(group.ID) {
			lines = append(lines, fmt.Sprintf("security group %s with %d rules, description %s, tags %v", group.Name, len(group.Rules), group.Description, group.Tags))
		}
	}
	slices.Sort(lines)

	return lines
}

// decoy is the description of security groups of users.
const decoy = "decoy"

// SeedDecoys implements loadbalancers.Cloud. What it creates differs from a resource of the
// Service in its cluster, its name, its tags or its description: see balancersAdapter. One of
// another project needs another user.
func (a *servicesBalancers) SeedDecoys(t testing.TB, service *v1.Service) (describe func() []string) {
	t.Helper()
	name := "kube_service_east_" + service.Namespace + "_" + service.Name
	similar := strings.Replace(name, "_east_", "_east-2_", 1)
	text := "Floating IP for Kubernetes external service " + service.Namespace + "/" + service.Name
	for _, opts := range []lbs.CreateOpts{
		{Name: name + "0", Tags: []string{name + "0"}},
		{Name: similar, Tags: []string{similar}},
		{Name: strings.ToUpper(name)},
		{Name: "of a user", Tags: []string{"web"}},
	} {
		pool := &pools.CreateOpts{Name: "pool_0_" + name, Protocol: pools.ProtocolTCP, LBMethod: pools.LBMethodRoundRobin, Members: []pools.CreateMemberOpts{
			{Name: "node-1", Address: "10.9.0.250", ProtocolPort: 30080, SubnetID: a.subnet},
		}}
		opts.VipSubnetID = a.subnet
		opts.Listeners = []listeners.CreateOpts{{
			Name: "listener_0_" + opts.Name, Protocol: listeners.ProtocolTCP, ProtocolPort: int(service.Spec.Ports[0].Port), Tags: opts.Tags, DefaultPool: pool,
		}}
		made, err := lbs.Create(t.Context(), a.LoadBalancer, opts).Extract()
		must(t, err)
		a.decoys = append(a.decoys, made.ID)
	}
	for _, id := range a.decoys {
		a.await(id)
	}
	last, err := lbs.Get(t.Context(), a.LoadBalancer, a.decoys[len(a.decoys)-1]).Extract()
	must(t, err)
	for description, port := range map[string]string{text + theirs + "-2": last.VipPortID, text + theirs: "", "web" + theirs: ""} {
		made, err := floatingips.Create(t.Context(), a.Network, floatingips.CreateOpts{
			FloatingNetworkID: a.Config.LoadBalancer.FloatingNetworkID, PortID: port, Description: description,
		}).Extract()
		must(t, err)
		a.decoys = append(a.decoys, made.ID)
	}
	for _, group := range []string{"lb-sg-" + string(service.UID) + "-" + service.Namespace + "-" + service.Name + "0", "lb-sg-x-" + service.Namespace + "-" + service.Name} {
		made, err := groups.Create(t.Context(), a.Network, groups.CreateOpts{Name: group, Description: decoy}).Extract()
		must(t, err)
		a.decoys = append(a.decoys, made.ID)
	}
	a.view.forget()

	return func() []string { return a.describe(func(id string) bool { return slices.Contains(a.decoys, id) }) }
}
