package openstack

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// scenario is an operation on the load balancer of the Service web.
type scenario struct {
	options openstack.Options
	config  string
	// first is what the Service has from the start, change what the user changes then.
	first, change []func(*v1.Service)
	// create means that there is no load balancer before, remove that it is deleted, shared
	// that it is that of another Service, and joins that it is so after the change.
	create, remove, shared, joins bool
	// nodes are how many Nodes there are in the operation, 2 by default as before; update
	// is UpdateLoadBalancer.
	nodes  int
	update bool
	// logins means that faults of logins are injected, too.
	logins bool
	// gap means that Octavia allows no change without one, or that the address changes.
	gap bool
}

// service returns the Service before the change.
func (s scenario) service() *v1.Service {
	service := kubetest.Service("default", "web", kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443))
	for _, change := range s.first {
		change(service)
	}

	return service
}

// edit makes the change of the user.
func (s scenario) edit(p *lbProcess) {
	p.t.Helper()
	for _, change := range s.change {
		p.edit("web", change)
	}
	if s.joins {
		p.share("web", "shop")
	}
}

// edit changes a stored Service.
func (p *lbProcess) edit(name string, change func(*v1.Service)) {
	p.t.Helper()
	service := p.stored(name)
	change(service)
	if _, err := p.api.CoreV1().Services(service.Namespace).Update(p.t.Context(), service, metav1.UpdateOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

// operate makes the call of the service controller.
func (s scenario) operate(ctx context.Context, p *lbProcess) error {
	nodes := p.nodes[:2]
	if s.nodes > 0 {
		nodes = p.nodes[:s.nodes]
	}
	switch {
	case s.remove:
		return p.remove(ctx, "web")
	case s.update:
		return p.update(ctx, "web", nodes...)
	default:
		return p.ensure(ctx, "web", nodes...)
	}
}

// crashScenarios are all kinds of operations.
func crashScenarios() map[string]scenario {
	const managed, monitors, serial = "manage-security-groups = true\n", "create-monitor = true\n", "provider-requires-serial-api-calls = true\n"
	all := map[string]scenario{
		"create":               {create: true, logins: true},
		"create with monitors": {create: true, config: monitors},
		"create with a group":  {create: true, config: managed},
		"create serially":      {create: true, config: serial + monitors},
		"create internal":      {create: true, first: changes(annotated(request.AnnotationInternal, "true"))},
		"join":                 {create: true, shared: true},
		"delete":               {remove: true, config: monitors},
		"delete with a group":  {remove: true, config: managed},
		"delete part by part":  {remove: true, config: "cascade-delete = false\n" + monitors},
		"delete and keep":      {remove: true, first: changes(annotated(request.AnnotationKeepFloatingIP, "true"))},
		"leave":                {remove: true, shared: true, config: monitors},
		"own instead":          {shared: true, gap: true, change: changes(unannotate)},
		"shared instead":       {joins: true, gap: true, config: monitors},
		"node joins":           {update: true, nodes: 3},
		"node joins, a group":  {update: true, nodes: 3, config: managed},
		"node joins, serially": {update: true, nodes: 3, config: serial},
		"node leaves":          {update: true, nodes: 1},
		"node leaves, a group": {update: true, nodes: 1, config: managed},
		"port added":           {change: changes(kubetest.Port(v1.ProtocolTCP, 8443)), config: monitors},
		"port removed":         {change: changes(func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1] }), config: monitors},
		"port becomes UDP":     {change: changes(func(s *v1.Service) { s.Spec.Ports[1].Protocol = v1.ProtocolUDP })},
		"local traffic":        {change: changes(kubetest.LocalTraffic(30999)), config: monitors},
		"affinity":             {change: changes(func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP })},
		"ranges":               {change: changes(func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"0.0.0.0/1", "128.0.0.0/1"} })},
	}
	for name, values := range map[annotation.Name][2]string{
		request.AnnotationConnectionLimit:             {"", "100"},
		request.AnnotationTimeoutClientData:           {"", "1000"},
		request.AnnotationLBMethod:                    {"", "LEAST_CONNECTIONS"},
		request.AnnotationProxyProtocol:               {"", "v2"},
		request.AnnotationEnableHealthMonitor:         {"", "true"},
		request.AnnotationHealthMonitorDelay:          {"", "30"},
		request.AnnotationXForwardedFor:               {"", "true"},
		request.AnnotationNodeSelector:                {"", "kubernetes.io/hostname=node-1"},
		request.AnnotationKeepFloatingIP:              {"", "true"},
		request.AnnotationHealthMonitorMaxRetriesDown: {"5", "7"},
	} {
		s := scenario{change: changes(annotated(name, values[1])), gap: name == request.AnnotationXForwardedFor, config: monitors}
		if name == request.AnnotationEnableHealthMonitor {
			s.config = ""
		}
		all["set "+string(name)] = s
		s.first, s.change = s.change, changes(func(s *v1.Service) { delete(s.Annotations, string(name)) })
		all["remove "+string(name)] = s
	}

	return all
}

// changes are changes of a Service.
func changes[T ~func(*v1.Service)](all ...T) []func(*v1.Service) {
	list := make([]func(*v1.Service), len(all))
	for i, change := range all {
		list[i] = change
	}

	return list
}
