package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// FW-TARGET-1, FW-TARGET-3: of 300 Nodes, a Service has as many as max-targets as members. One that joins changes
// nothing, one that leaves is not replaced at once, and the annotation gives the Service all.
func TestPartOfManyNodes(t *testing.T) {
	t.Parallel()
	const nodes, part = 300, 20
	c := startCluster(t)
	p := c.startProject(t)
	var specs []controlplane.NodeSpec
	var names []string
	for i := range nodes {
		specs = append(specs, p.add(fmt.Sprintf("node-%d", i)))
		names = append(names, specs[i].Name)
	}
	c.join(t, specs...)
	c.run(t, writeConfig(t, p.config()+fmt.Sprintf("[LoadBalancer]\nmax-targets = %d\n", part)))
	c.awaitInitialized(t, names...)

	service := newService("web", classic, 80, 443)
	annotate(octaviaInternal, "true")(service)
	c.create(t, service)
	before := c.awaitTargets(t, p, "web", part)
	c.join(t, p.add("joins"))
	c.awaitInitialized(t, "joins")
	gone := before.UnsortedList()[0]
	for name, address := range p.addresses {
		if address == gone {
			if err := c.Client().CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if after := c.awaitTargets(t, p, "web", part-1); !before.IsSuperset(after) || after.Has(gone) {
		t.Errorf("the members are %v after %v", after.Difference(before), before)
	}
	c.change(t, func(service *v1.Service) { service.Annotations["multicloud-ccm.io/max-targets"] = "all" }, "web")
	c.awaitTargets(t, p, "web", nodes)
	c.remove(t, "web")
	c.awaitRemoved(t, "web")
	p.wantNoLeaks(t)
}

// awaitTargets waits until all ports of a Service have so many members, the same ones, and returns their addresses.
func (c *cluster) awaitTargets(t *testing.T, p *project, name string, count int) (found sets.Set[string]) {
	t.Helper()
	await(t, fmt.Sprintf("service %s to have %d members", name, count), func(context.Context) error {
		service := c.service(t, name) //nolint:contextcheck // that of the test
		if len(service.Status.LoadBalancer.Ingress) == 0 {
			return fmt.Errorf("its status is %+v", service.Status.LoadBalancer)
		}
		found = nil
		for _, port := range service.Spec.Ports {
			addresses := sets.New[string]()
			for _, member := range p.ServedBy(service.Status.LoadBalancer.Ingress[0].IP, "TCP", int(port.Port)) {
				address, _, _ := strings.Cut(member, ":")
				addresses.Insert(address)
			}
			if len(addresses) != count || found != nil && !found.Equal(addresses) {
				return fmt.Errorf("port %d has %d: %v", port.Port, len(addresses), sets.List(addresses))
			}
			found = addresses
		}

		return nil
	})

	return found
}
