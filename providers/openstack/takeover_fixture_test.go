package openstack

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// provisioned is a cluster whose Services the upstream controller has provisioned.
type provisioned struct {
	*lbSite

	upstreamCase
	services []*v1.Service
}

// provision makes a cloud with the Services of a case. If made, they are as the upstream
// controller leaves them, with their load balancers; if not, they are new.
func provision(t *testing.T, c upstreamCase, made bool) *provisioned {
	t.Helper()
	p := &provisioned{lbSite: newSite(t, c.options, c.config), upstreamCase: c}
	p.services = []*v1.Service{p.service("web", 80, 443)}
	for _, change := range c.change {
		change(p.lbSite, p.services[0])
	}
	if c.shared {
		p.services = append(p.services, p.service("shop", 8080))
	}
	shared := ""
	for _, service := range p.services {
		if made {
			shared = p.add(service, shared)
		}
	}

	return p
}

// service is a Service with what a user, and the service controller, give each.
func (p *provisioned) service(name string, ports ...int32) *v1.Service {
	service := kubetest.Service("default", name)
	service.Spec.Ports = nil
	for _, port := range ports {
		kubetest.Port(v1.ProtocolTCP, port)(service)
	}
	service.Labels = map[string]string{"app": name}
	service.Annotations["example.com/owner"] = "team"
	service.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"}

	return service
}

// specOf is a Service of the cluster for the simulated cloud.
func (p *provisioned) specOf(service *v1.Service, shared string) openstack.ServiceSpec {
	spec := p.spec
	spec.Name, spec.UID, spec.Subnet, spec.Shared = service.Name, string(service.UID), p.subnet, shared
	spec.HealthCheckNodePort, spec.Ranges = int(service.Spec.HealthCheckNodePort), service.Spec.LoadBalancerSourceRanges
	for _, port := range service.Spec.Ports {
		spec.Ports = append(spec.Ports, openstack.ServicePort{Protocol: string(port.Protocol), Port: int(port.Port), NodePort: int(port.NodePort)})
	}
	spec.Nodes = map[string]string{}
	for _, node := range p.nodes {
		spec.Nodes[node.Name] = node.Status.Addresses[0].Address
	}
	if p.legacy {
		spec.LegacyName = cloudprovider.DefaultLoadBalancerName(service)
	}
	if shared == "" && !p.internal && p.floating == "" {
		spec.FloatingNetwork = p.external
	}

	return spec
}

// add adds the load balancer of a Service, or its parts of a shared one, with its
// annotations and its status. It returns the ID of the load balancer.
func (p *provisioned) add(service *v1.Service, shared string) string {
	id := p.AddServiceLoadBalancer(p.specOf(service, shared))
	made := p.LoadBalancer(id)
	if p.floating != "" && shared == "" {
		p.AddFloatingIP(openstack.FloatingIPSpec{Network: p.external, Address: p.floating, Port: made.VIPPort, Description: "of a user"})
	}
	address := made.VIPAddress
	for _, e := range p.Serving() {
		if e.LoadBalancer == made.Name && e.Address != made.VIPAddress {
			address = e.Address
		}
	}
	if !p.found {
		annotated(request.AnnotationLoadBalancerID, id)(service)
		annotated(request.AnnotationLoadBalancerAddress, address)(service)
	}
	service.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: address, IPMode: new(v1.LoadBalancerIPModeVIP)}}

	return id
}

// carryOn runs the provider as the service controller does after a start and after a change of
// Nodes, twice, and returns the Events. The status that it returns must be the one stored.
func (p *provisioned) carryOn(t *testing.T) (*lbProcess, []string) {
	t.Helper()
	run := p.run(t, p.services...)
	events := record.NewFakeRecorder(1000)
	run.balancers.(*loadBalancer).services.SetRecorder(events)
	run.api.ClearActions()
	for range 2 {
		for _, service := range p.services {
			var status *v1.LoadBalancerStatus
			run.until("ensure "+service.Name, func(ctx context.Context) error {
				return persist(ctx, func() (err error) {
					status, err = run.balancers.EnsureLoadBalancer(ctx, p.cluster, run.stored(service.Name), p.nodes) //nolint:contextcheck // the fixture has the context

					return err
				})
			})
			if diff := cmp.Diff(service.Status.LoadBalancer, *status); diff != "" {
				t.Errorf("the status of %s: %s", service.Name, diff)
			}
			run.until("update "+service.Name, func(ctx context.Context) error { return run.update(ctx, service.Name, p.nodes...) })
			status, exists, err := run.balancers.GetLoadBalancer(t.Context(), p.cluster, run.stored(service.Name))
			if err != nil || !exists || !cmp.Equal(service.Status.LoadBalancer, *status) {
				t.Errorf("GetLoadBalancer of %s: %v, %v, %v", service.Name, status, exists, err)
			}
		}
	}
	time.Sleep(time.Minute) // what has changed is ACTIVE

	return run, kubetest.Events(events)
}

// kubernetesWrites returns the writes to the Kubernetes API.
func (p *lbProcess) kubernetesWrites() []string {
	var all []string
	for _, action := range p.api.Actions() {
		if verb := action.GetVerb(); !slices.Contains([]string{"get", "list", "watch"}, verb) {
			all = append(all, verb+" "+action.GetResource().Resource)
		}
	}

	return all
}

// What descriptions of objects have that no client writes: the ID, and operating_status.
var (
	identity  = regexp.MustCompile(` [0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	operating = regexp.MustCompile(` (ACTIVE|ERROR|PENDING_[A-Z]+)/[A-Z_]+ `)
)

// all describes all objects of the cloud with everything that clients write.
func (s *lbSite) all() []string {
	lines := strings.Split(s.Dump(), "\n")
	for i, line := range lines {
		lines[i] = operating.ReplaceAllString(identity.ReplaceAllString(line, ""), " $1 ")
	}
	slices.Sort(lines)

	return lines
}

// withoutOurs removes from descriptions what the upstream controller does not write, and does
// not read: the tag with the UID, the tags of pools and health monitors, and the subnet and the
// health check port of members that are made alone.
func withoutOurs(t *testing.T, lines []string) []string {
	t.Helper()
	all := make([]string, len(lines))
	for i, line := range lines {
		what, settings, found := strings.Cut(line, " {")
		all[i] = line
		if !found {
			continue
		}
		var o struct {
			Name string
			Tags []string
		}
		values := map[string]any{}
		for _, into := range []any{&o, &values} {
			if err := json.Unmarshal([]byte("{"+settings), into); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		if values["tags"] != nil {
			values["tags"] = slices.DeleteFunc(o.Tags, func(tag string) bool { return isOurs(what, o.Name, tag) })
		}
		if strings.HasPrefix(o.Name, "member_") {
			delete(values, "subnet_id")
			delete(values, "monitor_port")
		}
		text, err := json.Marshal(values)
		must(t, err)
		all[i] = what + " " + string(text)
	}
	slices.Sort(all)

	return all
}

// isOurs reports whether the upstream controller does not write a tag to an object.
func isOurs(what, name, tag string) bool {
	if strings.HasPrefix(what, "pool ") || strings.HasPrefix(what, "health monitor ") {
		return strings.HasSuffix(name, "_"+tag)
	}

	return strings.HasPrefix(what, "load balancer ") && strings.HasPrefix(tag, "multicloud-ccm.io/service-uid=")
}

// addReferenceLoadBalancer adds the load balancer of a Service as the upstream controller
// leaves it, with its annotations, and returns its ID.
func (s *lbSite) addReferenceLoadBalancer(spec openstack.ServiceSpec, service *v1.Service, legacy, internal bool) string {
	spec.Name, spec.Subnet = service.Name, s.subnet
	if spec.Ports == nil {
		spec.Ports = []openstack.ServicePort{{Protocol: "TCP", Port: 80, NodePort: 30080}, {Protocol: "TCP", Port: 443, NodePort: 30443}}
	}
	spec.Nodes = map[string]string{}
	for _, node := range s.nodes {
		spec.Nodes[node.Name] = node.Status.Addresses[0].Address
	}
	if legacy {
		spec.LegacyName = cloudprovider.DefaultLoadBalancerName(service)
	}
	if !internal {
		spec.FloatingNetwork = s.external
	}
	id := s.AddServiceLoadBalancer(spec)
	made := s.LoadBalancer(id)
	address := made.VIPAddress
	for _, e := range s.Serving() {
		if e.LoadBalancer == made.Name && e.Address != made.VIPAddress {
			address = e.Address
		}
	}
	annotated(request.AnnotationLoadBalancerID, id)(service)
	annotated(request.AnnotationLoadBalancerAddress, address)(service)

	return id
}
