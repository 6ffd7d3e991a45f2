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
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const otherTag = "kube_service_kubernetes_shop_other"

// all are the members of TCP/80 with three Nodes.
var all = []string{"10.0.0.101:30080", "10.0.0.102:30080", "10.0.0.103:30080"}

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
		openstacktest.Must(t, err)
		got := map[string]string{}
		for _, m := range members {
			text := "as made"
			if *m.Weight == 7 && *m.Backup && cmp.Equal(m.Tags, []string{"mine"}) {
				text = "as set"
			}
			got[m.Name] = text
		}
		openstacktest.Check(t, "it", map[string]string{"node-1": "as set", "node-2": "as set", "node-4": "as made"}, got)
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

// OS-LB-10: parts in ERROR, whose last change has failed, are repaired by another one.
func TestFailedParts(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		f.settings.Monitor = monitored
		svc := web(kubetest.Port(v1.ProtocolTCP, 80))
		f.ensure(svc)
		l, p := f.first()
		for _, id := range []string{l.ID, p.Members[0], p.MonitorID} { // a change of a member is one of its listener, too
			f.SetProvisioningStatus(id, "ERROR")
			f.settle()
			f.ensure(svc)
			f.unchanged("it is repaired", svc)
			if dump := f.Dump(); strings.Contains(dump, "ERROR") {
				t.Errorf("it stays in ERROR:\n%s", dump)
			}
		}
	})
}
