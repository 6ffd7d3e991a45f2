package openstack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/schedules"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// The Services of a schedule. The first three have load balancers from the start: one stays
// as it is, one is changed, one is deleted. One is made. The last one is made and deleted,
// and never has a load balancer: one with its name is another cluster's.
const kept, changed, ended, fresh, refused = "kept", "changed", "ended", "fresh", "refused"

// prepare makes the load balancers that there are from the start.
func (c *scheduledCloud) prepare(t *testing.T) {
	t.Helper()
	var services []*v1.Service
	for _, name := range []string{kept, changed, ended} {
		services = append(services, kubetest.Service("default", name))
	}
	p := c.run(t, services...)
	for _, service := range services {
		p.until(service.Name, func(ctx context.Context) error { return p.ensure(ctx, service.Name, c.nodes[:3]...) })
		stored := p.stored(service.Name)
		address := stored.Annotations[string(request.AnnotationLoadBalancerAddress)]
		stored.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: address}}
		c.services = append(c.services, stored)
		if service.Name != ended {
			vip := c.LoadBalancer(stored.Annotations[string(request.AnnotationLoadBalancerID)]).VIPAddress
			for _, at := range []string{address, vip} {
				c.Watch(openstack.Watch{
					Address: at, Protocol: "TCP", Port: 80, Member: "10.9.250.1:30080", Client: allowedClient, Guarded: strings.Contains(c.config, "manage-security-groups = true"),
				})
			}
		}
	}
	time.Sleep(lastChange)
}

// addForeign adds load balancers of others with the names of Services: of a cluster with the
// same name in the same project, in another project, and in another region.
func (c *scheduledCloud) addForeign() {
	add := func(subnet, region, project string, names ...string) {
		for _, name := range names {
			full := "kube_service_kubernetes_default_" + name
			id := c.AddLoadBalancer(openstack.LoadBalancerSpec{
				Name: full, Subnet: subnet, Region: region, Project: project, Tags: []string{full, "multicloud-ccm.io/service-uid=" + webUID},
				Listeners: []openstack.ListenerSpec{{
					Name: "listener_0_" + full, Protocol: "TCP", Port: 80, Tags: []string{full},
					Pool: &openstack.LBPoolSpec{Name: "pool_0_" + full, Monitor: "TCP", Members: []openstack.LBMemberSpec{{Name: "node-1", Address: "10.9.250.1", Port: 30080}}},
				}},
			})
			if region == "" && project == "" {
				c.AddFloatingIP(openstack.FloatingIPSpec{
					Network: c.external, Port: c.LoadBalancer(id).VIPPort,
					Description: "Floating IP for Kubernetes external service default/" + name + " from cluster kubernetes",
				})
			}
		}
	}
	add(c.subnet, "", "", kept, ended, refused)
	others := c.AddNetwork(openstack.NetworkSpec{Name: network, Project: openstack.ProjectOther})
	add(c.AddSubnet(openstack.SubnetSpec{Network: others, CIDR: "10.9.0.0/16"}), "", openstack.ProjectOther, kept, fresh)
	region := c.Regions()[1]
	elsewhere := c.AddNetwork(openstack.NetworkSpec{Name: network, Region: region})
	add(c.AddSubnet(openstack.SubnetSpec{Network: elsewhere, CIDR: "10.9.0.0/16"}), region, "", kept, ended)
}

// events returns what users do, by the pass in which they do it.
func (s *schedule) events() [faultyPasses][]func() {
	var events [faultyPasses][]func()
	at := func(event func()) {
		pass := s.rnd.IntN(faultyPasses)
		events[pass] = append(events[pass], event)
	}
	services := s.api.CoreV1().Services(metav1.NamespaceDefault)
	at(func() {
		service := s.stored(changed)
		kubetest.Port(v1.ProtocolTCP, 8080)(service)
		_, err := services.Update(s.t.Context(), service, metav1.UpdateOptions{})
		s.must(err)
		s.process.queue.Add(changed)
	})
	at(func() { s.remove(ended) })
	for _, name := range []string{fresh, refused} {
		at(func() {
			_, err := services.Create(s.t.Context(), kubetest.Service("default", name), metav1.CreateOptions{})
			s.must(err)
			s.process.queue.Add(name)
		})
	}
	at(func() {
		s.mu.Lock()
		s.members = len(s.nodes)
		s.mu.Unlock()
		s.process.queue.Add(nodesChanged)
	})

	return events
}

func (s *schedule) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("seed %d: %v", s.seed, err)
	}
}

// stored returns a Service as the Kubernetes API has it, nil if there is none.
func (s *schedule) stored(name string) *v1.Service {
	s.t.Helper()
	service, err := s.api.CoreV1().Services(metav1.NamespaceDefault).Get(s.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	s.must(err)

	return service
}

// remove begins the deletion of a Service: it has a finalizer.
func (s *schedule) remove(name string) {
	service := s.stored(name)
	service.DeletionTimestamp = new(metav1.Now())
	_, err := s.api.CoreV1().Services(metav1.NamespaceDefault).Update(s.t.Context(), service, metav1.UpdateOptions{})
	s.must(err)
	s.process.queue.Add(name)
}

// nodesChanged is the item of the queue for a changed set of Nodes.
const nodesChanged = "nodes"

// scheduledProcess is a running provider with a service controller.
type scheduledProcess struct {
	*schedule

	cloud *cloud
	stop  func()
	queue workqueue.TypedRateLimitingInterface[string]
	work  sync.WaitGroup

	mu sync.Mutex
	// unsynced are the Services that were not synced since the last call of resync, of which
	// round is the number.
	unsynced map[string]bool
	round    int
}

// begin starts the provider with the cloud-config as it is.
func (s *schedule) begin() *scheduledProcess {
	p := &scheduledProcess{schedule: s, unsynced: map[string]bool{}}
	p.queue = workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Second, 5*time.Minute))
	text := s.CloudConfig(s.user, fmt.Sprintf("region = %q\n[LoadBalancer]\n%s", s.region, s.config))
	if s.unlimited {
		text += "[NodeDeletion]\nlimit = 0\n"
	}
	times := tuning{}
	times.client.Dial = s.ClientOptions().Dial
	p.cloud, _, p.stop = startProvider(s.t, s.api, noEnvironment(), text, times)
	if s.trusting() {
		p.cloud.instances = instance.New(schedules.Trusting{Source: p.cloud.source}, instance.Options{Provider: ProviderName, DeletionLimit: new(int32)})
	}
	for range 2 {
		p.work.Go(p.controller)
	}
	for _, name := range p.names() {
		p.queue.Add(name)
	}

	return p
}

// end ends the provider.
func (p *scheduledProcess) end() {
	p.queue.ShutDown()
	p.work.Wait()
	p.stop()
}

// names returns those of all Services.
func (s *schedule) names() []string {
	list, err := s.api.CoreV1().Services(metav1.NamespaceDefault).List(s.t.Context(), metav1.ListOptions{})
	s.must(err)
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}

	return names
}

// controller syncs Services as the service controller does.
func (p *scheduledProcess) controller() {
	for {
		name, ended := p.queue.Get()
		if ended {
			return
		}
		p.mu.Lock()
		round := p.round
		p.mu.Unlock()
		err := p.syncService(name)
		if retry, ok := errors.AsType[*api.RetryError](err); ok {
			p.queue.Forget(name)
			p.queue.AddAfter(name, retry.RetryAfter())
		} else if err != nil {
			p.queue.AddRateLimited(name)
		} else {
			p.queue.Forget(name)
			p.mu.Lock()
			if p.round == round {
				delete(p.unsynced, name)
			}
			p.mu.Unlock()
		}
		p.queue.Done(name)
	}
}

// syncService makes the calls of the service controller for an item of its queue.
func (p *scheduledProcess) syncService(name string) error {
	ctx, balancers := p.t.Context(), p.cloud.loadBalancer
	p.schedule.mu.Lock()
	nodes := p.nodes[:p.members]
	p.schedule.mu.Unlock()
	if name == nodesChanged {
		for _, name := range p.names() {
			service := p.stored(name)
			if service != nil && service.DeletionTimestamp == nil && balancers.UpdateLoadBalancer(ctx, clusterName, service, nodes) != nil {
				p.queue.Add(name)
			}
		}

		return nil
	}
	services, service := p.api.CoreV1().Services(metav1.NamespaceDefault), p.stored(name)
	if service == nil {
		return nil
	}
	if service.DeletionTimestamp != nil {
		_, exists, err := balancers.GetLoadBalancer(ctx, clusterName, service)
		if err == nil && exists {
			err = balancers.EnsureLoadBalancerDeleted(ctx, clusterName, service)
		}
		if err == nil {
			err = services.Delete(ctx, name, metav1.DeleteOptions{})
		}

		return err
	}
	status, err := balancers.EnsureLoadBalancer(ctx, clusterName, service, nodes)
	if err != nil {
		return err
	}
	service = p.stored(name)
	service.Status.LoadBalancer = *status
	_, err = services.UpdateStatus(ctx, service, metav1.UpdateOptions{})

	return err
}

// resync has all Services synced again. The one that cannot have a load balancer is deleted.
func (p *scheduledProcess) resync() {
	if service := p.stored(refused); service != nil && service.DeletionTimestamp == nil {
		p.remove(refused)
	}
	names := p.names()
	p.mu.Lock()
	p.round++
	for _, name := range names {
		p.unsynced[name] = true
	}
	p.mu.Unlock()
	for _, name := range names {
		p.queue.Add(name)
	}
}

// converge waits until all Services are synced. Then another sync writes nothing.
func (p *scheduledProcess) converge() {
	wait := func() {
		for until := time.Now().Add(convergence); time.Now().Before(until); time.Sleep(time.Second) {
			p.mu.Lock()
			n := len(p.unsynced)
			p.mu.Unlock()
			if n == 0 {
				return
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errorf("not synced after %s: %v", convergence, p.unsynced)
	}
	wait()
	p.resync() // the annotations were written
	wait()
	time.Sleep(lastChange)
}

// left returns what there is.
func (s *schedule) left() []string { return unassigned(s.Resources()) }

// checkWrites fails the test if a request that may change something names an object of
// others.
func (s *schedule) checkWrites() {
	for op, n := range s.Writes() {
		all := s.Requests(op)
		for _, r := range all[len(all)-n:] {
			for _, id := range objectID.FindAllString(r.Path+" "+string(r.Body), -1) {
				if s.foreign.Has(id) {
					s.errorf("%s %s %s is about %s, which belongs to others", r.Method, r.Path, r.Body, id)
				}
			}
		}
	}
}
