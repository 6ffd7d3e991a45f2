//go:build openstackservices

package openstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	lbs "github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/loadbalancers"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
)

// TestServicesLoadBalancers runs cases of the suite of all providers over load balancers in
// Octavia and Neutron: some of each kind, since each takes a minute. One runs after the
// other: the names of their load balancers are the same, and so is their project.
func TestServicesLoadBalancers(t *testing.T) {
	t.Parallel()
	adapter := balancersSuite(func(t testing.TB) loadbalancers.Cloud { return newServicesBalancers(t) })
	adapter.Only = []string{
		"a created load balancer has exactly the ports and targets of its Service",
		"the status has the address",
		"GetLoadBalancer finds what exists",
		"an unchanged resync writes nothing",
		"ports of several protocols are balanced",
		"clients are kept at their node",
		"source ranges are respected",
		"a port more is followed, and back",
		"UpdateLoadBalancer follows the nodes",
		"a deleted load balancer leaves nothing, and may be deleted again",
		"resources of others are left alone",
		"resources of others are no load balancer of the Service",
		"two clusters in one account do not touch each other's load balancers",
		"creating a load balancer costs few calls",
		"a load balancer deleted by a user is created again",
		"an internal Service gets an internal load balancer",
		"the healthCheckNodePort is checked when traffic is local",
		"a port that changes its protocol is followed, and back",
		"node ports swapped is followed, and back",
		"what is left of a load balancer deleted by a user is deleted",
		"refused: a malformed source range",
	}
	adapter.Timeout = servicesTimeout
	adapter.NoticeTime = servicesTimeout
	adapter.Serial = true
	loadbalancers.Run(t, adapter)
}

// servicesWait is how long the provider waits for a load balancer before it gives the worker
// back.
const servicesWait = 20 * time.Second

// servicesBalancers is the test cloud of the suite for load balancers: a network behind a
// router with an external network. Its machines are ports with the IDs of servers, which prove the
// project: Nova has no other part in load balancers.
type servicesBalancers struct {
	*realServices
	*clusterSet

	networkID, subnet, router string
	unused                    []servers.Server  // that are no machine yet
	ports                     map[string]string // IDs by the provider IDs of their machines
	addresses                 map[string]string // provider IDs by address
	decoys                    []string          // IDs of all that no provider may change
	view                      balancersView
}

var (
	_ loadbalancers.Cloud        = (*servicesBalancers)(nil)
	_ loadbalancers.ServiceStore = (*servicesBalancers)(nil)
)

func newServicesBalancers(t testing.TB) *servicesBalancers {
	t.Helper()
	a := &servicesBalancers{
		realServices: startServices(t), clusterSet: newClusterSet(), ports: map[string]string{}, addresses: map[string]string{},
	}
	ctx := t.Context()
	n, err := networks.Create(ctx, a.Network, networks.CreateOpts{Name: "conformance"}).Extract()
	must(t, err)
	a.networkID = n.ID
	t.Cleanup(a.clear)
	subnet, err := subnets.Create(ctx, a.Network, subnets.CreateOpts{
		NetworkID: n.ID, CIDR: "10.9.0.0/16", IPVersion: gophercloud.IPv4, GatewayIP: new("10.9.0.1"), EnableDHCP: new(false),
		AllocationPools: []subnets.AllocationPool{{Start: "10.9.128.0", End: "10.9.254.255"}}, // the suite has the others
	}).Extract()
	must(t, err)
	a.subnet = subnet.ID
	outside := &routers.GatewayInfo{NetworkID: a.Config.LoadBalancer.FloatingNetworkID}
	r, err := routers.Create(ctx, a.Network, routers.CreateOpts{Name: "conformance", GatewayInfo: outside}).Extract()
	must(t, err)
	a.router = r.ID
	if _, err := routers.AddInterface(ctx, a.Network, a.router, routers.AddInterfaceOpts{SubnetID: a.subnet}).Extract(); err != nil {
		t.Fatal(err)
	}
	a.unused = a.servers()

	return a
}

// clear deletes the network with all that is in it, and what a failed case has left.
func (a *servicesBalancers) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), servicesTimeout)
	defer cancel()
	var errs []error
	for _, lb := range a.balancers(ctx) {
		a.deleteBalancer(lb.ID)
	}
	for _, fip := range a.floatingIPs(ctx) {
		errs = append(errs, floatingips.Delete(ctx, a.Network, fip.ID).ExtractErr())
	}
	for _, group := range a.groups(ctx) {
		errs = append(errs, groups.Delete(ctx, a.Network, group.ID).ExtractErr())
	}
	if a.router != "" {
		if a.subnet != "" {
			_, err := routers.RemoveInterface(ctx, a.Network, a.router, routers.RemoveInterfaceOpts{SubnetID: a.subnet}).Extract()
			errs = append(errs, err)
		}
		errs = append(errs, routers.Delete(ctx, a.Network, a.router).ExtractErr())
	}
	for _, id := range a.ports {
		errs = append(errs, ports.Delete(ctx, a.Network, id).ExtractErr())
	}
	errs = append(errs, networks.Delete(ctx, a.Network, a.networkID).ExtractErr())
	if err := errors.Join(errs...); err != nil {
		a.t.Errorf("clear: %v", err)
	}
}

// balancers lists the load balancers in the network of the case.
func (a *servicesBalancers) balancers(ctx context.Context) []lbs.LoadBalancer {
	pages, err := lbs.List(a.LoadBalancer, lbs.ListOpts{VipNetworkID: a.networkID}).AllPages(ctx)
	if err == nil {
		var all []lbs.LoadBalancer
		if all, err = lbs.ExtractLoadBalancers(pages); err == nil {
			return slices.DeleteFunc(all, func(lb lbs.LoadBalancer) bool { return lb.ProvisioningStatus == "DELETED" })
		}
	}
	a.t.Error(err)

	return nil
}

// theirs is in the descriptions of floating IPs for the clusters of the suite and in those of
// decoys.
const theirs = " from cluster east"

// floatingIPs lists those for the clusters of the suite.
func (a *servicesBalancers) floatingIPs(ctx context.Context) []floatingips.FloatingIP {
	pages, err := floatingips.List(a.Network, nil).AllPages(ctx)
	if err == nil {
		var all []floatingips.FloatingIP
		if all, err = floatingips.ExtractFloatingIPs(pages); err == nil {
			return slices.DeleteFunc(all, func(fip floatingips.FloatingIP) bool { return !strings.Contains(fip.Description, theirs) })
		}
	}
	a.t.Error(err)

	return nil
}

// uids end the UIDs of the Services of the suite.
const uids = "-5e1f-4c0d-8a7b-00c0ffee0000"

// groups lists the security groups for the Services of the suite.
func (a *servicesBalancers) groups(ctx context.Context) []groups.SecGroup {
	pages, err := groups.List(a.Network, groups.ListOpts{}).AllPages(ctx)
	if err == nil {
		var all []groups.SecGroup
		if all, err = groups.ExtractGroups(pages); err == nil {
			return slices.DeleteFunc(all, func(g groups.SecGroup) bool { return !strings.Contains(g.Name, uids) && g.Description != decoy })
		}
	}
	a.t.Error(err)

	return nil
}

// deleteBalancer deletes a load balancer with its parts, and waits until it is gone.
func (a *servicesBalancers) deleteBalancer(id string) {
	a.t.Helper()
	a.eventually("deletion of load balancer "+id, func(ctx context.Context) error {
		err := lbs.Delete(ctx, a.LoadBalancer, id, lbs.DeleteOpts{Cascade: true}).ExtractErr() // 409 as long as it is pending
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return nil
		}

		return errors.Join(err, errors.New("it is there"))
	})
}

// Connect makes the provider of the first cluster.
func (a *servicesBalancers) Connect(t testing.TB) cloudprovider.Interface {
	return a.ConnectAs(t, "east")
}

// ConnectAs makes the provider of a cluster.
func (a *servicesBalancers) ConnectAs(t testing.TB, cluster string) cloudprovider.Interface {
	t.Helper()
	times := a.times()
	times.balancing = loadBalancerTuning{
		Unclear: time.Second, // there is one database
		Waits:   pending.Options{Interval: 500 * time.Millisecond, Limit: servicesWait},
	}
	text := a.global + "[LoadBalancer]\ncreate-monitor = true\nfloating-network-id = " + a.Config.LoadBalancer.FloatingNetworkID + "\n"

	return connectTo(t, a.cluster(cluster), noEnvironment(), text, times)
}

// Create makes a port as Nova does for a server, and its Node in all clusters.
func (a *servicesBalancers) Create(t testing.TB, m conformance.Machine) instance.Ref {
	t.Helper()
	id := a.unused[0].ID
	a.unused = a.unused[1:]
	port, err := ports.Create(t.Context(), a.Network, ports.CreateOpts{
		NetworkID: a.networkID, FixedIPs: []ports.IP{{IPAddress: m.IPs[0]}}, DeviceID: id, DeviceOwner: "compute:nova",
	}).Extract()
	must(t, err)
	ref := instance.Ref{ProviderID: "openstack:///" + id, SystemUUID: id, NodeName: m.Name}
	a.ports[ref.ProviderID], a.addresses[m.IPs[0]] = port.ID, ref.ProviderID
	a.add(ref)

	return ref
}

// Delete deletes the port.
func (a *servicesBalancers) Delete(t testing.TB, ref instance.Ref) {
	t.Helper()
	must(t, ports.Delete(t.Context(), a.Network, a.ports[ref.ProviderID]).ExtractErr())
	delete(a.ports, ref.ProviderID)
	maps.DeleteFunc(a.addresses, func(_, id string) bool { return id == ref.ProviderID })
}

// SetPower does nothing: Neutron has no power states.
func (*servicesBalancers) SetPower(testing.TB, instance.Ref, conformance.Power) {}

// Remove implements loadbalancers.Cloud.
func (a *servicesBalancers) Remove(t testing.TB, name string) {
	t.Helper()
	for _, lb := range a.balancers(t.Context()) {
		if lb.Name == name && !slices.Contains(a.decoys, lb.ID) {
			a.deleteBalancer(lb.ID)
		}
	}
	a.view.forget()
}

// Calls counts requests without those that only found that Octavia was not ready.
func (a *servicesBalancers) Calls() int { return a.gateway.Total() - a.gateway.pendingLooks() }

// await waits until a load balancer that the test made is there.
func (a *servicesBalancers) await(id string) {
	a.eventually("load balancer "+id, func(ctx context.Context) error {
		lb, err := lbs.Get(ctx, a.LoadBalancer, id).Extract()
		if err == nil && lb.ProvisioningStatus != "ACTIVE" {
			err = fmt.Errorf("it is %s", lb.ProvisioningStatus)
		}

		return err
	})
}
