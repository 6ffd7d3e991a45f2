package loadbalancers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/loadbalancers"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/vspheretest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
)

const (
	unmanaged       = "/infra/lb-services/lbs"
	persistencePath = "/infra/lb-persistence-profiles/source-ip"
)

// fixture is the load balancers of the cluster east at a simulated manager with an LBService that people manage.
type fixture struct {
	*testing.T
	*vspheretest.Manager

	settings request.Config
	lbs      *loadbalancers.LoadBalancers
	recorder *record.FakeRecorder
}

// options are what differs from the default.
type options struct {
	spec nsxt.Spec
	// settings changes those of the cloud-config.
	settings func(*request.Config)
}

// managed has an LBService for the cluster at a tier-1 gateway.
func managed(tier1, size string) func(*request.Config) {
	return func(c *request.Config) { c.LBServiceID, c.Tier1, c.Size = "", tier1, size }
}

// simulate runs a test in simulated time.
func simulate(t *testing.T, o options, test func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.spec.Pools = []nsxt.Pool{{ID: "pool", Ranges: []string{"203.0.113.10-203.0.113.19"}}, {ID: "pool-6", Ranges: []string{"2001:db8::10-2001:db8::19"}}}
		o.spec.Profiles = []nsxt.Profile{{Path: persistencePath, Type: "LBSourceIpPersistenceProfile"}}
		settings := request.Config{LBServiceID: "lbs", Classes: map[string]request.Class{"default": {
			Name: "default", IPPool: request.Ref{ID: "pool"}, IPPoolIPv6: request.Ref{Name: "pool-6"}, PersistencePath: persistencePath,
			TCP: request.Ref{Name: "default-tcp-lb-app-profile"}, UDP: request.Ref{Name: "default-udp-lb-app-profile"},
		}}}
		if o.settings != nil {
			o.settings(&settings)
		}
		f := &fixture{T: t, Manager: vspheretest.StartManager(t, o.spec), settings: settings, recorder: record.NewFakeRecorder(100)}
		if settings.LBServiceID != "" {
			f.must(f.Put(unmanaged, nsxt.Object{"connectivity_path": vspheretest.Tier1, "size": "SMALL"}))
		}
		client := newClient(t, f.Manager)
		defer func() { f.must(client.Close(t.Context())) }()
		f.lbs = loadbalancers.New(loadbalancers.Config{Settings: settings}, client)
		f.lbs.Services().SetRecorder(f.recorder)
		time.Sleep(time.Minute)
		test(f)
	})
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// ensure ensures a load balancer, and writes the status of its Service.
func (f *fixture) ensure(svc *v1.Service, nodes ...*v1.Node) error {
	status, err := f.lbs.EnsureLoadBalancer(f.Context(), "east", svc, nodes)
	if err == nil {
		svc.Status.LoadBalancer = *status
	} else if status != nil {
		f.Errorf("a status with an error: %v", status)
	}

	return err
}

// remove deletes a load balancer as the service controller does.
func (f *fixture) remove(svc *v1.Service) error {
	_, exists, err := f.lbs.GetLoadBalancer(f.Context(), "east", svc)
	if err != nil || !exists {
		return err
	}

	return f.lbs.EnsureLoadBalancerDeleted(f.Context(), "east", svc)
}

// events returns the Events since the last call.
func (f *fixture) events() []string { return kubetest.Events(f.recorder) }

// noEvents reports Events.
func (f *fixture) noEvents(when string) {
	f.Helper()
	if all := f.events(); len(all) > 0 {
		f.Errorf("%s: %q", when, all)
	}
}

// only returns the path of the only object of a type.
func (f *fixture) only(resourceType string) string {
	f.Helper()
	all := slices.Sorted(maps.Keys(f.List(resourceType)))
	if len(all) != 1 {
		f.Fatalf("%d objects of type %s: %q", len(all), resourceType, all)
	}

	return all[0]
}

// edit changes fields of an object, as people do.
func (f *fixture) edit(path string, fields nsxt.Object) {
	f.Helper()
	o, ok := f.Get(path)
	if !ok {
		f.Fatalf("there is no %s", path)
	}
	maps.Copy(o, fields)
	f.must(f.Put(path, o))
}

// seed makes the objects of the Service default/web as the upstream controller manager does.
func (f *fixture) seed() {
	f.Helper()
	tags := func(more ...any) []any {
		return append([]any{
			map[string]any{"scope": "owner", "tag": "vsphere-cloud-controller-manager"}, map[string]any{"scope": "cluster", "tag": "east"}, map[string]any{"scope": "service", "tag": "default/web"},
		}, more...)
	}
	port := map[string]any{"scope": "port", "tag": "TCP/80"}
	f.must(f.Put("/infra/lb-monitor-profiles/m", nsxt.Object{"resource_type": "LBTcpMonitorProfile", "monitor_port": 30080, "tags": tags(port)}))
	f.must(f.Put("/infra/lb-pools/p", nsxt.Object{
		"active_monitor_paths": []any{"/infra/lb-monitor-profiles/m"}, "snat_translation": map[string]any{"type": "LBSnatAutoMap"},
		"members": []any{map[string]any{"ip_address": "10.0.0.1", "display_name": "east:node-1"}}, "tags": tags(port),
	}))
	f.must(f.Put("/infra/ip-pools/pool/ip-allocations/a", nsxt.Object{"tags": tags()}))
	f.must(f.Put("/infra/lb-virtual-servers/v", nsxt.Object{
		"ip_address": "203.0.113.10", "ports": []any{"80"}, "default_pool_member_ports": []any{"30080"}, "pool_path": "/infra/lb-pools/p", "lb_service_path": unmanaged,
		"application_profile_path": "/infra/lb-app-profiles/default-tcp-lb-app-profile",
		"tags":                     tags(port, map[string]any{"scope": "ippoolid", "tag": "pool"}, map[string]any{"scope": "lbclass", "tag": "default"}),
	}))
	time.Sleep(time.Minute)
}

// node returns a Node with an address of each family.
func node(n int) *v1.Node {
	return kubetest.Node(fmt.Sprintf("node-%d", n), kubetest.Address(v1.NodeInternalIP, fmt.Sprintf("10.0.0.%d", n)), kubetest.Address(v1.NodeInternalIP, fmt.Sprintf("fd00::%d", n)))
}

// service returns a Service with the port 80 and the node port 30080.
func service(name string) *v1.Service {
	svc := kubetest.Service("default", name, kubetest.ServiceUID("uid-"+name))
	svc.Spec.Ports = []v1.ServicePort{{Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}}

	return svc
}

// members returns the addresses of the members of the only pool.
func (f *fixture) members() (all []string) {
	f.Helper()
	for _, m := range f.VirtualServers()[0].Members {
		all = append(all, m.Address)
	}

	return all
}

// text returns a value as JSON.
func text(value any) string {
	content, _ := json.Marshal(value)

	return string(content)
}
