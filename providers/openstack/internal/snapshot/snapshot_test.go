package snapshot_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// addMember adds a member to a pool, as another process does.
func (f *fixture) addMember(pool, address string) {
	f.t.Helper()
	if _, err := f.client.LoadBalancer().CreateMember(f.t.Context(), pool, client.MemberSpec{Name: "new", Address: address, Port: 30080}); err != nil {
		f.t.Fatal(err)
	}
}

// membersOf returns the members of all pools of a load balancer.
func (f *fixture) membersOf(id string) []octavia.Member {
	f.t.Helper()
	o := f.observed(id)
	if o == nil {
		f.t.Fatalf("load balancer %s cannot be used", id)
	}
	var all []octavia.Member
	for _, p := range o.Pools {
		all = append(all, p.Members...)
	}

	return all
}

// The lists have the same as what is read alone, but for what a status tree does not have.
func TestSameAsAlone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		id := f.AddServiceLoadBalancer(openstack.ServiceSpec{
			Name: "web", Subnet: f.subnet, Nodes: f.nodes, FloatingNetwork: f.external,
			Ports: []openstack.ServicePort{{Protocol: "TCP", Port: 443, NodePort: 30443}, {Protocol: "TCP", Port: 80, NodePort: 30080}},
		})
		f.addAll(3)
		if _, err := f.client.LoadBalancer().CreatePool(f.t.Context(), id, client.PoolCreate{Name: "unused", Protocol: "TCP", Algorithm: "ROUND_ROBIN"}); err != nil {
			f.t.Fatal(err)
		}
		want := f.alone(id)
		shared, addresses, ok, err := f.Observed(f.t.Context(), id)
		if err != nil || !ok {
			f.t.Fatalf("%t, %v", ok, err)
		}
		if !shared.Shared || shared.At.IsZero() {
			f.t.Errorf("got %+v", shared)
		}
		same := cmp.Options{
			cmpopts.EquateComparable(netip.Addr{}), cmpopts.IgnoreFields(octavia.Observed{}, "At", "Shared"),
			cmpopts.IgnoreFields(octavia.Member{}, "ID", "Partial", "Full"), cmpopts.IgnoreFields(client.Pool{}, "Members"), cmpopts.EquateEmpty(),
		}
		if diff := cmp.Diff(want, shared, same); diff != "" {
			f.t.Error(diff)
		}
		if len(addresses) != 1 || addresses[0].PortID != want.LoadBalancer.VIPPortID {
			f.t.Errorf("floating IPs: %v", addresses)
		}
	})
}

// OS-LB-21: when a load balancer must be read alone.
func TestNotUsable(t *testing.T) {
	t.Parallel()
	missing := openstack.Error(http.StatusNotFound, "", "Load Balancer could not be found.")
	for name, test := range map[string]struct {
		reason string
		change func(f *fixture, id string)
	}{
		"pending": {
			reason: "it is being changed",
			change: func(f *fixture, id string) { f.SetLoadBalancerStatus(id, "PENDING_UPDATE") },
		},
		"in ERROR": {
			reason: "it cannot be changed",
			change: func(f *fixture, id string) { f.SetLoadBalancerStatus(id, "ERROR") },
		},
		"deleted": {
			reason: "that it is missing has to be found out",
			change: func(f *fixture, id string) { f.DeleteLoadBalancer(id) },
		},
		"kept as deleted": {
			reason: "some implementations keep it",
			change: func(f *fixture, id string) { f.SetLoadBalancerStatus(id, "DELETED") },
		},
		"listener in ERROR": {
			reason: "it is to be repaired",
			change: func(f *fixture, id string) { f.SetProvisioningStatus(f.LoadBalancer(id).Listeners[0], "ERROR") },
		},
		"pool in ERROR": {
			reason: "it is to be repaired",
			change: func(f *fixture, id string) { f.FailPool(f.LoadBalancer(id).Pools[0], false) },
		},
		"pool deleted": {
			reason: "a listener has it",
			change: func(f *fixture, id string) { f.SetProvisioningStatus(f.LoadBalancer(id).Pools[0], "DELETED") },
		},
		"monitor in ERROR": {
			reason: "it is to be repaired",
			change: func(f *fixture, id string) { f.SetProvisioningStatus(firstPool(f.alone(id)).MonitorID, "ERROR") },
		},
		"member in ERROR": {
			reason: "it is to be repaired",
			change: func(f *fixture, id string) { f.SetProvisioningStatus(firstPool(f.alone(id)).Members[0].ID, "ERROR") },
		},
		"no monitor": {
			reason: "the lists do not fit together",
			change: func(f *fixture, _ string) {
				f.Interceptor().Inject(opMonitors, simserver.Always(), empty("healthmonitors"))
			},
		},
		"no tree": {
			reason: "it was deleted since the list, or not",
			change: func(f *fixture, _ string) { f.Interceptor().Inject(opTree, simserver.Always(), missing) },
		},
		"a new member": {
			reason: "it came after the list",
			change: func(f *fixture, id string) {
				pool := f.LoadBalancer(id).Pools[0]
				f.Interceptor().Inject(opTree, simserver.First(1), simserver.Before(func() { f.addMember(pool, "10.0.255.9") }))
			},
		},
		"pending since the list": {
			reason: "it is being changed",
			change: func(f *fixture, id string) {
				f.Interceptor().Inject(opTree, simserver.First(1), simserver.Before(func() { f.SetLoadBalancerStatus(id, "PENDING_UPDATE") }))
			},
		},
		"written": {
			reason: "the lists may not have it yet",
			change: func(f *fixture, id string) { f.Wrote(id) },
		},
		"written meanwhile": {
			reason: "the lists may not have it yet",
			change: func(f *fixture, id string) {
				f.Interceptor().Inject(opTree, simserver.First(1), simserver.Before(func() { f.Wrote(id) }))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(f *fixture) {
				id, other := f.add("web"), f.add("other")
				test.change(f, id)
				if o := f.observed(id); o != nil {
					f.t.Errorf("%s: got %+v", test.reason, o)
				}
				f.Interceptor().Clear()
				time.Sleep(snapshot.DefaultMaxAge)
				if o := f.observed(other); o == nil {
					f.t.Error("another one cannot be used")
				}
			})
		})
	}
}

func firstPool(o *octavia.Observed) *octavia.Pool { return o.Pools[o.Listeners[0].DefaultPoolID] }

// empty responds with a list without rows.
func empty(key string) simserver.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"` + key + `": []}`)) // a client that is gone misses it
	}
}

// A load balancer of another project is not in the lists.
func TestOtherProject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, openstack.UserOperator)
		id := f.AddLoadBalancer(openstack.LoadBalancerSpec{Name: "other", Project: openstack.ProjectOther, Subnet: f.foreign})
		if o := f.observed(id); o != nil {
			t.Errorf("got %+v", o)
		}
	})
}

// OS-LB-21: after a write, the lists are used again when a node of the database cannot be
// behind any more, and never those that began before.
func TestSettle(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		id := f.add("web")
		check := func(reason string, want bool) {
			f.t.Helper()
			if got := f.observed(id) != nil; got != want {
				f.t.Errorf("%s: %t", reason, got)
			}
		}
		check("nothing was written", true)
		f.Wrote(id)
		check("it was just written", false)
		time.Sleep(snapshot.DefaultSettle - time.Second)
		check("it was written lately", false)
		time.Sleep(time.Second + time.Nanosecond)
		check("it was written long ago", true)

		// A list takes longer than that.
		api := snapshot.API{Octavia: f.client.LoadBalancer(), Network: f.client.Network()}
		f.Snapshot = snapshot.New(api, snapshot.Options{Settle: 10 * time.Second, Wait: time.Minute})
		f.t.Cleanup(f.Close)
		f.Interceptor().Inject(opPools, simserver.First(1), simserver.Slow(25*time.Second))
		time.AfterFunc(5*time.Second, func() { f.Wrote(id) })
		check("the list began before the write", false)
		time.Sleep(25 * time.Second) // it counts for twice the time that it took
		check("the next one did not", true)
	})
}

// A write drops what is stored of the members: their settings may have changed.
func TestWroteDropsMembers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		id := f.add("web")
		f.Keep(f.alone(id))
		for _, m := range f.membersOf(id) {
			if m.Partial {
				f.t.Errorf("it was read in full: %+v", m)
			}
		}
		old := f.alone(id)
		f.Wrote(id)
		f.Keep(old) // from before the write
		time.Sleep(time.Minute)
		f.Interceptor().Reset()
		for _, m := range f.membersOf(id) {
			if !m.Partial {
				f.t.Errorf("it was read before the write: %+v", m)
			}
		}
		if got := f.Interceptor().Count(opTree); got != 1 {
			f.t.Errorf("%d trees", got)
		}
	})
}

// Members that are known in full stay so when a status tree adds others.
func TestTreeKeepsMonitorPorts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		id := f.AddLoadBalancer(openstack.LoadBalancerSpec{Name: "web", Subnet: f.subnet, Listeners: []openstack.ListenerSpec{{
			Protocol: "TCP", Port: 80,
			Pool: &openstack.LBPoolSpec{Members: []openstack.LBMemberSpec{{Name: "node-1", Address: "10.0.255.1", Port: 30080, MonitorPort: 10256}}},
		}}})
		f.Keep(f.alone(id))
		f.addMember(f.LoadBalancer(id).Pools[0], "10.0.255.2")
		type known struct {
			Name        string
			MonitorPort int32
			Partial     bool
		}
		var got []known
		for _, m := range f.membersOf(id) {
			got = append(got, known{m.Name, m.MonitorPort, m.Partial})
		}
		openstacktest.Check(f.t, "it", []known{{"node-1", 10256, false}, {"new", 0, true}}, got)
		f.Keep(f.alone(id))
		for _, m := range f.membersOf(id) {
			if m.Partial {
				f.t.Errorf("all are known: %+v", m)
			}
		}
		f.Drop(id)
		for _, m := range f.membersOf(id) {
			if !m.Partial {
				f.t.Errorf("nothing was known: %+v", m)
			}
		}
	})
}

// The members of a pool that no listener uses are not in the status tree.
func TestUnusedPool(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		id := f.add("web")
		made, err := f.client.LoadBalancer().CreatePool(f.t.Context(), id, client.PoolCreate{Name: "unused", Protocol: "TCP", Algorithm: "ROUND_ROBIN"})
		openstacktest.Must(f.t, err)
		f.addMember(made.ID, "10.0.255.9")
		o := f.observed(id)
		if o == nil || !o.Pools[made.ID].Unread || o.Pools[made.ID].Members != nil {
			f.t.Fatalf("its members are not known: %+v", o)
		}
		if p := firstPool(o); p.Unread || len(p.Members) != 3 {
			f.t.Errorf("got %+v", p)
		}
	})
}

// Callers share lists, and a failure is an error for all of them, never a part of a list.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, op := range []string{opBalancers, opListeners, opPools, opMonitors, opAddresses, opTree} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(f *fixture) {
				ids := f.addAll(60) // two pages of pools
				f.Interceptor().Inject(op, simserver.From(map[string]int{opPools: 2}[op]), openstack.Denied())
				var callers sync.WaitGroup
				for _, id := range ids {
					callers.Go(func() {
						if _, _, ok, err := f.Observed(f.t.Context(), id); ok || !errors.Is(err, apierr.ErrDenied) {
							f.t.Errorf("%t, %v", ok, err)
						}
					})
				}
				callers.Wait()
				f.Interceptor().Clear()
				f.pass(ids)
			})
		})
	}
}

// OS-LB-21: a list is waited for five seconds from its start, whichever caller started it. It goes on, and is used once it
// is there.
func TestLate(t *testing.T) {
	t.Parallel()
	for _, op := range []string{opBalancers, opPools, opAddresses} {
		inBubble(t, func(f *fixture) {
			id := f.add("web")
			f.Interceptor().Inject(op, simserver.First(1), simserver.Slow(20*time.Second))
			for _, want := range []time.Duration{5 * time.Second, 0, 0} {
				began := time.Now()
				if _, _, ok, err := f.Observed(f.t.Context(), id); ok || !errors.Is(err, cache.ErrLate) {
					f.t.Errorf("%s: %t, %v", op, ok, err)
				}
				if took := time.Since(began); took != want {
					f.t.Errorf("%s: took %s, want %s", op, took, want)
				}
			}
			time.Sleep(16 * time.Second)
			if f.observed(id) == nil || f.Interceptor().Count(op) != 1 {
				f.t.Errorf("%s: the list is not used, after %d requests", op, f.Interceptor().Count(op))
			}
		})
	}
}

// A caller waits no longer than its context allows.
func TestCanceled(t *testing.T) {
	t.Parallel()
	for _, op := range []string{opBalancers, opPools, opTree} {
		inBubble(t, func(f *fixture) {
			id := f.add("web")
			f.Interceptor().Inject(op, simserver.First(1), simserver.Slow(time.Hour))
			ctx, cancel := context.WithTimeout(f.t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			if _, _, ok, err := f.Observed(ctx, id); ok || !errors.Is(err, context.DeadlineExceeded) {
				f.t.Errorf("%s: %t, %v", op, ok, err)
			}
			if took := time.Since(began); took != time.Second {
				f.t.Errorf("%s: took %s", op, took)
			}
			if op != opTree { // the list goes on
				time.Sleep(snapshot.DefaultTimeout)
			}
			if f.observed(id) == nil {
				f.t.Errorf("%s: the next caller cannot use it", op)
			}
		})
	}
}

// Security groups are found by name in a list of their own.
func TestGroups(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		find := func(reason string, lists int, want ...string) {
			f.t.Helper()
			f.Interceptor().Reset()
			found, err := f.Groups(f.t.Context(), "web")
			if err != nil {
				f.t.Error(err)
			}
			var got []string
			for _, g := range found {
				got = append(got, g.ID)
			}
			openstacktest.Check(f.t, reason, want, got)
			if got := f.Interceptor().Count(opGroups); got != lists {
				f.t.Errorf("%s: %d lists, want %d", reason, got, lists)
			}
		}
		find("there is none", 1)
		id := f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "web"})
		f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "web", Project: openstack.ProjectOther})
		find("the list is young", 0)
		f.ExpireGroups()
		find("it is listed again", 1, id)
		time.Sleep(snapshot.DefaultMaxAge)
		find("the list is old", 1, id)
		f.Interceptor().Inject(opGroups, simserver.Always(), openstack.Denied())
		f.ExpireGroups()
		if _, err := f.Groups(f.t.Context(), "web"); !errors.Is(err, apierr.ErrDenied) {
			f.t.Errorf("error = %v", err)
		}
	})
}
