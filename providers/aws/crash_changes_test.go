package aws

import (
	"context"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

const otherCertificate = "arn:aws:acm:us-west-2:123456789012:certificate/1a1b2c3d-0000-1111-2222-333344445555"

func options(all ...kubetest.ServiceOption) []kubetest.ServiceOption { return all }

// moreScenarios are those that need another start than a Service as it is
// usually: changes of working listeners, updates by the process that made the
// load balancer, refused deletions and what users deleted.
func moreScenarios() map[string]scenario {
	all := map[string]scenario{}
	add := func(kind request.Kind, m mode, prefix string) {
		base := m.options
		if kind == request.Network {
			base = append(options(nlb(), annotate(request.AnnotationHealthCheckPort, "10256")), base...)
		}
		w := writer{m.settings, base, func(name string, s scenario) { all[string(kind)+" "+prefix+": "+name] = s }}
		w.listeners()
		w.nodes()
		w.rejections(kind)
		w.deletedByUsers()
	}
	add(request.Classic, classicModes["created"], "created")
	add(request.Network, networkModes["managed"], "managed")
	for kind, m := range map[request.Kind]mode{request.Classic: classicModes["annotated"], request.Network: networkModes["bare"]} {
		base := m.options
		if kind == request.Network {
			base = options(nlb()) // each Service with a health check port of its own
		}
		w := writer{m.settings, base, func(name string, s scenario) { all[string(kind)+" without a group: "+name] = s }}
		w.nodes()
		w.deletedByUsers()
	}
	w := writer{networkModes["managed"].settings, options(nlb(), annotate(request.AnnotationHealthCheckPort, "10256"), toUDP), func(name string, s scenario) {
		all["network UDP: "+name] = s
	}}
	w.datagrams()

	return all
}

// writer writes scenarios of Services with the same options.
type writer struct {
	settings settings
	base     []kubetest.ServiceOption
	add      func(name string, s scenario)
}

func (w writer) service(more ...kubetest.ServiceOption) *v1.Service {
	svc := web(w.base...)
	for _, option := range more {
		option(svc)
	}

	return svc
}

// change writes a scenario with a change of the Service.
func (w writer) change(name string, before, after []kubetest.ServiceOption) {
	nodes := []int{0, 1, 2}
	w.add(name, scenario{
		settings: w.settings, before: w.service(before...), beforehand: nodes,
		do: ensureOperation, service: w.service(after...), behind: nodes,
	})
}

// listeners writes the changes of listeners that serve.
func (w writer) listeners() {
	certificate := annotate(request.AnnotationSSLCert, otherCertificate)
	policy := annotate(request.AnnotationSSLPolicy, "ELBSecurityPolicy-TLS13-1-2-2021-06")
	if w.service().Annotations[string(request.AnnotationType)] == "" {
		policy = annotate(request.AnnotationSSLPolicy, "ELBSecurityPolicy-2016-08")
	}
	w.change("certificate", options(tls), options(tls, certificate))
	w.change("TLS policy", options(tls), options(tls, policy))
	w.change("certificate and ports", options(tls), options(tls, certificate, portsOf))
	w.change("TLS to TCP", options(tls), nil)
	w.change("source ranges", nil, options(from("192.0.2.0/24", "198.51.100.0/24")))
	w.change("other source ranges", options(from("192.0.2.0/24", "198.51.100.0/24")), options(from("203.0.113.0/24", "192.0.2.0/24")))
	w.change("nothing", nil, nil)
}

// datagrams writes the scenarios of a Service with UDP ports.
func (w writer) datagrams() {
	nodes := []int{0, 1, 2}
	w.add("create", scenario{settings: w.settings, do: ensureOperation, service: w.service(), behind: nodes})
	w.add("delete", scenario{settings: w.settings, before: w.service(), beforehand: nodes, do: deleteOperation, service: w.service()})
	w.change("source ranges", nil, options(from("192.0.2.0/24")))
	w.change("ports", nil, options(portsOf, toUDP))
	w.change("to TCP", nil, options(func(svc *v1.Service) {
		for i := range svc.Spec.Ports {
			svc.Spec.Ports[i].Protocol = v1.ProtocolTCP
		}
	}))
	w.update("nodes move", []int{0, 2}, []int{1, 3})
}

// update writes a scenario in which the process that has brought the load
// balancer up to date gets other nodes.
func (w writer) update(name string, before, after []int) {
	w.add(name, scenario{
		settings: w.settings, before: w.service(), beforehand: before,
		do: updateOperation, service: w.service(), behind: after, same: true,
	})
}

// nodes writes the changes of nodes.
func (w writer) nodes() {
	w.update("a node joins", []int{0, 2}, []int{0, 1, 2})
	w.update("a node leaves", []int{0, 1, 2}, []int{0, 2})
	w.update("nodes move", []int{0, 2}, []int{1, 3})
	// The last nodes of two groups leave, in which no other Service has nodes.
	w.add("node pools end", scenario{
		settings: w.settings, before: w.service(), beforehand: []int{0, 1, 2, 3}, alone: true,
		do: updateOperation, service: w.service(), behind: []int{0, 1},
	})
	// No tag says which group of the node the rules belong to.
	w.add("a node with ambiguous groups", scenario{
		settings: w.settings, before: w.service(), beforehand: []int{0, 1, 2},
		do: ensureOperation, service: w.service(portsOf), behind: []int{0, 2, 5}, wantErr: apierr.ErrInvalid,
	})
}

// rejections writes operations that fail without faults.
func (w writer) rejections(kind request.Kind) {
	refused := func(name string, do operation, service *v1.Service, wantErr error, reject func(*environment, bool)) {
		w.add(name, scenario{
			settings: w.settings, before: w.service(), beforehand: []int{0, 1, 2},
			do: do, service: service, behind: []int{0, 1, 2}, wantErr: wantErr, reject: reject,
		})
	}
	refused("denied deletion", deleteOperation, w.service(), apierr.ErrDenied, func(s *environment, on bool) {
		if s.SetDenied(); on {
			s.SetDenied("elasticloadbalancing:DeleteLoadBalancer")
		}
	})
	other := web(nlb())
	if kind == request.Network {
		other = web()
		refused("protected deletion", deleteOperation, w.service(), apierr.ErrConflict, func(s *environment, on bool) {
			if _, found := s.Network(webName); found {
				s.Protect(webName, on)
			}
		})
	}
	refused("another kind", ensureOperation, other, apierr.ErrConflict, nil)
	w.add("delete after another kind", scenario{
		settings: w.settings, before: w.service(), beforehand: []int{0, 1, 2}, do: deleteOperation, service: other.DeepCopy(),
	})
}

// deletedByUsers writes what happens after a user has deleted the load balancer,
// and nothing else of what there was.
func (w writer) deletedByUsers() {
	found := scenario{
		settings: w.settings, before: w.service(), beforehand: []int{0, 1, 2}, behind: []int{0, 1, 2}, arrange: deleteBalancer,
	}
	created, changed, deleted := found, found, found
	created.do, created.service = ensureOperation, w.service()
	w.add("create after a user deleted it", created)
	changed.do, changed.service = ensureOperation, w.service(portsOf, probe)
	w.add("change after a user deleted it", changed)
	deleted.do, deleted.service = deleteOperation, w.service()
	w.add("delete after a user deleted it", deleted)
}

// deleteBalancer deletes the load balancer of the Service as a user does.
func deleteBalancer(s *environment) {
	s.t.Helper()
	ctx := context.Background()
	clients, err := s.base.In(ctx, s.Region())
	s.must(err)
	if balancer, found := s.Network(webName); found {
		_, err = clients.ELBV2.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: new(balancer.ARN)})
	} else {
		_, err = clients.ELB.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerName: new(webName)})
	}
	s.must(err)
}
