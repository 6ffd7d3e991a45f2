package conformance

import (
	"cmp"

	gocmp "github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// balancerCreateCases are about a load balancer that is made.
func balancerCreateCases() []balancerCase {
	return []balancerCase{
		{name: "a created load balancer has exactly the ports and targets of its Service", run: createsExactly},
		{name: "the status tells the address", run: statusTellsAddress},
		{name: "GetLoadBalancer knows what is there", run: getKnows},
		{name: "the name of a load balancer never changes and costs nothing", run: nameIsConstant},
		{name: "an unchanged resync writes nothing", run: resyncWritesNothing},
		{name: "a Service without nodes gets them later", run: nodesComeLater},
		{name: "a load balancer removed by a user is made again", run: madeAgain},
	}
}

func createsExactly(b *balancerFixture) {
	b.start()
	m := b.createMany(3)
	service := b.service("web")
	b.mustEnsure(service, m...)
	if n := len(b.cloud.LoadBalancers()); n != 1 {
		b.t.Errorf("one Service has %d load balancers", n)
	}
	if len(b.cloud.Leftovers()) == 0 {
		b.t.Error("the test cloud lists nothing of a load balancer as left over")
	}
	b.mustRemove(service)
	b.nothingLeft()
}

// statusTellsAddress: clients are told what is written there.
func statusTellsAddress(b *balancerFixture) {
	b.start()
	m := b.createMany(2)
	service := b.service("web")
	b.mustEnsure(service, m...)
	lb, _ := b.find(service)
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if got := cmp.Or(ingress.Hostname, ingress.IP); got != lb.Address {
			b.t.Errorf("the status tells %q, the address is %q", got, lb.Address)
		}
	}
	status, exists, err := b.get(service)
	if err != nil || !exists || status == nil {
		b.t.Fatalf("GetLoadBalancer: %v, %t, %v", status, exists, err)
	}
	if diff := gocmp.Diff(service.Status.LoadBalancer, *status); diff != "" {
		b.t.Errorf("GetLoadBalancer tells another status (-ensured +got):\n%s", diff)
	}
}

func getKnows(b *balancerFixture) {
	b.start()
	m := b.createMany(2)
	service, other := b.service("web"), b.service("web-2")
	b.checkAbsent(service)
	b.mustEnsure(service, m...)
	for _, with := range []*balancerFixture{b, b.restart()} {
		if _, exists, err := with.get(service); !exists || err != nil {
			b.t.Errorf("GetLoadBalancer of what is there: %t, %v", exists, err)
		}
		with.checkAbsent(other)
	}
	b.writesNothing("GetLoadBalancer", func() { _, _, _ = b.get(service) })
	b.mustRemove(service)
	b.checkAbsent(service)
	b.restart().checkAbsent(service)
}

// nameIsConstant: a provider that changes it loses all load balancers.
func nameIsConstant(b *balancerFixture) {
	b.start()
	service, other := b.service("web"), b.service("web-2")
	calls := b.cloud.Calls()
	name := b.name(service)
	if name == "" || name == b.name(other) {
		b.t.Errorf("the names are %q and %q", name, b.name(other))
	}
	if n := b.cloud.Calls() - calls; n != 0 {
		b.t.Errorf("a name costs %d calls", n)
	}
	b.mustEnsure(service, b.create())
	changed := service.DeepCopy()
	changed.Spec.Ports = changed.Spec.Ports[:1]
	changed.Labels = map[string]string{"changed": "yes"}
	for _, again := range []string{b.name(service), b.name(changed), b.restart().name(service)} {
		if again != name {
			b.t.Errorf("the name was %q and is %q", name, again)
		}
	}
}

// resyncWritesNothing: every restart and every edit of a label is one.
func resyncWritesNothing(b *balancerFixture) {
	b.start()
	m := b.createMany(3)
	service := b.service("web")
	b.mustEnsure(service, m...)
	before := b.cloud.Leftovers()
	b.resync(service, m...)
	b.restart().resync(service, m...)
	b.writesNothing("an unchanged update", func() { b.mustUpdate(service, m...) })
	relabelled := service.DeepCopy()
	relabelled.Labels = map[string]string{"changed": "yes"}
	relabelled.ResourceVersion = "2"
	b.resync(relabelled, m...)
	b.unchanged("the cloud", before, b.cloud.Leftovers())
}

// nodesComeLater: that there is no node yet may be an error, but nothing that
// lasts.
func nodesComeLater(b *balancerFixture) {
	b.start()
	m := b.createMany(2)
	service := b.service("web", kubetest.Port(v1.ProtocolTCP, 80))
	if err := b.tryEnsure(service, nil); err == nil {
		b.check(service, nil)
	}
	b.mustEnsure(service, m...)
	b.mustRemove(service)
	b.nothingLeft()
}

func madeAgain(b *balancerFixture) {
	b.start()
	m := b.createMany(2)
	service := b.service("web")
	b.mustEnsure(service, m...)
	before := b.cloud.Leftovers()
	b.cloud.Remove(b.t, b.name(service))
	if _, ok := b.find(service); ok {
		b.t.Fatal("the test cloud did not remove the load balancer")
	}
	if err := b.update(service, nodesOf(m...)); err == nil {
		b.t.Error("UpdateLoadBalancer of a removed load balancer is no error")
	}
	if _, ok := b.find(service); ok {
		b.t.Error("UpdateLoadBalancer made the load balancer again")
	}
	b.mustEnsure(service, m...)
	b.unchanged("the cloud", before, b.cloud.Leftovers())
}
