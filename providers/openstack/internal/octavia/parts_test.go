package octavia_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const otherTag = "kube_service_kubernetes_shop_other"

// all are the members of TCP/80 with three Nodes.
var all = []string{"10.0.0.101:30080", "10.0.0.102:30080", "10.0.0.103:30080"}

// OS-LB-8: a wanted port on which another Service or a user has a listener is an error that
// names it; nothing is written for it, and the other ports are served.
func TestOccupiedPort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason, name, protocol string
		tags                   []string
		text                   string
	}{
		"another Service":            {reason: "by its tag", name: "listener_0_" + otherTag, protocol: "TCP", tags: []string{otherTag}, text: "belongs to " + otherTag},
		"another Service with HTTP":  {reason: "HTTP is TCP, too", name: "listener_0_" + otherTag, protocol: "HTTP", tags: []string{otherTag}, text: "belongs to " + otherTag},
		"a user":                     {reason: "it has another name", name: "mine", protocol: "TCP", text: "belongs to a user"},
		"a user with metrics":        {reason: "PROMETHEUS is TCP, too", name: "mine", protocol: "PROMETHEUS", text: "belongs to a user"},
		"another Service, our name":  {reason: "the tag counts", name: "listener_1_" + lbn, protocol: "TCP", tags: []string{otherTag}, text: "belongs to " + otherTag},
		"a user with a tag of users": {reason: "it has another name", name: "mine", protocol: "HTTP", tags: []string{"mine"}, text: "belongs to a user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, openstack.Options{}, func(f *writeFixture) {
				f.ensure(web(kubetest.Port(v1.ProtocolTCP, 80)))
				f.addListener(c.name, c.protocol, 443, c.tags...)
				f.Interceptor().Reset()
				svc := web(kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443), kubetest.Port(v1.ProtocolUDP, 443))
				_, err := f.try(svc)
				f.fails(c.reason, err, apierr.ErrConflict, c.text)
				f.fails(c.reason, err, apierr.ErrConflict, "port TCP/443")
				f.sent("the UDP port", opCreateListener, 1)
				f.sent("the UDP port", opCreatePool, 1)
				f.sent("no listener is changed", opUpdateListener, 0)
				f.serves("the other ports", "TCP", 80, all...)
				f.serves("the other ports", "UDP", 443, "10.0.0.101:30443", "10.0.0.102:30443", "10.0.0.103:30443")
			})
		})
	}
}

// OS-LB-8: what is of the Service and not wanted is deleted; what is of others stays.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		svc := web(kubetest.Port(v1.ProtocolTCP, 80))
		f.ensure(svc)
		f.addListener("listener_5_"+lbn, "TCP", 5000)
		f.addListener("tagged", "UDP", 5001, lbn, "mine")
		f.addListener("mine", "TCP", 5002)
		f.addListener("listener_0_"+otherTag, "TCP", 5003, otherTag)
		f.addPool("pool_5_"+lbn, "TCP")
		f.addPool("mine", "TCP")
		f.addPool("pool_0_"+otherTag, "TCP", otherTag)
		f.plans("own ones only", svc,
			"delete listener listener_5_LBN (ID), TCP/5000", "delete listener tagged (ID), UDP/5001", "delete pool pool_5_LBN (ID)")
		f.ensure(svc)
		f.unchanged("others stay", svc)
		lb := f.LoadBalancer(f.lb)
		if len(lb.Listeners) != 3 || len(lb.Pools) != 3 {
			t.Errorf("listeners %v and pools %v are left, want 3 of each", lb.Listeners, lb.Pools)
		}
	})
}

// A pool that an interrupted run has left is used.
func TestUnusedPoolIsAdopted(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		f.ensure(web(kubetest.Port(v1.ProtocolTCP, 80)))
		f.addPool("pool_0_"+lbn, "PROXY", lbn)
		svc := web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationProxyProtocol, "v1"))
		f.plans("it is filled, and the listener moves", svc,
			"port TCP/80: add members "+threeMembers+"; pool pool_0_LBN (ID)",
			"port TCP/80: move listener listener_0_LBN (ID) to pool pool_0_LBN (ID) from pool pool_0_LBN (ID)",
			"delete pool pool_0_LBN (ID)")
		f.watch("TCP", 80)
		f.ensure(svc)
		f.unchanged("the listener has moved", svc)
		if outages := f.Outages(); len(outages) > 0 {
			t.Errorf("the port is not served after %q", outages)
		}
	})
}

// OS-LB-9: a listener does not move to a pool that has no members because they were refused
// for another reason than themselves.
func TestListenerStaysWithoutNewMembers(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		f.ensure(web(kubetest.Port(v1.ProtocolTCP, 80)))
		f.watch("TCP", 80)
		svc := web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationProxyProtocol, "v1"))
		f.Interceptor().Inject(opMembers, simserver.Always(), openstack.Error(403, "", "Policy does not allow this request to be performed."))
		_, err := f.try(svc)
		f.fails("members are denied", err, apierr.ErrDenied, "add members")
		f.sent("the listener stays", opUpdateListener, 0)
		f.serves("the old pool", "TCP", 80, all...)
		f.Interceptor().Clear()
		f.ensure(svc)
		f.unchanged("the denial is over", svc)
		if pools := f.LoadBalancer(f.lb).Pools; len(pools) != 1 {
			t.Errorf("pools %v are left", pools)
		}
		if outages := f.Outages(); len(outages) > 0 {
			t.Errorf("the port is not served after %q", outages)
		}
	})
}

// OS-LB-9: a pool that an L7 policy of a user uses stays, with a warning.
func TestPoolInUseByPolicy(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		forwarded := with(request.AnnotationXForwardedFor, "true")
		f.ensure(web(kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 81), forwarded))
		f.AddL7Policy(f.LoadBalancer(f.lb).Listeners[0], f.LoadBalancer(f.lb).Pools[1])
		svc := web(kubetest.Port(v1.ProtocolTCP, 80), forwarded)
		warnings, err := f.try(svc)
		f.fails("it is not needed", err, nil, "")
		f.warned("a user needs it", warnings, octavia.PoolKept)
		if lb := f.LoadBalancer(f.lb); len(lb.Pools) != 2 || len(lb.Listeners) != 1 {
			t.Errorf("listeners %v and pools %v are left", lb.Listeners, lb.Pools)
		}
	})
}

// OS-LB-28: a listener with L7 policies of users is not deleted for another protocol.
func TestListenerWithPoliciesIsKept(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		f.ensure(web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationXForwardedFor, "true")))
		lb := f.LoadBalancer(f.lb)
		f.AddL7Policy(lb.Listeners[0], lb.Pools[0])
		f.Interceptor().Reset()
		svc := web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationConnectionLimit, "7"))
		f.addNodes(1, 2, 4)
		d := f.desired(svc)
		_, findings := octavia.Diff(f.observe(d.Names), d)
		f.warned("the user is told why", findings.Warnings, octavia.ListenerKept)
		if len(findings.Gaps) != 1 {
			t.Errorf("gaps %v", findings.Gaps)
		}
		f.plans("the rest of the port follows the Service", svc,
			tcp80+"update members: keep 2; add node-4 10.0.0.104:30080; remove node-3 10.0.0.103:30080; pool pool_0_LBN (ID)",
			tcp80+"update listener listener_0_LBN (ID): connection limit 7, header X-Forwarded-For false")
		f.ensure(svc)
		f.unchanged("the protocol stays", svc)
		f.sent("the listener stays", opDeleteListener, 0)
		f.sent("nothing is prepared", opCreatePool, 0)
		f.serves("the pool of the listener", "TCP", 80, "10.0.0.101:30080", "10.0.0.102:30080", "10.0.0.104:30080")
	})
}

// OS-LB-28: a listener that keeps its protocol because of L7 policies, and that has no pool,
// gets one that it can have.
func TestListenerWithPoliciesAndNoPool(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		f.ensure(web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationXForwardedFor, "true")))
		lb := f.LoadBalancer(f.lb)
		f.AddL7Policy(lb.Listeners[0], f.addPool("rejects", "HTTP"))
		f.write(func(ctx context.Context) error {
			_, err := f.api.UpdateListener(ctx, lb.Listeners[0], client.ListenerUpdate{DefaultPoolID: client.SetNull[string]()})

			return err
		})
		svc := web(kubetest.Port(v1.ProtocolTCP, 80))
		f.ensure(svc)
		f.unchanged("the protocol stays", svc)
		f.serves("the pool has the protocol of the listener", "TCP", 80, "10.0.0.101:30080", "10.0.0.102:30080", "10.0.0.103:30080")
	})
}

// OS-LB-28: a listener of another protocol is refused before the old one is deleted if
// Octavia validates it first, and else the old one is created again.
func TestListenerReplacementIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason  string
		prepare func(f *writeFixture)
		// deletions are how often the listener was deleted.
		deletions int
		text      string
	}{
		"a certificate": {
			reason:  "it is validated before the port",
			prepare: func(*writeFixture) {}, text: "Could not retrieve certificate",
		},
		"a driver": {
			reason: "it sees the listener last",
			prepare: func(f *writeFixture) {
				f.Interceptor().Inject(opCreateListener, simserver.Nth(2), openstack.Error(501, "", "Provider 'amphora' does not support a requested option: no TLS today"))
			},
			deletions: 1, text: "created again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, openstack.Options{}, func(f *writeFixture) {
				before := web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationConnectionLimit, "7"))
				f.ensure(before)
				f.Interceptor().Reset()
				secret := openstack.SecretSpec{Name: "certificate", NotForOctavia: c.deletions == 0}
				svc := web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationTLSContainerRef, f.AddSecret(secret)))
				c.prepare(f)
				_, err := f.try(svc)
				f.fails(c.reason, err, apierr.ErrInvalid, c.text)
				f.sent(c.reason, opDeleteListener, c.deletions)
				f.serves("the old listener", "TCP", 80, all...)
				f.Interceptor().Clear()
				f.ensure(before)
				f.unchanged("everything is as before", before)
			})
		})
	}
}

// OS-LB-28: a run that ends between the deletion and the creation of a listener is
// completed.
func TestListenerReplacementIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simserver.Fault{"before": openstack.Error(500, "", "internal error"), "after": openstack.ProxyAfter(504)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, openstack.Options{StaleReads: new(openstack.StaleReads)}, func(f *writeFixture) { // so that the second POST is the one after the deletion
				f.ensure(web(kubetest.Port(v1.ProtocolTCP, 80)))
				f.Interceptor().Reset()
				f.Interceptor().Inject(opCreateListener, simserver.Nth(2), fault)
				svc := web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationXForwardedFor, "true"))
				_, err := f.try(svc)
				f.fails("the response is lost", err, apierr.ErrUnavailable, "replace listener")
				f.sent("it is not sent again", opCreateListener, 2)
				f.Interceptor().Clear()
				f.ensure(svc)
				f.unchanged("the next run", svc)
				f.serves("the next run", "TCP", 80, all...)
				if lb := f.LoadBalancer(f.lb); len(lb.Pools) != 1 || len(lb.Listeners) != 1 {
					t.Errorf("listeners %v and pools %v are left", lb.Listeners, lb.Pools)
				}
			})
		})
	}
}

// OS-LB-7: what users have set on members and listeners stays when others change.
func TestSettingsOfUsersStay(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		svc := web(kubetest.Port(v1.ProtocolTCP, 80))
		f.ensure(svc)
		_, p := f.first()
		f.write(func(ctx context.Context) error {
			members, err := f.api.ListMembers(ctx, p.ID)
			if err != nil {
				return err
			}
			var specs []client.MemberSpec
			for _, m := range members {
				spec := m.Spec()
				spec.Weight, spec.Backup, spec.Tags = new(7), new(true), []string{"mine"}
				specs = append(specs, spec)
			}

			return f.api.UpdateMembers(ctx, p.ID, specs)
		})
		f.unchanged("they do not count", svc)
		f.addNodes(1, 2)
		f.ensure(svc)
		f.addNodes(1, 2, 4)
		f.ensure(svc)
		members, err := f.api.ListMembers(f.t.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, m := range members {
			text := "as made"
			if *m.Weight == 7 && *m.Backup && cmp.Equal(m.Tags, []string{"mine"}) {
				text = "as set"
			}
			got[m.Name] = text
		}
		if diff := cmp.Diff(map[string]string{"node-1": "as set", "node-2": "as set", "node-4": "as made"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// OS-LB-10: a pool in ERROR below an ACTIVE load balancer is repaired, or replaced if it
// stays so; one that stays pending is repaired when it has to change.
func TestBrokenPool(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason    string
		prepare   func(f *writeFixture, pool string)
		nodes     []int
		want      []string
		creations int
		// fails means that the first sync fails, and that the next one replaces the pool.
		fails bool
	}{
		"in ERROR": {
			reason: "a PUT repairs it", prepare: func(f *writeFixture, pool string) { f.FailPool(pool, false) }, nodes: []int{1, 2, 3},
			want: []string{"port TCP/80: repair pool pool_0_LBN (ID), which is ERROR"},
		},
		"in ERROR, with a new Node": {
			reason: "members are refused before", prepare: func(f *writeFixture, pool string) { f.FailPool(pool, false) }, nodes: []int{1, 2, 3, 4},
			want: []string{"port TCP/80: repair pool pool_0_LBN (ID), which is ERROR", "port TCP/80: add members node-4 10.0.0.104:30080; pool pool_0_LBN (ID)"},
		},
		"in ERROR for good": {
			reason: "it is replaced", prepare: func(f *writeFixture, pool string) { f.FailPool(pool, true) }, nodes: []int{1, 2, 4},
			want: []string{
				"port TCP/80: repair pool pool_0_LBN (ID), which is ERROR",
				"port TCP/80: update members: keep 2; add node-4 10.0.0.104:30080; remove node-3 10.0.0.103:30080; pool pool_0_LBN (ID)",
			},
			creations: 1, fails: true,
		},
		"in ERROR for good, unchanged": {
			reason: "it is replaced by the next sync", prepare: func(f *writeFixture, pool string) { f.FailPool(pool, true) }, nodes: []int{1, 2, 3},
			want: []string{"port TCP/80: repair pool pool_0_LBN (ID), which is ERROR"}, creations: 1,
		},
		"pending forever, unchanged": {
			reason: "it serves", prepare: func(f *writeFixture, pool string) { f.SetProvisioningStatus(pool, "PENDING_CREATE") }, nodes: []int{1, 2, 3}, want: []string{""},
		},
		"pending forever, with a new Node": {
			reason: "members are refused", prepare: func(f *writeFixture, pool string) { f.SetProvisioningStatus(pool, "PENDING_CREATE") }, nodes: []int{1, 2, 3, 4},
			want: []string{"port TCP/80: repair pool pool_0_LBN (ID), which is PENDING_CREATE", "port TCP/80: add members node-4 10.0.0.104:30080; pool pool_0_LBN (ID)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, openstack.Options{}, func(f *writeFixture) {
				f.settings.Monitor = monitored
				svc := web(kubetest.Port(v1.ProtocolTCP, 80))
				f.ensure(svc)
				f.watch("TCP", 80)
				pool := f.LoadBalancer(f.lb).Pools[0]
				f.addNodes(c.nodes...)
				c.prepare(f, pool)
				f.plans(c.reason, svc, c.want...)
				if _, err := f.try(svc); (err != nil) != c.fails {
					t.Errorf("%s: %v", c.reason, err)
				}
				if c.creations > 0 {
					f.ensure(svc)
				}
				f.unchanged(c.reason, svc)
				f.sent(c.reason, opCreatePool, c.creations)
				var want []string
				for _, n := range c.nodes {
					want = append(want, strings.Replace("10.0.0.10N:30080", "N", string(rune('0'+n)), 1))
				}
				f.serves(c.reason, "TCP", 80, want...)
				if outages := f.Outages(); len(outages) > 0 {
					t.Errorf("%s: the port is not served after %q", c.reason, outages)
				}
			})
		})
	}
}

// OS-LB-10: where every pool of a port fails for good, each sync plans one repair or one more pool, and the
// listener stays.
func TestAllPoolsBroken(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		svc := web(kubetest.Port(v1.ProtocolTCP, 80))
		f.ensure(svc)
		f.watch("TCP", 80)
		for sync := range 6 {
			for _, pool := range f.LoadBalancer(f.lb).Pools {
				f.FailPool(pool, true)
			}
			_, _ = f.try(svc)
			if pools := len(f.LoadBalancer(f.lb).Pools); pools > 2 {
				t.Fatalf("sync %d: %d pools", sync, pools)
			}
		}
		f.serves("the listener stays", "TCP", 80, "10.0.0.101:30080", "10.0.0.102:30080", "10.0.0.103:30080")
		if outages := f.Outages(); len(outages) > 0 {
			t.Errorf("the port is not served after %q", outages)
		}
	})
}

// OS-LB-10: parts of a load balancer that was created as a whole stay pending in some
// releases: that causes nothing until they have to change.
func TestStuckParts(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		f.SetStuckParts(true)
		f.settings.Monitor = monitored
		svc := web()
		f.ensure(svc)
		f.unchanged("they serve", svc)
		f.addNodes(1, 2, 4)
		f.ensure(svc)
		f.unchanged("a Node has changed", svc)
		svc = web(with(request.AnnotationHealthMonitorDelay, "9"))
		f.ensure(svc)
		f.unchanged("the health monitors have changed", svc)
		f.serves("they serve", "TCP", 80, "10.0.0.101:30080", "10.0.0.102:30080", "10.0.0.104:30080")
	})
}

// OS-LB-12: an algorithm that is refused on an existing pool is an error of that pool, which
// keeps its own. The other one and the listeners are as they should be.
func TestRefusedAlgorithm(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		f.ensure(web())
		svc := web(with(request.AnnotationLBMethod, "LEAST_CONNECTIONS"), with(request.AnnotationConnectionLimit, "9"))
		f.Interceptor().Inject(opUpdatePool, simserver.Nth(1), openstack.Error(501, "", "Provider 'amphora' does not support a requested option: lb_algorithm"))
		_, err := f.try(svc)
		f.fails("the error names it", err, apierr.ErrInvalid, "lb_algorithm")
		f.plans("the rest is done", svc, "port TCP/80: update pool pool_0_LBN (ID): algorithm LEAST_CONNECTIONS instead of ROUND_ROBIN")
		f.ensure(svc)
		f.unchanged("it is requested again", svc)
	})
}

// OS-LB-13: an algorithm that the provider is known to lack is not requested of a pool that exists.
func TestKnownAlgorithm(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		f.ensure(web())
		svc := web(with(request.AnnotationLBMethod, "SOURCE_IP_PORT"))
		f.plans("amphora has no such algorithm", svc, "")
		_, findings := octavia.Diff(f.observe(f.desired(svc).Names), f.desired(svc))
		f.warned("as long as it is wanted", findings.Warnings, request.MethodUnknown, request.MethodUnknown)
	})
}

// OS-LB-12: a member that is refused costs itself.
func TestRefusedMembers(t *testing.T) {
	t.Parallel()
	named := openstack.Error(400, "", "10.0.0.102 is not a valid option for member address")
	for name, c := range map[string]struct {
		reason   string
		options  openstack.Options
		prepare  func(f *writeFixture)
		warnings []service.Reason
		serves   []string
	}{
		"named": {
			reason: "the call is repeated without it", prepare: func(f *writeFixture) { f.Interceptor().Inject(opMembers, simserver.Nth(1), named) },
			warnings: []service.Reason{change.TargetRefused}, serves: []string{"10.0.0.101:30080", "10.0.0.103:30080", "10.0.0.104:30080"},
		},
		"a duplicate": {
			reason: "it is named, too", prepare: func(f *writeFixture) {
				f.Interceptor().Inject(opMembers, simserver.Nth(1), openstack.Error(409, "", "Another member on this pool is already using ip 10.0.0.103 on protocol_port 30080"))
			},
			warnings: []service.Reason{change.TargetRefused}, serves: []string{"10.0.0.101:30080", "10.0.0.102:30080", "10.0.0.104:30080"},
		},
		"not named": {
			reason: "halves of the members are tried", prepare: func(f *writeFixture) {
				f.Interceptor().Inject(opMembers, simserver.First(2), openstack.Error(400, "", "a member is invalid"))
			},
			warnings: []service.Reason{change.TargetRefused}, serves: []string{"10.0.0.101:30080", "10.0.0.103:30080", "10.0.0.104:30080"},
		},
		"a quota": {
			reason: "as many as fit", options: openstack.Options{Quotas: openstack.Quotas{Members: 3}}, prepare: func(*writeFixture) {},
			warnings: []service.Reason{change.QuotaExceeded}, serves: []string{"10.0.0.101:30080", "10.0.0.102:30080", "10.0.0.103:30080"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, c.options, func(f *writeFixture) {
				f.addNodes(1)
				svc := web(kubetest.Port(v1.ProtocolTCP, 80))
				f.ensure(svc)
				f.Interceptor().Reset()
				c.prepare(f)
				f.addNodes(1, 2, 3, 4)
				warnings, err := f.try(svc)
				f.fails(c.reason, err, nil, "")
				f.warned(c.reason, warnings, c.warnings...)
				f.serves(c.reason, "TCP", 80, c.serves...)
			})
		})
	}
}

// OS-LB-12: an option that the provider of an existing load balancer refuses is an error that
// names it, and costs no other port.
func TestRefusedOption(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		f.ensure(web())
		f.Interceptor().Inject(opUpdateListener, simserver.Nth(1), openstack.Error(501, "", "Provider 'amphora' does not support a requested option: allowed_cidrs"))
		svc := web(with(request.AnnotationSourceRanges, "192.0.2.0/24"))
		_, err := f.try(svc)
		f.fails("the error names it", err, apierr.ErrInvalid, "allowed_cidrs")
		f.plans("the other port has it", svc, "port TCP/80: update listener listener_0_LBN (ID): allowed CIDRs 192.0.2.0/24")
	})
}

// OS-LB-12: a range that is refused for its value does not open the listener to all clients.
func TestRefusedValueIsAnError(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		f.ensure(web(with(request.AnnotationSourceRanges, "192.0.2.0/24")))
		f.Interceptor().Inject(opUpdateListener, simserver.Always(), openstack.Error(400, "", "CIDR 198.51.100.0/24 IP version incompatible with all VIPs: allowed_cidrs"))
		_, err := f.try(web(with(request.AnnotationSourceRanges, "198.51.100.0/24")))
		f.fails("it is invalid", err, apierr.ErrInvalid, "incompatible")
		for _, e := range f.Serving() {
			if diff := cmp.Diff([]string{"192.0.2.0/24"}, e.Sources); diff != "" {
				t.Errorf("clients of %s/%d: %s", e.Protocol, e.Port, diff)
			}
		}
	})
}

// OS-LB-10: a part in ERROR, whose last change has failed, is repaired by another change.
func TestFailedParts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		part   func(l *client.Listener, p *client.Pool) string
		want   string
	}{
		"listener": {
			reason: "the data plane may not have it", part: func(l *client.Listener, _ *client.Pool) string { return l.ID },
			want: "port TCP/80: update listener listener_0_LBN (ID): nothing, since it is in ERROR",
		},
		"member": {
			reason: "it may get no traffic", part: func(_ *client.Listener, p *client.Pool) string { return p.Members[0] },
			want: "port TCP/80: update members: keep 2; change node-1 10.0.0.101:30080; pool pool_0_LBN (ID)",
		},
		"health monitor": {
			reason: "members may not be checked", part: func(_ *client.Listener, p *client.Pool) string { return p.MonitorID },
			want: "port TCP/80: update health monitor monitor_0_LBN (ID): nothing, since it is in ERROR",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, openstack.Options{}, func(f *writeFixture) {
				f.settings.Monitor = monitored
				svc := web(kubetest.Port(v1.ProtocolTCP, 80))
				f.ensure(svc)
				f.SetProvisioningStatus(c.part(f.first()), "ERROR")
				f.settle()
				f.plans(c.reason, svc, c.want)
				f.ensure(svc)
				f.unchanged(c.reason, svc)
			})
		})
	}
}

// OS-LB-7: headers that users insert stay when that of the Service comes and goes.
func TestHeadersOfUsersStay(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		svc := web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationXForwardedFor, "true"))
		f.ensure(svc)
		f.putHeaders(map[string]string{"X-Forwarded-Port": "true"})
		f.ensure(svc)
		l, _ := f.first()
		if diff := cmp.Diff(map[string]string{"X-Forwarded-For": "true", "X-Forwarded-Port": "true"}, l.InsertHeaders); diff != "" {
			t.Error(diff)
		}
		f.ensure(web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationTLSContainerRef, f.AddSecret(openstack.SecretSpec{Name: "certificate"}))))
		l, _ = f.first()
		if diff := cmp.Diff(map[string]string{"X-Forwarded-Port": "true"}, l.InsertHeaders); diff != "" {
			t.Errorf("a listener of another protocol: %s", diff)
		}
	})
}
