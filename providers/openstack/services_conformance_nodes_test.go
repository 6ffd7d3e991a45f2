//go:build openstackservices

package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	guid "github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// TestServicesConformance runs the suite of all providers over Nodes in Nova, each case with
// servers in a network of its own. All of them are in one project.
func TestServicesConformance(t *testing.T) {
	t.Parallel()
	adapter := nodesSuite(func(t testing.TB) conformance.Cloud { return newServicesNodesAdapter(t) })
	// The login and the version documents, a page of servers and one of ports, those of new
	// machines again.
	adapter.Budget = nodes.Budget{Nodes: 20, Initialize: 15, Steady: 4, Lifecycle: 4}
	adapter.Timeout = patient().instances.Timeout
	adapter.MaxStaleness = 8 * time.Second
	adapter.NoticeTime = 2 * time.Minute
	nodes.Run(t, adapter)
}

// patient returns [quick] for services that need seconds to respond.
func patient() tuning {
	times := quick()
	times.instances.Timeout = servicesRequest + 5*time.Second
	times.inventory.ListWait = times.instances.Timeout
	times.inventory.RetryAge = 500 * time.Millisecond
	times.client.LoginTimeout = servicesRequest

	return times
}

// servicesNodesAdapter is the test cloud of the suite for Nodes. A policy denies the actions
// of servers, so that deleted ones are without a trace: see nodesAdapter.
type servicesNodesAdapter struct {
	*realServices
	*serverNodes

	// networkID is the network of the case, prefix begins the names of its servers.
	networkID, prefix string
	// like is the server that the others are made like.
	like *servers.Server
	made []string // IDs
}

var (
	_ conformance.Cloud          = (*servicesNodesAdapter)(nil)
	_ conformance.SessionCounter = (*servicesNodesAdapter)(nil)
)

func newServicesNodesAdapter(t testing.TB) *servicesNodesAdapter {
	t.Helper()
	a := &servicesNodesAdapter{realServices: startServices(t), serverNodes: newServerNodes(), prefix: "case-" + guid.NewString()[:8] + "-"}
	a.gateway.denied = map[string]string{"GET /v2.1/servers/*/os-instance-actions": "os_compute_api:os-instance-actions:list"}
	a.like = a.witness()
	n, err := networks.Create(t.Context(), a.Network, networks.CreateOpts{Name: "conformance"}).Extract()
	must(t, err)
	a.networkID = n.ID
	t.Cleanup(a.clear)
	opts := subnets.CreateOpts{NetworkID: n.ID, CIDR: "10.9.0.0/16", IPVersion: gophercloud.IPv4, GatewayIP: new("10.9.0.1"), EnableDHCP: new(false)}
	if _, err := subnets.Create(t.Context(), a.Network, opts).Extract(); err != nil {
		t.Fatal(err)
	}
	a.join(t, a.like.ID, "control-plane") // it proves the project

	return a
}

// clear deletes the servers and their network.
func (a *servicesNodesAdapter) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), servicesTimeout)
	defer cancel()
	var errs []error
	for _, id := range a.made {
		if err := servers.Delete(ctx, a.Compute, id).ExtractErr(); !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			errs = append(errs, err)
		}
	}
	for _, id := range a.made {
		a.awaitDeleted(id)
	}
	errs = append(errs, networks.Delete(ctx, a.Network, a.networkID).ExtractErr())
	if err := errors.Join(errs...); err != nil {
		a.t.Errorf("clear: %v", err)
	}
}

// awaitStatus waits until a server has a status.
func (a *servicesNodesAdapter) awaitStatus(id, want string) {
	a.t.Helper()
	a.eventually("server "+id+" is "+want, func(ctx context.Context) error {
		got, err := servers.Get(ctx, a.Compute, id).Extract()
		if err == nil && got.Status != want {
			err = fmt.Errorf("it is %s: %s", got.Status, got.Fault.Message)
		}

		return err
	})
}

// Connect makes the provider of the cluster.
func (a *servicesNodesAdapter) Connect(t testing.TB) cloudprovider.Interface {
	t.Helper()
	times := patient()
	times.client.Dial = a.gateway.server.Dial

	global, _, _ := strings.Cut(a.global, "[Networking]") // the networks of the project

	return connectTo(t, a.kubernetes, noEnvironment(), global+"[Metadata]\nrequest-timeout = "+servicesRequest.String()+"\n", times)
}

// Create makes a server, and its Node.
func (a *servicesNodesAdapter) Create(t testing.TB, m conformance.Machine) instance.Ref {
	t.Helper()
	made, err := servers.Create(t.Context(), a.Compute, servers.CreateOpts{
		Name: a.prefix + m.Name, ImageRef: a.like.Image["id"].(string), FlavorRef: a.like.Flavor["id"].(string),
		Networks: []servers.Network{{UUID: a.networkID, FixedIP: m.IPs[0]}},
	}, nil).Extract()
	must(t, err)
	a.made = append(a.made, made.ID)
	a.awaitStatus(made.ID, "ACTIVE")

	return a.join(t, made.ID, a.prefix+m.Name)
}

// Delete deletes a server.
func (a *servicesNodesAdapter) Delete(t testing.TB, ref instance.Ref) {
	t.Helper()
	a.leave(t, ref)
	id := strings.TrimPrefix(ref.ProviderID, "openstack:///")
	must(t, servers.Delete(t.Context(), a.Compute, id).ExtractErr())
	a.awaitDeleted(id)
	a.made = slices.DeleteFunc(a.made, func(other string) bool { return other == id })
}

// SetPower starts or stops a server.
func (a *servicesNodesAdapter) SetPower(t testing.TB, ref instance.Ref, power conformance.Power) {
	t.Helper()
	id := strings.TrimPrefix(ref.ProviderID, "openstack:///")
	status, err := "ACTIVE", error(nil)
	switch power {
	case conformance.On:
		err = servers.Start(t.Context(), a.Compute, id).ExtractErr()
	case conformance.Off:
		status, err = "SHUTOFF", servers.Stop(t.Context(), a.Compute, id).ExtractErr()
	case conformance.Suspended:
		t.Fatal("the suite leaves this out")
	}
	must(t, err)
	a.awaitStatus(id, status)
}

// Sessions counts the tokens of the provider that Keystone takes.
func (a *servicesNodesAdapter) Sessions() int {
	valid := 0
	for _, token := range a.gateway.logins() {
		status, err := a.statusOf(token)
		switch {
		case err != nil:
			a.t.Error(err)
		case status == http.StatusOK:
			valid++
		case status != http.StatusUnauthorized && status != http.StatusNotFound:
			a.t.Errorf("Keystone responds %d about a token", status)
		}
	}

	return valid
}

// statusOf returns what Keystone responds about a token.
func (a *servicesNodesAdapter) statusOf(token string) (status int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), servicesTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, a.Config.Global.AuthURL+"/auth/tokens", http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Header.Set("X-Auth-Token", token)
	r.Header.Set("X-Subject-Token", token)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}

	return got.StatusCode, got.Body.Close()
}
