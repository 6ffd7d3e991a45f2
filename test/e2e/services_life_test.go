package e2e

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AWS-LB-1, AWS-LB-2, AWS-DELETE-1: the life of a Service of each kind, from the
// first sync to the end of its finalizer, after which nothing is left. Services
// of other controllers have none of it.
func TestServicesGetLoadBalancers(t *testing.T) {
	t.Parallel()
	const slow, fast = "classic", "network"
	both, unmanaged := []string{slow, fast}, []string{"external", "nlb-ip"}
	c := startCluster(t)
	r := c.startRegion(t)
	nodes := r.add(3)
	c.run(t, writeConfig(t, awsConfig))
	c.joinAll(t, nodes)
	c.awaitInitialized(t, names(nodes)...)

	c.create(t, newService(slow, classic, 80, 443), newService(fast, network, 80, 443))
	for _, kind := range unmanaged {
		c.create(t, newService(kind, kind, 80))
	}
	c.awaitServed(t, r, nodes, both...)

	t.Log("a port goes, another one comes")
	c.change(t, func(service *v1.Service) { service.Spec.Ports[1] = servicePort(8443) }, both...)
	c.awaitServed(t, r, nodes, both...)

	t.Log("a node comes")
	nodes = append(nodes, r.add(1)...)
	c.joinAll(t, nodes[3:])
	c.awaitServed(t, r, nodes, both...)

	t.Log("a node goes")
	if err := c.Client().CoreV1().Nodes().Delete(t.Context(), nodes[0].name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	nodes = nodes[1:]
	c.awaitServed(t, r, nodes, both...)

	t.Log("traffic stays on its node")
	c.change(t, func(service *v1.Service) {
		service.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
	}, both...)
	c.awaitServed(t, r, nodes, both...)

	t.Log("AWS-LB-15: what cannot be changed is reported")
	c.change(t, annotate(internalAnnotation, "true"), both...)
	for _, name := range both {
		c.awaitEvent(t, "Service", name, "LoadBalancerSchemeFixed")
	}

	for _, name := range unmanaged {
		service := c.service(t, name)
		if len(service.Status.LoadBalancer.Ingress) > 0 {
			t.Errorf("AWS-LB-2: service %s is not for this controller, its status is %+v", name, service.Status)
		}
	}
	if slow, fast := r.LoadBalancers(); len(slow) != 1 || len(fast) != 1 {
		t.Errorf("there are the load balancers %q and %q, want one of each kind", slow, fast)
	}
	all := slices.Concat(both, unmanaged)
	c.remove(t, all...)
	c.awaitRemoved(t, all...)
	r.wantNoLeaks(t)
}
