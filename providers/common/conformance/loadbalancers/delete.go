package loadbalancers

import (
	"maps"

	v1 "k8s.io/api/core/v1"
)

// deleteCases are about load balancers that are deleted.
func deleteCases() []testCase {
	return []testCase{
		{Name: "a deleted load balancer leaves nothing, and may be deleted again", Run: deletesAll},
		{Name: "deleting what never was succeeds", Run: deletesNothing},
		{Name: "a Service edited before its deletion leaves nothing", Run: deletesEdited},
		{
			Name: "annotations edited before the deletion leave nothing", Run: deletesReannotated,
			LeftOut: func(a Adapter) bool { return len(a.Edited) == 0 },
		},
		{Name: "what is left of a load balancer deleted by a user is deleted", Run: deletesRemains},
		{Name: "a Service may be created again after its deletion", Run: recreated},
		{Name: "deleting one of two Services leaves the other reachable", Run: leavesOther},
	}
}

func deletesAll(f *fixture) {
	f.start()
	m := f.CreateMany(3)
	service := f.service("web")
	f.mustEnsure(service, m...)
	f.mustRemove(service)
	f.CheckNothingLeft()
	for _, with := range []*fixture{f, f.restart()} {
		f.CheckWritesNothing("deleting again", func() {
			if err := with.persist(func() error { return with.remove(service) }); err != nil {
				f.T.Errorf("deleting again: %v", err)
			}
		})
	}
	f.CheckNothingLeft()
}

func deletesNothing(f *fixture) {
	f.start()
	other := f.service("web")
	f.mustEnsure(other, f.Create())
	f.CheckWritesNothing("deleting what never was", func() {
		if err := f.remove(f.service("never")); err != nil {
			f.T.Errorf("deleting what never was: %v", err)
		}
	})
}

// deletesEdited: the Service no longer describes what is to be deleted.
func deletesEdited(f *fixture) {
	f.start()
	for _, e := range edits() {
		m := f.CreateMany(2)
		service := f.service("web")
		f.mustEnsure(service, m...)
		e.apply(f, service)
		service.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
		f.mustRemove(service)
		f.CheckNothingLeft()
	}
	service := f.service("web")
	f.mustEnsure(service, f.Create())
	service.Spec = v1.ServiceSpec{Type: v1.ServiceTypeClusterIP}
	service.Status = v1.ServiceStatus{}
	f.mustRemove(service)
	f.CheckNothingLeft()
}

func deletesReannotated(f *fixture) {
	f.start()
	for i, edited := range f.adapter.Edited {
		service := f.service("web")
		f.mustEnsure(service, f.CreateMany(2)...)
		service.Annotations = maps.Clone(edited)
		f.mustRemove(service)
		if left := f.Cloud.Resources(); len(left) != 0 {
			f.T.Errorf("with the annotations Edited[%d] %v: left behind: %v", i, edited, left)
		}
	}
}

// deletesRemains: a user has not found everything.
func deletesRemains(f *fixture) {
	f.start()
	service := f.service("web")
	f.mustEnsure(service, f.CreateMany(2)...)
	f.Cloud.Remove(f.T, f.name(service))
	left := f.Cloud.Resources()
	if _, exists, err := f.restart().get(service); err != nil || exists != (len(left) != 0) {
		f.T.Errorf("GetLoadBalancer is %t, %v, while there is: %v", exists, err, left)
	}
	f.mustRemove(service)
	f.CheckNothingLeft()
}

func recreated(f *fixture) {
	f.start()
	m := f.CreateMany(2)
	service := f.service("web")
	var first []string
	for range 2 {
		service.Status = v1.ServiceStatus{}
		f.mustEnsure(service, m...)
		if first == nil {
			first = f.Cloud.Resources()
		}
		f.CheckUnchanged("the cloud", first, f.Cloud.Resources())
		f.mustRemove(service)
		f.CheckNothingLeft()
	}
}

// leavesOther: Services share nodes, and with them firewalls. The names are
// similar once they are shortened.
func leavesOther(f *fixture) {
	f.start()
	m := f.CreateMany(3)
	for _, names := range [][2]string{{"web", "web-2"}, {"web-a", "weba"}, {"a-very-long-name-1", "a-very-long-name-2"}} {
		kept, deleted := f.service(names[0]), f.service(names[1])
		for _, service := range []*v1.Service{kept, deleted} {
			f.mustEnsure(service, m...)
		}
		f.check(kept, m)
		f.mustRemove(deleted)
		f.check(kept, m)
		f.resync(kept, m...)
		f.mustEnsure(deleted, m...)
		f.mustRemove(kept)
		f.check(deleted, m)
		f.mustRemove(deleted)
		f.CheckNothingLeft()
	}
}
