package aws

import (
	"context"
	"maps"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// operation is a call of the service controller.
type operation func(ctx context.Context, lb *loadBalancer, svc *v1.Service, nodes []*v1.Node) error

func ensureOperation(ctx context.Context, lb *loadBalancer, svc *v1.Service, nodes []*v1.Node) error {
	_, err := lb.EnsureLoadBalancer(ctx, flagged, svc, nodes)

	return err
}

func updateOperation(ctx context.Context, lb *loadBalancer, svc *v1.Service, nodes []*v1.Node) error {
	return lb.UpdateLoadBalancer(ctx, flagged, svc, nodes)
}

func deleteOperation(ctx context.Context, lb *loadBalancer, svc *v1.Service, _ []*v1.Node) error {
	return lb.EnsureLoadBalancerDeleted(ctx, flagged, svc)
}

// scenario is an operation that may be interrupted.
type scenario struct {
	settings settings
	// before is the Service that has a load balancer, nil if there is none yet.
	// Beforehand are the nodes behind it then.
	before     *v1.Service
	beforehand []int
	do         operation
	service    *v1.Service
	behind     []int
	// last: the Service had its load balancer before the other ones had theirs,
	// which therefore depend on its rules. With alone these do not exist.
	last, alone bool
	// same: the process has brought the load balancer of before up to date itself.
	// It continues after faults that do not end it.
	same bool
	// arrange changes the region once the load balancer of before is there.
	arrange func(*environment)
	// wantErr is the error of the operation without faults, and reject has the
	// region reject it, or no longer.
	wantErr error
	reject  func(s *environment, on bool)
}

// mode is one way to have security groups.
type mode struct {
	settings settings
	options  []kubetest.ServiceOption
	// switches are ways to change the groups. The first one is also made together
	// with all other changes.
	switches []groupSwitch
}

type groupSwitch struct {
	to     string
	option kubetest.ServiceOption
}

func switchTo(name string, groups string) groupSwitch {
	return groupSwitch{name, annotate(request.AnnotationSecurityGroups, groups)}
}

func switchExtra(name string, groups string) groupSwitch {
	return groupSwitch{name, annotate(request.AnnotationExtraSecurityGroups, groups)}
}

var (
	brought = []kubetest.ServiceOption{annotate(request.AnnotationSecurityGroups, broughtGroup)}
	extra   = []kubetest.ServiceOption{annotate(request.AnnotationExtraSecurityGroups, broughtGroup)}
)

// The modes of each kind: AWS-SG-1 for classic, AWS-SG-2 for network load
// balancers.
var (
	classicModes = map[string]mode{
		"created":    {switches: []groupSwitch{switchTo("brought", broughtGroup), switchExtra("extra", otherGroup)}},
		"configured": {settings: settings{classicGroup: overrideGroup}, switches: []groupSwitch{switchTo("brought", otherGroup)}},
		"annotated": {options: brought, switches: []groupSwitch{
			switchTo("created", ""), switchTo("other", otherGroup), switchTo("both", otherGroup+","+broughtGroup),
		}},
		"extra":      {options: extra, switches: []groupSwitch{switchExtra("none", "")}},
		"left alone": {settings: settings{leave: true}, switches: []groupSwitch{switchTo("brought", otherGroup)}},
	}
	networkModes = map[string]mode{
		"bare":    {},
		"managed": {settings: settings{managed: true}, switches: []groupSwitch{switchTo("brought", broughtGroup)}},
		"brought": {settings: settings{managed: true}, options: brought, switches: []groupSwitch{
			switchTo("managed", ""), switchTo("other", otherGroup),
		}},
		"left alone": {settings: settings{managed: true, leave: true}, switches: []groupSwitch{switchTo("brought", otherGroup)}},
	}
)

const serverCertificate = "arn:aws:acm:us-west-2:123456789012:certificate/0a1b2c3d-0000-1111-2222-333344445555"

// portsOf replaces the ports: one gets another node port, one is removed, one
// added.
func portsOf(svc *v1.Service) {
	svc.Spec.Ports = nil
	kubetest.Port(v1.ProtocolTCP, 80)(svc)
	svc.Spec.Ports[0].NodePort = 31080
	kubetest.Port(v1.ProtocolTCP, 8443)(svc)
}

// tls has the last port use TLS.
func tls(svc *v1.Service) {
	annotate(request.AnnotationSSLCert, serverCertificate)(svc)
	annotate(request.AnnotationSSLPolicy, "ELBSecurityPolicy-TLS-1-2-2017-01")(svc)
	annotate(request.AnnotationSSLPorts, svc.Spec.Ports[1].Name)(svc)
}

// probe changes the health check, so that a target group has to be replaced.
func probe(svc *v1.Service) {
	annotate(request.AnnotationHealthCheckProtocol, "HTTP")(svc)
	annotate(request.AnnotationHealthCheckPath, "/ready")(svc)
	annotate(request.AnnotationHealthCheckPort, "10257")(svc)
	annotate(request.AnnotationHealthCheckInterval, "15")(svc)
}

func toUDP(svc *v1.Service) {
	for i := range svc.Spec.Ports {
		svc.Spec.Ports[i].Protocol = v1.ProtocolUDP
	}
}

// together are several changes at once, with some that no other scenario has.
func together(kind request.Kind, changes ...kubetest.ServiceOption) kubetest.ServiceOption {
	return func(svc *v1.Service) {
		for _, change := range changes {
			change(svc)
		}
		annotate(request.AnnotationAdditionalTags, "team=a")(svc)
		annotate(request.AnnotationCrossZone, "true")(svc)
		from("192.0.2.0/24", "198.51.100.0/24")(svc)
		if kind == request.Network {
			annotate(request.AnnotationTargetGroupAttributes, "preserve_client_ip.enabled=false,proxy_protocol_v2.enabled=true")(svc)
		} else {
			annotate(request.AnnotationProxyProtocol, "*")(svc)
			annotate(request.AnnotationIdleTimeout, "120")(svc)
		}
	}
}

// single are the changes of one setting.
func single(kind request.Kind) map[string]kubetest.ServiceOption {
	changes := map[string]kubetest.ServiceOption{"ports": portsOf, "TLS": tls, "health check": probe}
	if kind == request.Network {
		changes["protocol"] = toUDP
	} else {
		changes["subnets"] = subnetsMove
	}

	return changes
}

// subnetsMove moves within a zone.
func subnetsMove(svc *v1.Service) {
	annotate(request.AnnotationSubnets, "public-us-west-2b,private-us-west-2a")(svc)
}

// scenarios are all of them by name.
func scenarios() map[string]scenario {
	all := map[string]scenario{}
	for kind, modes := range map[request.Kind]map[string]mode{request.Classic: classicModes, request.Network: networkModes} {
		for name, m := range modes {
			for what, s := range inMode(kind, m, name == "created" || name == "managed") {
				all[string(kind)+" "+name+": "+what] = s
			}
		}
	}
	maps.Copy(all, sharedRules())
	maps.Copy(all, moreScenarios())

	return all
}

// inMode are the scenarios of a mode. Changes of a single setting other than the
// groups are all in one mode of each kind; the others have them together.
func inMode(kind request.Kind, m mode, singly bool) map[string]scenario {
	options := m.options
	if kind == request.Network {
		options = append([]kubetest.ServiceOption{nlb(), annotate(request.AnnotationHealthCheckPort, "10256")}, options...)
	}
	with := func(more ...kubetest.ServiceOption) *v1.Service {
		svc := web(options...)
		for _, option := range more {
			option(svc)
		}

		return svc
	}
	few, all := []int{0, 2}, []int{0, 1, 2}
	changed := func(change kubetest.ServiceOption) scenario {
		return scenario{settings: m.settings, before: with(), beforehand: all, do: ensureOperation, service: with(change), behind: all}
	}
	found := map[string]scenario{
		"create": {settings: m.settings, do: ensureOperation, service: with(), behind: all},
		"update": {settings: m.settings, before: with(), beforehand: few, do: updateOperation, service: with(), behind: []int{1, 3}},
		"delete": {settings: m.settings, before: with(), beforehand: all, do: deleteOperation, service: with()},
	}
	everything := slicesOf(single(kind), "ports", "subnets", "TLS", "health check")
	for n, change := range m.switches {
		found["groups to "+change.to] = changed(change.option)
		if n == 0 {
			everything = append(everything, change.option)
		}
	}
	found["everything"] = changed(together(kind, everything...))
	if singly {
		for name, change := range single(kind) {
			found[name] = changed(change)
		}
	}

	return found
}

func slicesOf(changes map[string]kubetest.ServiceOption, names ...string) []kubetest.ServiceOption {
	var list []kubetest.ServiceOption
	for _, name := range names {
		if change, ok := changes[name]; ok {
			list = append(list, change)
		}
	}

	return list
}

// sharedRules are scenarios in which other load balancers depend on the rules of
// the one that changes or is deleted (AWS-SG-13, AWS-SG-12), and those with nodes
// whose group does not have the tag of the cluster.
func sharedRules() map[string]scenario {
	found := map[string]scenario{}
	pick := func(kind request.Kind, m mode, what string, edit func(*scenario)) {
		s := inMode(kind, m, true)[what]
		edit(&s)
		found[what+", "+string(kind)] = s
	}
	late := func(s *scenario) { s.last = true }
	pick(request.Classic, classicModes["annotated"], "delete", late)
	pick(request.Network, networkModes["bare"], "delete", late)
	pick(request.Network, networkModes["bare"], "health check", late)
	pick(request.Classic, classicModes["annotated"], "groups to other", late)
	named := map[string]scenario{}
	for name, s := range found {
		named["shared rules: "+name] = s
	}
	found = map[string]scenario{}
	untagged := func(s *scenario) {
		s.behind, s.beforehand = []int{0, 4}, []int{0, 4}
		for _, svc := range []*v1.Service{s.before, s.service} {
			if svc != nil {
				delete(svc.Annotations, string(request.AnnotationHealthCheckPort)) // which peers have, too
			}
		}
	}
	for _, what := range []string{"create", "delete", "ports"} {
		pick(request.Classic, classicModes["created"], what, untagged)
		pick(request.Network, networkModes["bare"], what, untagged)
	}
	pick(request.Classic, classicModes["created"], "groups to brought", untagged)
	for name, s := range found {
		named["untagged nodes: "+name] = s
	}

	return named
}
