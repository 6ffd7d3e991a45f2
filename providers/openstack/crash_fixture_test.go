package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// maxAttempts bounds how often an operation is repeated, and maxRetries how often a call
// within it that requests that, which is longer than any load balancer takes.
const maxAttempts, maxRetries = 60, 12

// lbSite is a cloud in which load balancers are made for the Nodes of a cluster: a network
// behind a router with an external one. It is made within a bubble of synctest, since
// load balancers take as long as in a real cloud.
type lbSite struct {
	*openstacktest.Cloud

	config                   string // of [LoadBalancer]
	user                     string // of the cloud-config; default that of the cluster
	inside, subnet, external string
	nodes                    []*v1.Node
	ids                      *strings.Replacer
	// cluster is the name of the cluster.
	cluster string
	// lines are descriptions of resources without what the cloud assigns.
	lines map[string]string
	// refused and late are the faults instead of an internal error, and of a response that
	// is lost; nil for these.
	refused, late simserver.Fault
	// polling is nil unless requests are counted.
	polling *polling
}

// addOthers adds what annotations can name besides the subnet of the Nodes and the external
// network, and stores the IDs of everything for [lbSite.expand]. There are two of what a
// Service can change between.
func (s *lbSite) addOthers() {
	others := s.AddNetwork(openstack.NetworkSpec{Name: "others"})
	ids := []string{"$network", s.inside, "$subnet", s.subnet, "$external", s.external, "$other-network", others}
	other := s.AddSubnet(openstack.SubnetSpec{Network: others, CIDR: "10.8.0.0/16"})
	s.AddRouter(openstack.RouterSpec{Name: "router", External: s.external, Subnets: []string{s.subnet, other}})
	ids = append(ids, "$other-subnet", other)
	for i, name := range []string{"first", "second"} {
		n := strconv.Itoa(i + 1)
		s.AddLBZone(openstack.LBZone{Name: name})
		// Only an administrator can request a floating IP by its address.
		s.AddFloatingIP(openstack.FloatingIPSpec{Network: s.external, Address: "203.0.113.7" + n, Description: name})
		ids = append(ids, "$zone"+n, name,
			"$port"+n, s.AddPort(openstack.PortSpec{Network: s.inside, Name: name, IPs: []string{"10.9.240." + n}}),
			"$outside"+n, s.AddSubnet(openstack.SubnetSpec{Network: s.external, Name: name, CIDR: "198.18." + n + ".0/24", Tags: []string{name}}),
			"$flavor"+n, s.AddLBFlavor(openstack.LBFlavor{Name: name}),
			"$secret"+n, s.AddSecret(openstack.SecretSpec{Name: name}))
	}
	s.ids = strings.NewReplacer(ids...)
}

// expand replaces names such as $subnet by the IDs that they have in the cloud.
func (s *lbSite) expand(text string) string { return s.ids.Replace(text) }

// newSite starts a cloud with three Nodes and typical delays.
func newSite(t testing.TB, options openstack.Options, config string) *lbSite {
	t.Helper()
	options.InMemory = true
	if options.Delays == nil {
		options.Delays = new(openstack.TypicalDelays())
	}
	s := &lbSite{Cloud: openstacktest.Start(t, options), config: config, cluster: clusterName, lines: map[string]string{}}
	s.inside = s.AddNetwork(openstack.NetworkSpec{Name: network})
	s.subnet = s.AddSubnet(openstack.SubnetSpec{Network: s.inside, CIDR: "10.9.0.0/16"})
	s.external = s.AddNetwork(openstack.NetworkSpec{Name: "public", External: true, Shared: true, Project: openstack.ProjectOther})
	s.AddSubnet(openstack.SubnetSpec{Network: s.external, CIDR: "203.0.113.0/24"})
	s.addOthers()
	for i := range 3 {
		s.addNode(i)
	}

	return s
}

// addNode adds the server of a Node, and the Node.
func (s *lbSite) addNode(i int) *v1.Node {
	name, ip := fmt.Sprintf("node-%d", i+1), fmt.Sprintf("10.9.250.%d", i+1)
	id := s.AddServer(openstack.ServerSpec{Name: name, Networks: []openstack.ServerNetwork{{Name: network, IPs: []string{ip}}}})
	node := kubetest.Node(name, kubetest.ProviderID("openstack:///"+id), old)
	node.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: ip}}
	s.nodes = append(s.nodes, node)

	return node
}

// lbProcess is a running provider with the Kubernetes API that it writes to.
type lbProcess struct {
	*lbSite

	t         testing.TB
	api       *kubetest.Clientset
	cloud     *cloud
	balancers cloudprovider.LoadBalancer
	// status is the last one that was returned.
	status atomic.Pointer[v1.LoadBalancerStatus]
}

// run starts the provider of a cluster with these Services.
func (s *lbSite) run(t testing.TB, services ...*v1.Service) *lbProcess {
	t.Helper()
	objects := make([]runtime.Object, 0, len(s.nodes)+len(services))
	for _, node := range s.nodes {
		objects = append(objects, node.DeepCopy())
	}
	for _, service := range services {
		objects = append(objects, service.DeepCopy())
	}

	return s.runWith(t, kubetest.NewClientset(objects...))
}

// runWith starts the provider of a cluster with a Kubernetes API.
func (s *lbSite) runWith(t testing.TB, api *kubetest.Clientset) *lbProcess {
	t.Helper()
	times := hasty()
	times.client.Dial = s.ClientOptions().Dial
	c := connectTo(t, api, noEnvironment(), s.CloudConfig(cmp.Or(s.user, openstack.UserCCM), "[LoadBalancer]\n"+s.expand(s.config)), times)
	balancers, ok := c.LoadBalancer()
	if !ok {
		t.Fatal("load balancers are not offered")
	}

	return &lbProcess{lbSite: s, t: t, api: api, cloud: c, balancers: balancers}
}

// stored returns a Service as the Kubernetes API has it.
func (p *lbProcess) stored(name string) *v1.Service {
	p.t.Helper()
	service, err := p.api.CoreV1().Services(metav1.NamespaceDefault).Get(p.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		p.t.Fatal(err)
	}

	return service
}

// persist repeats a call as long as it requests that, as the service controller does.
func persist(ctx context.Context, call func() error) error {
	var err error
	for range maxRetries {
		err = call()
		retry, ok := errors.AsType[*api.RetryError](err)
		if !ok {
			return err
		}
		select {
		case <-time.After(retry.RetryAfter()):
		case <-ctx.Done():
			return ctx.Err()
		}
	}

	return fmt.Errorf("it was repeated too often: %w", err)
}

// ensure has the provider ensure the load balancer of a Service.
func (p *lbProcess) ensure(ctx context.Context, name string, nodes ...*v1.Node) error {
	return persist(ctx, func() error { return p.ensureOnce(ctx, name, nodes...) })
}

func (p *lbProcess) ensureOnce(ctx context.Context, name string, nodes ...*v1.Node) error {
	status, err := p.balancers.EnsureLoadBalancer(ctx, p.cluster, p.stored(name), nodes) //nolint:contextcheck // the fixture has the context
	if status != nil {
		p.status.Store(status)
	}

	return err
}

// update has the provider update the Nodes of a load balancer.
func (p *lbProcess) update(ctx context.Context, name string, nodes ...*v1.Node) error {
	return persist(ctx, func() error {
		return p.balancers.UpdateLoadBalancer(ctx, p.cluster, p.stored(name), nodes) //nolint:contextcheck // the fixture has the context
	})
}

// remove has the provider delete the load balancer of a Service.
func (p *lbProcess) remove(ctx context.Context, name string) error {
	return persist(ctx, func() error {
		return p.balancers.EnsureLoadBalancerDeleted(ctx, p.cluster, p.stored(name)) //nolint:contextcheck // the fixture has the context
	})
}

// until repeats an operation until it succeeds, and fails the test if it does not.
func (p *lbProcess) until(what string, operate func(ctx context.Context) error) {
	p.t.Helper()
	var err error
	for range maxAttempts {
		if err = operate(p.t.Context()); err == nil {
			return
		}
		time.Sleep(5 * time.Second)
	}
	p.t.Fatalf("%s: %v\n%s", what, err, p.Dump())
}

// Resources implements explore.Cloud.
func (s *lbSite) Resources() []string {
	all := s.Cloud.Resources()
	for i, line := range all {
		plain, ok := s.lines[line]
		if !ok {
			plain = unassigned([]string{line})[0]
			s.lines[line] = plain
		}
		all[i] = plain
	}
	slices.Sort(all)

	return all
}

// InjectFault implements explore.Cloud.
func (s *lbSite) InjectFault(_ testing.TB, i explore.Injection) (hits func() int) {
	fault := openstacktest.FaultOf(i)
	switch {
	case i.Fault == explore.Failed && s.refused != nil:
		fault = s.refused
	case i.Fault == explore.Lost && s.late != nil:
		fault = s.late
	}

	return s.InjectInstead(i, fault)
}

// refusals are faults of OpenStack that no other cloud has, by name. Those about an object
// name one that exists.
func (s *lbSite) refusals() map[string]simserver.Fault {
	pending := func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		all := s.LoadBalancers()
		if r.Method == http.MethodGet || len(all) == 0 {
			apply.ServeHTTP(w, r)

			return
		}
		openstack.Error(http.StatusConflict, "", "Load Balancer "+all[len(all)-1].ID+" is immutable and cannot be updated.")(w, r, apply)
	}
	// A write of a pool or of its parts finds it in ERROR. It is that until a process mends or
	// replaces it.
	failed := func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		id := s.poolOf(r.URL.Path)
		if r.Method == http.MethodGet || id == "" {
			apply.ServeHTTP(w, r)

			return
		}
		s.FailPool(id, false)
		openstack.Error(http.StatusConflict, "", "Pool "+id+" is immutable and cannot be updated.")(w, r, apply)
	}

	return map[string]simserver.Fault{
		"not implemented": openstack.Error(http.StatusNotImplemented, "", "Provider 'amphora' does not support a requested option."),
		"pending":         pending,
		"pool in ERROR":   failed,
		"quota":           openstack.Error(http.StatusForbidden, "", "Quota has been met for resources: Pool"),
	}
}

// poolOf returns the ID of the pool that a path is about, empty if there is none.
func (s *lbSite) poolOf(path string) string {
	for _, lb := range s.LoadBalancers() {
		for _, id := range lb.Pools {
			if strings.Contains(path, "/pools/"+id) {
				return id
			}
		}
	}

	return ""
}

// edit is a change of a Service in a cloud.
type edit func(*lbSite, *v1.Service)

// edits returns changes that do not depend on the cloud.
func edits[T ~func(*v1.Service)](all ...T) []edit {
	list := make([]edit, len(all))
	for i, change := range all {
		list[i] = func(_ *lbSite, service *v1.Service) { change(service) }
	}

	return list
}

// annotated returns a change of a Service.
func annotated(name annotation.Name, value string) func(*v1.Service) {
	return func(s *v1.Service) { s.Annotations[string(name)] = value }
}
