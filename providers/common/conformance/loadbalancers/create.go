package loadbalancers

import (
	"cmp"
	"slices"

	gocmp "github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// createCases are about a load balancer that is made.
func createCases() []testCase {
	return []testCase{
		{Name: "a created load balancer has exactly the ports and targets of its Service", Run: createsExactly},
		{Name: "the status has the address", Run: statusHasAddress},
		{Name: "GetLoadBalancer finds what exists", Run: getFinds},
		{Name: "the name of a load balancer never changes and costs nothing", Run: nameIsConstant},
		{Name: "an unchanged resync writes nothing", Run: resyncWritesNothing},
		{Name: "a Service without nodes gets them later", Run: nodesComeLater},
		{Name: "a load balancer deleted by a user is created again", Run: createdAgain},
	}
}

func createsExactly(f *fixture) {
	f.start()
	m := f.CreateMany(3)
	service := f.service("web")
	f.mustEnsure(service, m...)
	if n := len(f.Cloud.LoadBalancers()); n != 1 {
		f.T.Errorf("one Service has %d load balancers", n)
	}
	if len(f.Cloud.Resources()) == 0 {
		f.T.Error("the test cloud lists no resources of a load balancer")
	}
	f.mustRemove(service)
	f.CheckNothingLeft()
}

// statusHasAddress: clients use what is written there.
func statusHasAddress(f *fixture) {
	f.start()
	m := f.CreateMany(2)
	service := f.service("web")
	f.mustEnsure(service, m...)
	lb, _ := f.find(service)
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if got := cmp.Or(ingress.Hostname, ingress.IP); !slices.Contains(lb.Addresses, got) {
			f.T.Errorf("the status has %q, the addresses are %q", got, lb.Addresses)
		}
	}
	status, exists, err := f.get(service)
	if err != nil || !exists || status == nil {
		f.T.Fatalf("GetLoadBalancer: %v, %t, %v", status, exists, err)
	}
	if diff := gocmp.Diff(service.Status.LoadBalancer, *status); diff != "" {
		f.T.Errorf("GetLoadBalancer returns another status (-ensured +got):\n%s", diff)
	}
}

func getFinds(f *fixture) {
	f.start()
	m := f.CreateMany(2)
	service, other := f.service("web"), f.service("web-2")
	f.checkAbsent(service)
	f.mustEnsure(service, m...)
	for _, with := range []*fixture{f, f.restart()} {
		if _, exists, err := with.get(service); !exists || err != nil {
			f.T.Errorf("GetLoadBalancer of what exists: %t, %v", exists, err)
		}
		with.checkAbsent(other)
	}
	f.CheckWritesNothing("GetLoadBalancer", func() { _, _, _ = f.get(service) })
	f.mustRemove(service)
	f.checkAbsent(service)
	f.restart().checkAbsent(service)
}

// nameIsConstant: a provider that changes it loses all load balancers.
func nameIsConstant(f *fixture) {
	f.start()
	service, other := f.service("web"), f.service("web-2")
	calls := f.Cloud.Calls()
	name := f.name(service)
	if name == "" || name == f.name(other) {
		f.T.Errorf("the names are %q and %q", name, f.name(other))
	}
	if n := f.Cloud.Calls() - calls; n != 0 {
		f.T.Errorf("a name costs %d calls", n)
	}
	f.mustEnsure(service, f.Create())
	changed := service.DeepCopy()
	changed.Spec.Ports = changed.Spec.Ports[:1]
	changed.Labels = map[string]string{"changed": "yes"}
	for _, again := range []string{f.name(service), f.name(changed), f.restart().name(service)} {
		if again != name {
			f.T.Errorf("the name was %q and is %q", name, again)
		}
	}
}

// resyncWritesNothing: every restart and every edit of a label is one.
func resyncWritesNothing(f *fixture) {
	f.start()
	m := f.CreateMany(3)
	service := f.service("web")
	f.mustEnsure(service, m...)
	before := f.Cloud.Resources()
	f.resync(service, m...)
	f.restart().resync(service, m...)
	f.CheckWritesNothing("an unchanged update", func() { f.mustUpdate(service, m...) })
	relabeled := service.DeepCopy()
	relabeled.Labels = map[string]string{"changed": "yes"}
	relabeled.ResourceVersion = "2"
	f.resync(relabeled, m...)
	f.CheckUnchanged("the cloud", before, f.Cloud.Resources())
}

// nodesComeLater: that there is no node yet may be an error, but not for good.
func nodesComeLater(f *fixture) {
	f.start()
	m := f.CreateMany(2)
	service := f.service("web", kubetest.Port(v1.ProtocolTCP, 80))
	if err := f.tryEnsure(service, nil); err == nil {
		f.check(service, nil)
	}
	f.mustEnsure(service, m...)
	f.mustRemove(service)
	f.CheckNothingLeft()
}

func createdAgain(f *fixture) {
	f.start()
	m := f.CreateMany(2)
	service := f.service("web")
	f.mustEnsure(service, m...)
	before := f.Cloud.Resources()
	f.Cloud.Remove(f.T, f.name(service))
	if _, ok := f.find(service); ok {
		f.T.Fatal("the test cloud did not delete the load balancer")
	}
	if err := f.update(service, harness.NodesOf(m...)); err == nil {
		f.T.Error("UpdateLoadBalancer of a deleted load balancer is no error")
	}
	if _, ok := f.find(service); ok {
		f.T.Error("UpdateLoadBalancer created the load balancer again")
	}
	f.mustEnsure(service, m...)
	f.CheckUnchanged("the cloud", before, f.Cloud.Resources())
}
