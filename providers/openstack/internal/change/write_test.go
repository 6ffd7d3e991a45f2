package change_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// exact has no stale reads: the times and calls of a test are those of its subject.
var exact openstack.StaleReads

// What becomes of a change, by the state of the load balancer.
func TestWrite(t *testing.T) {
	t.Parallel()
	const renamed = "renamed"
	for name, test := range map[string]struct {
		reason string
		before func(f *fixture)
		// name is that of the pool afterwards.
		name  string
		want  error
		sent  int
		takes time.Duration
	}{
		"active": {
			reason: "it has ended when the next one begins",
			before: func(*fixture) {}, name: renamed, sent: 1, takes: 3 * time.Second,
		},
		"in a failover": {
			reason: "a refusal has changed nothing, so the change is sent again",
			before: func(f *fixture) { f.StartFailover(f.lb, 5*time.Second) },
			name:   renamed, sent: 2, takes: 8 * time.Second,
		},
		"pending for ever": {
			reason: "it is not sent again, and the worker is free",
			before: func(f *fixture) { f.SetLoadBalancerStatus(f.lb, "PENDING_UPDATE") },
			name:   "pool", want: pending.ErrPending, sent: 1, takes: pending.DefaultLimit,
		},
		"in ERROR": {
			reason: "nothing but a deletion is possible",
			before: func(f *fixture) { f.SetLoadBalancerStatus(f.lb, "ERROR") },
			name:   "pool", want: pending.ErrFailed, sent: 1, takes: time.Second,
		},
		"applied without a response": {
			reason: "what may be applied is never sent again",
			before: func(f *fixture) { f.Interceptor().Inject(opPut, simserver.Always(), simserver.DropResponse()) },
			name:   renamed, want: apierr.ErrUnavailable, sent: 1,
		},
		"applied, and a proxy fails": {
			reason: "what may be applied is never sent again",
			before: func(f *fixture) { f.Interceptor().Inject(opPut, simserver.Always(), openstack.ProxyAfter(504)) },
			name:   renamed, want: apierr.ErrUnavailable, sent: 1,
		},
		"denied": {
			reason: "there is nothing to wait for",
			before: func(f *fixture) { f.Interceptor().Inject(opPut, simserver.Always(), openstack.Denied()) },
			name:   "pool", want: apierr.ErrDenied, sent: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, exact, func(f *fixture) {
				test.before(f)
				f.takes(test.reason, test.takes, func() {
					if err := f.Write(f.t.Context(), f.lb, f.rename(renamed)); !errors.Is(err, test.want) {
						f.t.Errorf("%s: error = %v, want %v", test.reason, err, test.want)
					}
				})
				f.sent(test.reason, opPut, test.sent)
				if got := f.name(); got != test.name {
					f.t.Errorf("%s: the pool is called %q, want %q", test.reason, got, test.name)
				}
			})
		})
	}
}

// A wait that a stale read has ended too early does no harm: the next change is refused, and
// sent again.
func TestStaleRead(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.StaleReads{Every: 1, Reads: 1}, func(f *fixture) {
		for _, name := range []string{"a", "b", "c"} {
			if err := f.Write(f.t.Context(), f.lb, f.rename(name)); err != nil {
				f.t.Errorf("rename to %s: %v", name, err)
			}
		}
		time.Sleep(time.Minute)
		f.name() // stale
		if got := f.name(); got != "c" {
			f.t.Errorf("the pool is called %q", got)
		}
	})
}

// A pool in ERROR below an ACTIVE load balancer is for others to repair. Octavia says the
// same about a pool that is pending with its load balancer, so that it is waited for once.
func TestPoolInError(t *testing.T) {
	t.Parallel()
	inBubble(t, exact, func(f *fixture) {
		f.FailPool(f.pool, false)
		f.takes("one look at the load balancer", time.Second, func() {
			err := f.Write(f.t.Context(), f.lb, f.setMembers(client.MemberSpec{Address: "10.0.0.9", Port: 80}))
			if conflict, ok := client.ConflictOf(err); !ok || conflict.Kind != client.KindPool || conflict.ID != f.pool {
				f.t.Errorf("error = %v", err)
			}
		})
		f.sent("it is sent again once", opMembers, 2)
		if err := f.Write(f.t.Context(), f.lb, f.rename("repaired")); err != nil {
			f.t.Errorf("the load balancer can be changed: %v", err)
		}
	})
}

// The steps of a plan share one wait for a load balancer that stays pending.
func TestBlocked(t *testing.T) {
	t.Parallel()
	inBubble(t, exact, func(f *fixture) {
		f.SetLoadBalancerStatus(f.lb, "PENDING_UPDATE")
		other := f.AddLoadBalancer(openstack.LoadBalancerSpec{Name: "other", Subnet: f.subnet})
		f.takes("one wait", pending.DefaultLimit, func() {
			for range 5 {
				openstacktest.Is(f.t, f.Write(f.t.Context(), f.lb, f.rename("a")), pending.ErrPending)
			}
		})
		f.sent("one try", opPut, 1)
		f.takes("others are not affected", 3*time.Second, func() {
			err := f.Write(f.t.Context(), other, func(ctx context.Context) error {
				_, err := f.Octavia.UpdateLoadBalancer(ctx, other, client.LoadBalancerUpdate{Name: client.Set("b")})

				return err
			})
			if err != nil {
				f.t.Error(err)
			}
		})
	})
}

// Others change the load balancer whenever it is ACTIVE.
func TestChangedByOthers(t *testing.T) {
	t.Parallel()
	inBubble(t, exact, func(f *fixture) {
		f.Interceptor().Inject(opPut, simserver.Always(), simserver.Before(func() { f.StartFailover(f.lb, 2500*time.Millisecond) }))
		f.takes("seven tries, three seconds each", 21*time.Second, func() {
			err := f.Write(f.t.Context(), f.lb, f.rename("a"))
			openstacktest.Is(f.t, err, pending.ErrPending)
			if conflict, _ := client.ConflictOf(err); conflict.Reason != client.ReasonImmutable {
				f.t.Errorf("the cause is lost: %v", err)
			}
		})
		f.sent("no more", opPut, 8)
	})
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	inBubble(t, exact, func(f *fixture) {
		f.SetLoadBalancerStatus(f.lb, "PENDING_UPDATE")
		ctx, cancel := context.WithCancel(f.t.Context())
		time.AfterFunc(1500*time.Millisecond, cancel)
		f.takes("as long as the context", 1500*time.Millisecond, func() {
			openstacktest.Is(f.t, f.Write(ctx, f.lb, f.rename("a")), context.Canceled)
		})
		f.SetLoadBalancerStatus(f.lb, "ACTIVE")
		if err := f.Write(f.t.Context(), f.lb, f.rename("a")); err != nil {
			f.t.Errorf("that is no verdict about the load balancer: %v", err)
		}
	})
}

func TestCreate(t *testing.T) {
	t.Parallel()
	create := func(f *fixture) func(ctx context.Context) (*client.LoadBalancerInfo, error) {
		return func(ctx context.Context) (*client.LoadBalancerInfo, error) {
			return f.Octavia.CreateLoadBalancer(ctx, client.LoadBalancerCreate{Name: "new", VIPSubnetID: f.subnet})
		}
	}
	inBubble(t, exact, func(f *fixture) {
		f.SetDelays(openstack.Delays{LoadBalancerCreate: 10 * time.Second}) // the wait is to end within its limit
		f.takes("as long as it takes", 10*time.Second, func() {
			err := f.Create(f.t.Context(), create(f))
			if err != nil || f.Created.Provisioning != client.ProvisioningActive {
				f.t.Fatalf("error = %v", err)
			}
			openstacktest.Check(f.t, "it", []string{f.Created.ID, f.Created.ID}, f.wrote)
		})
	})
	inBubble(t, exact, func(f *fixture) {
		// A creation that takes longer than any wait.
		f.SetDelays(openstack.Delays{LoadBalancerCreate: time.Hour})
		f.takes("longer than a wait", pending.DefaultLimit, func() {
			err := f.Create(f.t.Context(), create(f))
			if !errors.Is(err, pending.ErrPending) || f.Created == nil {
				f.t.Errorf("%v, error = %v", f.Created, err)
			}
		})
		f.SetDelays(openstack.TypicalDelays())
		f.FailCreations("", 1)
		if err := f.Create(f.t.Context(), create(f)); !errors.Is(err, pending.ErrFailed) || f.Created.Provisioning != client.ProvisioningError {
			f.t.Errorf("%v, error = %v", f.Created, err)
		}
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		before func(f *fixture)
		want   error
		sent   int
		takes  time.Duration
	}{
		"active":   {reason: "until it is gone", before: func(*fixture) {}, sent: 1, takes: 10 * time.Second},
		"in ERROR": {reason: "that is the only change there is", before: func(f *fixture) { f.SetLoadBalancerStatus(f.lb, "ERROR") }, sent: 1, takes: 10 * time.Second},
		"gone":     {reason: "there is nothing to do", before: func(f *fixture) { f.DeleteLoadBalancer(f.lb) }, sent: 1, takes: time.Second},
		"in change": {
			reason: "it may be one that must not be deleted", before: func(f *fixture) { f.StartFailover(f.lb, 4*time.Second) },
			want: pending.ErrPending, sent: 1,
		},
		"in deletion": {
			reason: "others do it", before: func(f *fixture) { f.SetLoadBalancerStatus(f.lb, "PENDING_DELETE") },
			want: pending.ErrPending, sent: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, exact, func(f *fixture) {
				test.before(f)
				f.takes(test.reason, test.takes, func() {
					err := f.Delete(f.t.Context(), f.lb, func(ctx context.Context) error { return f.Octavia.DeleteLoadBalancer(ctx, f.lb, true) })
					if !errors.Is(err, test.want) {
						f.t.Errorf("%s: error = %v, want %v", test.reason, err, test.want)
					}
				})
				f.sent(test.reason, opDelete, test.sent)
			})
		})
	}
}
