package conformance

import (
	"maps"

	v1 "k8s.io/api/core/v1"
)

// balancerDeleteCases are about load balancers that are deleted.
func balancerDeleteCases() []balancerCase {
	return []balancerCase{
		{name: "a deleted load balancer leaves nothing, and may be deleted again", run: deletesAll},
		{name: "deleting what never was succeeds", run: deletesNothing},
		{name: "a Service edited before its deletion leaves nothing", run: deletesEdited},
		{
			name: "annotations edited before the deletion leave nothing", run: deletesReannotated,
			leftOut: func(s LoadBalancerSuite) bool { return len(s.Edited) == 0 },
		},
		{name: "what is left of a load balancer removed by a user is deleted", run: deletesRemains},
		{name: "a Service may be made again after its deletion", run: livesTwice},
		{name: "deleting one of two Services leaves the other reachable", run: leavesOther},
	}
}

func deletesAll(b *balancerFixture) {
	b.start()
	m := b.createMany(3)
	service := b.service("web")
	b.mustEnsure(service, m...)
	b.mustRemove(service)
	b.nothingLeft()
	for _, with := range []*balancerFixture{b, b.restart()} {
		b.writesNothing("deleting again", func() {
			if err := with.persist(func() error { return with.remove(service) }); err != nil {
				b.t.Errorf("deleting again: %v", err)
			}
		})
	}
	b.nothingLeft()
}

func deletesNothing(b *balancerFixture) {
	b.start()
	other := b.service("web")
	b.mustEnsure(other, b.create())
	b.writesNothing("deleting what never was", func() {
		if err := b.remove(b.service("never")); err != nil {
			b.t.Errorf("deleting what never was: %v", err)
		}
	})
}

// deletesEdited: what is to be deleted cannot be told from the Service.
func deletesEdited(b *balancerFixture) {
	b.start()
	for _, e := range edits() {
		m := b.createMany(2)
		service := b.service("web")
		b.mustEnsure(service, m...)
		e.apply(b, service)
		service.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
		b.mustRemove(service)
		b.nothingLeft()
	}
	service := b.service("web")
	b.mustEnsure(service, b.create())
	service.Spec = v1.ServiceSpec{Type: v1.ServiceTypeClusterIP}
	service.Status = v1.ServiceStatus{}
	b.mustRemove(service)
	b.nothingLeft()
}

func deletesReannotated(b *balancerFixture) {
	b.start()
	for i, edited := range b.suite.Edited {
		service := b.service("web")
		b.mustEnsure(service, b.createMany(2)...)
		service.Annotations = maps.Clone(edited)
		b.mustRemove(service)
		if left := b.cloud.Leftovers(); len(left) != 0 {
			b.t.Errorf("with the annotations Edited[%d] %v: left behind: %v", i, edited, left)
		}
	}
}

// deletesRemains: users tidy up, but they do not see everything.
func deletesRemains(b *balancerFixture) {
	b.start()
	service := b.service("web")
	b.mustEnsure(service, b.createMany(2)...)
	b.cloud.Remove(b.t, b.name(service))
	left := b.cloud.Leftovers()
	if _, exists, err := b.restart().get(service); err != nil || exists != (len(left) != 0) {
		b.t.Errorf("GetLoadBalancer is %t, %v, while there is: %v", exists, err, left)
	}
	b.mustRemove(service)
	b.nothingLeft()
}

func livesTwice(b *balancerFixture) {
	b.start()
	m := b.createMany(2)
	service := b.service("web")
	var first []string
	for range 2 {
		service.Status = v1.ServiceStatus{}
		b.mustEnsure(service, m...)
		if first == nil {
			first = b.cloud.Leftovers()
		}
		b.unchanged("the cloud", first, b.cloud.Leftovers())
		b.mustRemove(service)
		b.nothingLeft()
	}
}

// leavesOther: Services share nodes, and with them firewalls. The names are as
// much alike as names are cut and cleaned.
func leavesOther(b *balancerFixture) {
	b.start()
	m := b.createMany(3)
	for _, names := range [][2]string{{"web", "web-2"}, {"web-a", "weba"}, {"a-very-long-name-1", "a-very-long-name-2"}} {
		kept, deleted := b.service(names[0]), b.service(names[1])
		for _, service := range []*v1.Service{kept, deleted} {
			b.mustEnsure(service, m...)
		}
		b.check(kept, m)
		b.mustRemove(deleted)
		b.check(kept, m)
		b.resync(kept, m...)
		b.mustEnsure(deleted, m...)
		b.mustRemove(kept)
		b.check(deleted, m)
		b.mustRemove(deleted)
		b.nothingLeft()
	}
}
