package conformance

import (
	v1 "k8s.io/api/core/v1"
)

// balancerOwnershipCases are about what belongs to others.
func balancerOwnershipCases() []balancerCase {
	return []balancerCase{
		{name: "what others made is left alone", run: leavesPlanted},
		{name: "what others made is no load balancer of the Service", run: knowsPlanted},
		{name: "two clusters in one account do not touch each other's load balancers", run: clustersApart},
		{name: "a copied cluster does not touch the original's load balancers", run: copyApart},
	}
}

// leavesPlanted takes a Service through its life among things that look like it.
func leavesPlanted(b *balancerFixture) {
	b.start()
	m := b.createMany(3)
	service := b.service("web")
	planted := b.cloud.Plant(b.t, service)
	before := planted()
	if len(before) == 0 {
		b.t.Fatal("the test cloud planted nothing")
	}
	untouched := func(what string) {
		b.t.Helper()
		b.unchanged("after "+what+": what was planted", before, planted())
	}
	b.nothingLeft()
	b.mustEnsure(service, m[:2]...)
	untouched("the creation")
	b.resync(service, m[:2]...)
	b.mustUpdate(service, m[1:]...)
	untouched("the update")
	service.Spec.Ports = service.Spec.Ports[:1]
	b.mustEnsure(service, m[1:]...)
	untouched("the change")
	b.mustRemove(service)
	untouched("the deletion")
	b.writesNothing("deleting again", func() { _ = b.persist(func() error { return b.remove(service) }) })
	untouched("another deletion")
	b.nothingLeft()
}

// knowsPlanted: a finalizer that stays for somebody else's load balancer never
// goes.
func knowsPlanted(b *balancerFixture) {
	b.start()
	nodes := nodesOf(b.createMany(2)...)
	service := b.service("web")
	b.cloud.Plant(b.t, service)
	b.checkAbsent(service)
	b.writesNothing("UpdateLoadBalancer of what is not there", func() {
		if err := b.update(service, nodes); err == nil {
			b.t.Error("UpdateLoadBalancer of what is not there is no error")
		}
	})
}

// clustersApart: the Services have one name and namespace in both clusters, and
// the machines are the same ones, which is as close as two clusters can be.
func clustersApart(b *balancerFixture) {
	b.start()
	other := b.startAs(otherCluster)
	m := b.createMany(2)
	ours, theirs := b.service("web"), b.service("web")
	b.mustEnsure(ours, m...)
	other.mustEnsure(theirs, m...)
	b.check(ours, m)
	b.resync(ours, m...)
	ours.Spec.Ports = ours.Spec.Ports[1:]
	b.mustEnsure(ours, m...)
	other.check(theirs, m)
	b.mustRemove(ours)
	other.check(theirs, m)
	other.resync(theirs, m...)
	b.mustEnsure(ours, m...)
	other.mustRemove(theirs)
	b.check(ours, m)
	b.mustRemove(ours)
	b.nothingLeft()
}

// copyApart: a cluster made of another's backup has the same Services, UIDs
// included. Where names are made of these, the copy may fail, but no more.
func copyApart(b *balancerFixture) {
	b.start()
	copied := b.startAs(otherCluster)
	m := b.createMany(2)
	service := b.service("web")
	b.mustEnsure(service, m...)
	before := b.cloud.Leftovers()
	twin := service.DeepCopy()
	twin.Status = v1.ServiceStatus{}
	if err := copied.tryEnsure(twin, nodesOf(m...)); err != nil {
		b.unchanged("after the copy failed: the cloud", before, b.cloud.Leftovers())
	}
	if err := copied.update(twin, nodesOf(m[:1]...)); err != nil {
		b.t.Logf("UpdateLoadBalancer of the copy: %v", err)
	}
	b.check(service, m)
	if err := copied.persist(func() error { return copied.remove(twin) }); err != nil {
		b.t.Logf("EnsureLoadBalancerDeleted of the copy: %v", err)
	}
	b.check(service, m)
	b.unchanged("after the copy was deleted: the cloud", before, b.cloud.Leftovers())
	b.resync(service, m...)
	b.mustRemove(service)
	b.nothingLeft()
}
