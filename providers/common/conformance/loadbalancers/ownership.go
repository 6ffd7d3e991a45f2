package loadbalancers

import (
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// ownershipCases are about what belongs to others.
func ownershipCases() []testCase {
	return []testCase{
		{Name: "resources of others are left alone", Run: leavesDecoys},
		{Name: "resources of others are no load balancer of the Service", Run: ignoresDecoys},
		{Name: "two clusters in one account do not touch each other's load balancers", Run: clustersIndependent},
		{
			Name: "a copied cluster does not touch the original's load balancers", Run: copyIndependent,
			LeftOut: func(a Adapter) bool { return a.Without.Copies },
		},
	}
}

// leavesDecoys creates, changes and deletes a load balancer among decoys.
func leavesDecoys(f *fixture) {
	f.start()
	m := f.CreateMany(3)
	service := f.service("web")
	decoys := f.Cloud.SeedDecoys(f.T, service)
	before := decoys()
	if len(before) == 0 {
		f.T.Fatal("the test cloud has no decoys")
	}
	unchanged := func(what string) {
		f.T.Helper()
		f.CheckUnchanged("after "+what+": decoys", before, decoys())
	}
	f.CheckNothingLeft()
	f.mustEnsure(service, m[:2]...)
	unchanged("the creation")
	f.resync(service, m[:2]...)
	f.mustUpdate(service, m[1:]...)
	unchanged("the update")
	service.Spec.Ports = service.Spec.Ports[:1]
	f.mustEnsure(service, m[1:]...)
	unchanged("the change")
	f.mustRemove(service)
	unchanged("the deletion")
	f.CheckWritesNothing("deleting again", func() { _ = f.persist(func() error { return f.remove(service) }) })
	unchanged("another deletion")
	f.CheckNothingLeft()
}

// ignoresDecoys: a finalizer that stays for a load balancer of others is never
// removed.
func ignoresDecoys(f *fixture) {
	f.start()
	nodes := harness.NodesOf(f.CreateMany(2)...)
	service := f.service("web")
	f.Cloud.SeedDecoys(f.T, service)
	f.checkAbsent(service)
	f.CheckWritesNothing("UpdateLoadBalancer of what does not exist", func() {
		if err := f.update(service, nodes); err == nil {
			f.T.Error("UpdateLoadBalancer of what does not exist is no error")
		}
	})
}

// clustersIndependent: the Services have one name and namespace in both clusters, and
// the machines are the same ones, which is as close as two clusters can be.
func clustersIndependent(f *fixture) {
	f.start()
	other := f.startAs(otherCluster)
	m := f.CreateMany(2)
	ours, theirs := f.service("web"), f.service("web")
	f.mustEnsure(ours, m...)
	other.mustEnsure(theirs, m...)
	f.check(ours, m)
	f.resync(ours, m...)
	ours.Spec.Ports = ours.Spec.Ports[1:]
	f.mustEnsure(ours, m...)
	other.check(theirs, m)
	f.mustRemove(ours)
	other.check(theirs, m)
	other.resync(theirs, m...)
	f.mustEnsure(ours, m...)
	other.mustRemove(theirs)
	f.check(ours, m)
	f.mustRemove(ours)
	f.CheckNothingLeft()
}

// copyIndependent: a cluster restored from another's backup has the same Services, UIDs
// included. Where names are made of these, the copy may fail, but no more.
func copyIndependent(f *fixture) {
	f.start()
	copied := f.startAs(otherCluster)
	m := f.CreateMany(2)
	service := f.service("web")
	f.mustEnsure(service, m...)
	before := f.Cloud.Resources()
	duplicate := service.DeepCopy()
	duplicate.Status = v1.ServiceStatus{}
	if err := copied.tryEnsure(duplicate, harness.NodesOf(m...)); err != nil {
		f.CheckUnchanged("after the copy failed: the cloud", before, f.Cloud.Resources())
	}
	if err := copied.update(duplicate, harness.NodesOf(m[:1]...)); err != nil {
		f.T.Logf("UpdateLoadBalancer of the copy: %v", err)
	}
	f.check(service, m)
	if err := copied.persist(func() error { return copied.remove(duplicate) }); err != nil {
		f.T.Logf("EnsureLoadBalancerDeleted of the copy: %v", err)
	}
	f.check(service, m)
	f.CheckUnchanged("after the copy was deleted: the cloud", before, f.Cloud.Resources())
	f.resync(service, m...)
	f.mustRemove(service)
	f.CheckNothingLeft()
}
