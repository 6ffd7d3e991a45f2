//go:build openstackservices

package openstack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	lbs "github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// servicesWrites is what creating or deleting a Service costs in requests that change
// something: one for the load balancer, one for the floating IP.
const servicesWrites = 2

// TestServicesTogether (OS-LB-4, OS-LB-17, OS-COST-5): two Services at once cost twice what one
// does. All requests are printed, since Octavia decides how often it is looked at; and so is how
// long that takes, and how long the same load balancers and floating IPs take without the provider.
func TestServicesTogether(t *testing.T) {
	s := connectToServices(t, "create-monitor = true\n")
	t.Cleanup(func() { s.cleanUp("first", "second", "third") })
	one, two := s.together([]string{"first"}), s.together([]string{"second", "third"})
	t.Logf("two Services at once: %.2f times the time of one", two.Seconds()/one.Seconds())
	direct, directTwo := s.directly(1), s.directly(2)
	t.Logf("without the provider: %s for one, %s for two, %.2f times as long", direct, directTwo, directTwo.Seconds()/direct.Seconds())
	t.Logf("two Services at once: %.2f times the time without the provider", two.Seconds()/directTwo.Seconds())
}

// together creates Services at once and deletes them at once, and returns how long the
// creation took.
func (s *servicesCluster) together(names []string) time.Duration {
	s.t.Helper()
	phase := func(what string, do func(name string)) time.Duration {
		allBefore, writesBefore := s.gateway.requests()
		began := time.Now()
		var all sync.WaitGroup
		for _, name := range names {
			all.Go(func() { do(name) })
		}
		all.Wait()
		took := time.Since(began)
		requests, writes := s.gateway.requests()
		s.t.Logf("%s %d at once: %s, %d requests", what, len(names), took.Round(10*time.Millisecond), requests-allBefore)
		if n := writes - writesBefore; n != servicesWrites*len(names) {
			s.t.Errorf("%s %d Services cost %d writes, want %d for each: %v", what, len(names), n, servicesWrites, s.gateway.Calls())
		}

		return took
	}
	took := phase("create", func(name string) {
		s.create(kubetest.Service("default", name, kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443)))
		s.ensure("create "+name, name, s.nodes)
	})
	phase("delete", s.remove)
	for _, name := range names {
		s.wantGone(name)
	}

	return took
}

// directly creates load balancers at once as Services have them, with a floating IP each, and
// deletes them. It returns how long the creation took for a client that knows in advance what to
// request, and reads ten times a second whether the load balancers are ACTIVE.
func (s *servicesCluster) directly(n int) time.Duration {
	s.t.Helper()
	subnet := s.subnetOfServers()
	ctx, cancel := context.WithTimeout(s.t.Context(), servicesTimeout)
	defer cancel()
	began := time.Now()
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = s.createDirectly(ctx, fmt.Sprintf("direct-%d-%d", n, i), subnet) })
	}
	all.Wait()
	took := time.Since(began).Round(10 * time.Millisecond)
	s.deleteDirectly()
	must(s.t, errors.Join(errs...))

	return took
}

// subnetOfServers returns the subnet of a server.
func (s *servicesCluster) subnetOfServers() string {
	s.t.Helper()
	pages, err := ports.List(s.Network, ports.ListOpts{DeviceID: s.servers()[0].ID}).AllPages(s.t.Context())
	must(s.t, err)
	found, err := ports.ExtractPorts(pages)
	if err != nil || len(found) == 0 || len(found[0].FixedIPs) == 0 {
		s.t.Fatalf("the ports of a server: %v, %v", found, err)
	}

	return found[0].FixedIPs[0].SubnetID
}

// createDirectly creates what [servicesCluster.together] does for a Service.
func (s *servicesCluster) createDirectly(ctx context.Context, name, subnet string) error {
	opts := lbs.CreateOpts{Name: name, VipSubnetID: subnet, Tags: []string{directTag}}
	for _, port := range []int{80, 443} {
		pool := &pools.CreateOpts{
			Name: fmt.Sprintf("%s-%d", name, port), Protocol: pools.ProtocolTCP, LBMethod: pools.LBMethodRoundRobin,
			Monitor: monitors.CreateOpts{Type: monitors.TypeTCP, Delay: 5, Timeout: 3, MaxRetries: 1},
		}
		for _, node := range s.nodes {
			pool.Members = append(pool.Members, pools.CreateMemberOpts{
				Name: node.Name, Address: node.Status.Addresses[0].Address, ProtocolPort: 30000 + port, SubnetID: subnet,
			})
		}
		opts.Listeners = append(opts.Listeners, listeners.CreateOpts{Name: pool.Name, Protocol: listeners.ProtocolTCP, ProtocolPort: port, DefaultPool: pool})
	}
	lb, err := lbs.Create(ctx, s.LoadBalancer, opts).Extract()
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	for lb.ProvisioningStatus != "ACTIVE" {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%s is %s: %w", name, lb.ProvisioningStatus, ctx.Err())
		}
		if lb, err = lbs.Get(ctx, s.LoadBalancer, lb.ID).Extract(); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if lb.ProvisioningStatus == "ERROR" {
			return fmt.Errorf("%s is in ERROR", name)
		}
	}
	_, err = floatingips.Create(ctx, s.Network, floatingips.CreateOpts{
		FloatingNetworkID: s.Config.LoadBalancer.FloatingNetworkID, PortID: lb.VipPortID, Description: directTag,
	}).Extract()
	if err != nil {
		return fmt.Errorf("create the floating IP of %s: %w", name, err)
	}

	return nil
}

// directTag marks what the test creates without the provider.
const directTag = "direct"

// deleteDirectly deletes what createDirectly has created, and waits until it is gone.
func (s *servicesCluster) deleteDirectly() {
	s.t.Helper()
	s.eventually("delete what was created without the provider", func(ctx context.Context) error {
		pages, err := floatingips.List(s.Network, floatingips.ListOpts{Description: directTag}).AllPages(ctx)
		if err != nil {
			return err
		}
		ips, err := floatingips.ExtractFloatingIPs(pages)
		if err != nil {
			return err
		}
		for _, ip := range ips {
			err = errors.Join(err, floatingips.Delete(ctx, s.Network, ip.ID).ExtractErr())
		}
		pages, listErr := lbs.List(s.LoadBalancer, lbs.ListOpts{Tags: []string{directTag}}).AllPages(ctx)
		if listErr != nil {
			return errors.Join(err, listErr)
		}
		left, listErr := lbs.ExtractLoadBalancers(pages)
		for _, lb := range left {
			if lb.ProvisioningStatus != "PENDING_DELETE" {
				err = errors.Join(err, lbs.Delete(ctx, s.LoadBalancer, lb.ID, lbs.DeleteOpts{Cascade: true}).ExtractErr())
			}
		}
		if len(left) > 0 {
			err = errors.Join(err, fmt.Errorf("%d load balancers are left", len(left)))
		}

		return errors.Join(err, listErr)
	})
}
