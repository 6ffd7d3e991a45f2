//go:build openstackservices

package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	cloudprovider "k8s.io/cloud-provider"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/inventory"
)

// Nodes of a cluster on the real services, and what they may cost.
const (
	servicesNodes      = 63
	servicesInitialize = 12
)

// TestServicesNodes (OS-ID-1, OS-NODE-3, OS-NODE-9, OS-NODE-10, OS-NODE-11, OS-COST-4): all Nodes
// of a cluster are initialized, some of them by their names, with what Nova and Neutron have
// of their servers.
func TestServicesNodes(t *testing.T) {
	s := startServices(t)
	want := s.metadata()
	if len(want) < servicesNodes {
		t.Fatalf("the project has %d servers named node-*, want %d", len(want), servicesNodes)
	}
	cluster := &fleet{}
	var objects []runtime.Object
	for _, server := range s.servers()[:servicesNodes] {
		cluster.nodes = append(cluster.nodes, nodeOf(&server))
		objects = append(objects, cluster.nodes[len(cluster.nodes)-1])
	}
	times := s.times()
	clock := clocktesting.NewFakePassiveClock(time.Now())
	times.inventory.Clock = clock
	c := connectTo(t, kubetest.NewClientset(objects...), noEnvironment(), s.global, times)

	budget := func(what string, limit int, do func(*v1.Node) error) {
		before, _ := s.gateway.requests()
		began := time.Now()
		cluster.each(5, func(node *v1.Node) {
			if err := do(node); err != nil {
				t.Errorf("%s: node %s: %v", what, node.Name, err)
			}
		})
		n, _ := s.gateway.requests()
		t.Logf("%s of %d Nodes: %d requests, %s", what, len(cluster.nodes), n-before, time.Since(began).Round(time.Millisecond))
		if n-before > limit {
			t.Errorf("%s cost %d requests, allowed are %d: %v", what, n-before, limit, s.gateway.Calls())
		}
	}
	budget("initialization", servicesInitialize, func(node *v1.Node) error {
		fresh := uninitialized(node)
		if len(node.Name) == len("node-1") {
			fresh.Spec.ProviderID = ""
		}
		got, err := c.instances.InstanceMetadata(t.Context(), fresh)
		if diff := cmp.Diff(want[node.Name], got); diff != "" && err == nil {
			err = fmt.Errorf("metadata (-want +got):\n%s", diff)
		}

		return err
	})
	clock.SetTime(clock.Now().Add(5 * time.Minute))        // --node-status-update-frequency
	budget("a steady pass", 4, func(node *v1.Node) error { // of which only the addresses are used
		got, err := c.instances.InstanceMetadata(t.Context(), node)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want[node.Name].NodeAddresses, got.NodeAddresses); diff != "" {
			return fmt.Errorf("addresses (-want +got):\n%s", diff)
		}

		return nil
	})
	clock.SetTime(clock.Now().Add(inventory.DefaultMaxAge))
	budget("a lifecycle pass", 2, func(node *v1.Node) error {
		exists, err := c.instances.InstanceExists(t.Context(), node)
		shutdown, err2 := c.instances.InstanceShutdown(t.Context(), node)
		if !exists || shutdown {
			return fmt.Errorf("exists %t, shut down %t, %w", exists, shutdown, errors.Join(err, err2))
		}

		return errors.Join(err, err2)
	})
}

// metadata returns what the Nodes of the servers should have, by their names.
func (s *realServices) metadata() map[string]*cloudprovider.InstanceMetadata {
	s.t.Helper()
	pages, err := ports.List(s.Network, ports.ListOpts{}).AllPages(s.t.Context())
	must(s.t, err)
	all, err := ports.ExtractPorts(pages)
	must(s.t, err)
	fixed := map[string][]v1.NodeAddress{}
	for _, port := range all {
		for _, ip := range port.FixedIPs {
			fixed[port.DeviceID] = append(fixed[port.DeviceID], internal(ip.IPAddress))
		}
	}
	want := map[string]*cloudprovider.InstanceMetadata{}
	for _, server := range s.servers() {
		m := &cloudprovider.InstanceMetadata{
			ProviderID: "openstack:///" + server.ID, InstanceType: server.Flavor["original_name"].(string),
			Zone: server.AvailabilityZone, Region: s.Config.Global.Region, NodeAddresses: fixed[server.ID],
		}
		for _, ip := range addressesOf(&server, "floating") {
			m.NodeAddresses = append(m.NodeAddresses, external(ip))
		}
		want[server.Name] = m
	}

	return want
}

// TestServicesNodeEnds (OS-NODE-4, OS-NODE-5, OS-NODE-8): a server is stopped, started and
// deleted. Its Node is gone because Nova has a record of the deletion; that of a server that
// Nova never had is kept.
func TestServicesNodeEnds(t *testing.T) {
	s := startServices(t)
	server := s.addServer("ends")
	node := nodeOf(server)
	never := kubetest.Node("never", kubetest.ProviderID("openstack:///0f1e2d3c-4b5a-4987-8123-456789abcdef"), old)
	witness := nodeOf(&s.servers()[0])
	times := s.times()
	times.inventory.MaxAge = time.Second
	c := connectTo(t, kubetest.NewClientset(node, never, witness), noEnvironment(), s.global, times)
	if _, err := c.instances.InstanceMetadata(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	power := func(want bool) {
		s.eventually(fmt.Sprintf("shut down is %t", want), func(ctx context.Context) error {
			exists, err := c.instances.InstanceExists(ctx, node)
			if err != nil {
				return err
			}
			if !exists {
				t.Fatal("the node is gone because its power changed")
			}
			got, err := c.instances.InstanceShutdown(ctx, node)
			if err == nil && got != want {
				err = fmt.Errorf("it is %t", got)
			}

			return err
		})
	}
	power(false)
	must(t, servers.Stop(t.Context(), s.Compute, server.ID).ExtractErr())
	power(true)
	must(t, servers.Start(t.Context(), s.Compute, server.ID).ExtractErr())
	power(false)
	must(t, servers.Delete(t.Context(), s.Compute, server.ID).ExtractErr())
	began := time.Now()
	s.eventually("the node of a deleted server is gone", func(ctx context.Context) error {
		exists, err := c.instances.InstanceExists(ctx, node)
		if exists {
			err = errors.Join(err, errors.New("it exists"))
		}

		return err
	})
	t.Logf("gone %s after the deletion", time.Since(began).Round(time.Second/10))
	if _, err := c.instances.InstanceMetadata(t.Context(), node); !errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Errorf("metadata of a deleted server: %v", err)
	}
	if n := s.gateway.Count("GET /v2.1/servers/*/os-instance-actions"); n == 0 {
		t.Errorf("the deletion was not confirmed: %v", s.gateway.Calls())
	}
	if exists, err := c.instances.InstanceExists(t.Context(), never); !exists && err == nil {
		t.Error("a server that Nova has no record of is gone")
	}
	if exists, err := c.instances.InstanceExists(t.Context(), witness); !exists || err != nil {
		t.Errorf("another server: exists %t, %v", exists, err)
	}
}

// witness returns a server of the project, with the ID of its flavor.
func (s *realServices) witness() *servers.Server {
	s.t.Helper()
	found := s.servers()
	if len(found) == 0 {
		s.t.Fatal("the project has no server named node-*")
	}
	plain := *s.Compute
	plain.Microversion = "" // a later one has no ID of the flavor
	full, err := servers.Get(s.t.Context(), &plain, found[0].ID).Extract()
	must(s.t, err)

	return full
}

// addServer makes a server like those that are there, until the test has ended.
func (s *realServices) addServer(name string) *servers.Server {
	s.t.Helper()
	like, network := s.witness(), s.Config.LoadBalancer.NetworkID
	made, err := servers.Create(s.t.Context(), s.Compute, servers.CreateOpts{
		Name: name, ImageRef: like.Image["id"].(string), FlavorRef: like.Flavor["id"].(string), Networks: []servers.Network{{UUID: network}},
	}, nil).Extract()
	must(s.t, err)
	s.t.Cleanup(func() {
		_ = servers.Delete(context.WithoutCancel(s.t.Context()), s.Compute, made.ID).ExtractErr() // it may be gone
	})
	s.eventually("server "+name, func(ctx context.Context) error {
		made, err = servers.Get(ctx, s.Compute, made.ID).Extract()
		if err == nil && (made.Status != "ACTIVE" || len(made.Addresses) == 0) {
			err = fmt.Errorf("it is %s", made.Status)
		}

		return err
	})

	return made
}

// awaitDeleted waits until there is no server of an ID.
func (s *realServices) awaitDeleted(id string) {
	s.t.Helper()
	s.eventually("server "+id+" is deleted", func(ctx context.Context) error {
		_, err := servers.Get(ctx, s.Compute, id).Extract()
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return nil
		}

		return errors.Join(err, errors.New("it is there"))
	})
}
