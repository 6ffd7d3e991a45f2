package openstack

import (
	"cmp"
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
	first, change []edit
	// create means that there is no load balancer before, remove that it is deleted, shared
	// that it is that of another Service.
	create, remove, shared bool
	// upstream means that the upstream controller has made the load balancer and published its
	// VIP, and unchanged that this stays.
	upstream, unchanged bool
	// nodes are how many Nodes there are in the operation, 2 by default as before; update
	// is UpdateLoadBalancer.
	nodes  int
	update bool
	// target is the Service that the operation is about, web by default, and cluster the name
	// that the cluster has by then, empty if it stays.
	target, cluster string
	// logins means that faults of logins are injected, too.
	logins bool
	// gap means that Octavia allows no change without one, and withdrawn that the floating IP is
	// not wanted any more.
	gap, withdrawn bool
	// after is what the cloud-config is changed to, empty if it stays.
	after string
	// ungroups means that the cloud-config ends or begins managed security groups.
	ungroups bool
	// guarded means that the security groups of the Nodes count.
	guarded bool
	// sparse is how many kinds of faults share a call, 0 if each call gets all of them.
	sparse int
}

// service returns the Service before the change.
func (s scenario) service(site *lbSite) *v1.Service {
	service := kubetest.Service("default", "web", kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443))
	for _, change := range s.first {
		change(site, service)
	}

	return service
}

func (s scenario) name() string { return cmp.Or(s.target, "web") }

// edit makes the change of the user.
func (s scenario) edit(p *lbProcess) {
	p.t.Helper()
	for _, change := range s.change {
		p.edit(s.name(), func(service *v1.Service) { change(p.lbSite, service) })
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
		return p.remove(ctx, s.name())
	case s.update:
		return p.update(ctx, s.name(), nodes...)
	default:
		return p.ensure(ctx, s.name(), nodes...)
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
		"create internal":      {create: true, first: edits(annotated(request.AnnotationInternal, "true"))},
		"join":                 {create: true, shared: true},
		"delete":               {remove: true, config: monitors},
		"delete with a group":  {remove: true, config: managed},
		"delete part by part":  {remove: true, config: "cascade-delete = false\n" + monitors},
		"delete and keep":      {remove: true, first: edits(annotated(request.AnnotationKeepFloatingIP, "true"))},
		"leave":                {remove: true, shared: true, config: monitors},
		"node joins":           {update: true, nodes: 3},
		"node joins, a group":  {update: true, nodes: 3, config: managed},
		"node joins, serially": {update: true, nodes: 3, config: serial},
		"node leaves":          {update: true, nodes: 1},
		"node leaves, a group": {update: true, nodes: 1, config: managed},
		"owner leaves":         {remove: true, shared: true, target: "shop", config: monitors},
		"owner renamed":        {shared: true, target: "shop", cluster: "other"},
		"renamed":              {cluster: "other", config: monitors},
		"sharer gets a port":   {shared: true, change: edits(kubetest.Port(v1.ProtocolTCP, 8443)), config: managed},
		"owner gets a port":    {shared: true, target: "shop", change: edits(kubetest.Port(v1.ProtocolTCP, 8443))},
		"owner loses a port":   {shared: true, target: "shop", first: nil, change: edits(func(s *v1.Service) { s.Spec.Ports[0].Port = 8081 })},
		"port added":           {change: edits(kubetest.Port(v1.ProtocolTCP, 8443)), config: monitors},
		"port removed":         {change: edits(func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1] }), config: monitors},
		"port becomes UDP":     {change: edits(func(s *v1.Service) { s.Spec.Ports[1].Protocol = v1.ProtocolUDP })},
		"local traffic":        {change: edits(kubetest.LocalTraffic(30999)), config: monitors},
		"affinity":             {change: edits(func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP })},
		"upstream, port":       {upstream: true, unchanged: true, change: edits(kubetest.Port(v1.ProtocolTCP, 8443))},
		"upstream, renamed":    {upstream: true, unchanged: true, cluster: "other"},
		"upstream, external":   {upstream: true, first: edits(annotated(request.AnnotationInternal, "true")), change: edits(unannotateInternal)},
		"upstream, named":      {upstream: true, change: []edit{func(site *lbSite, s *v1.Service) { annotated(request.AnnotationFloatingNetworkID, site.external)(s) }}},
		"ranges":               {change: edits(func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"0.0.0.0/1", "128.0.0.0/1"} })},
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
		s := scenario{change: edits(annotated(name, values[1])), gap: name == request.AnnotationXForwardedFor, config: monitors}
		if name == request.AnnotationEnableHealthMonitor {
			s.config = ""
		}
		all["set "+string(name)] = s
		s.first, s.change = s.change, edits(func(s *v1.Service) { delete(s.Annotations, string(name)) })
		all["remove "+string(name)] = s
	}

	return all
}

// unannotateInternal makes a Service external.
func unannotateInternal(s *v1.Service) { delete(s.Annotations, string(request.AnnotationInternal)) }
