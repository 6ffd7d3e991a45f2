package octavia_test

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// monitored are the settings of health monitors of most tests.
var monitored = request.MonitorSettings{Create: true, Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3}

// Texts of plans.
const (
	keptTimeouts = "timeouts 50000 5000 50000 0 ms"
	tcp80        = "port TCP/80: "
	monitorTCP   = "monitor_0_LBN, TCP, delay 5 s, timeout 3 s, retries 1, retries down 3"
	threeMembers = "node-1 10.0.0.101:30080, node-2 10.0.0.102:30080, node-3 10.0.0.103:30080"
	threeProxied = "add members " + threeMembers + "; pool pool_0_LBN (<new>)"
)

// nodePort sets the node port of the last port.
func nodePort(n int32) kubetest.ServiceOption {
	return func(svc *v1.Service) { svc.Spec.Ports[len(svc.Spec.Ports)-1].NodePort = n }
}

// planCase is a change of a Service with its plan.
type planCase struct {
	reason        string
	options       openstack.Options
	before, after *v1.Service
	// prepare changes the cloud before the plan is made.
	prepare func(f *writeFixture)
	want    []string
	// gap means that TCP/80 is not served for a while, or not any more.
	gap bool
}

// check makes the change.
func (c planCase) check(f *writeFixture) {
	f.t.Helper()
	f.ensure(c.before)
	f.watch("TCP", 80)
	if c.prepare != nil {
		c.prepare(f)
		f.settle()
	}
	want := c.want
	if want == nil {
		want = []string{""}
	}
	f.plans(c.reason, c.after, want...)
	f.ensure(c.after)
	f.unchanged(c.reason, c.after)
	if outages := f.Outages(); (len(outages) > 0) != c.gap {
		f.t.Errorf("%s: the port is not served after %q", c.reason, outages)
	}
}

// TestPlans (OS-LB-7, OS-LB-9) has the plan for each change of a Service. Applying it leaves
// nothing to do.
func TestPlans(t *testing.T) {
	t.Parallel()
	tcp := kubetest.Port(v1.ProtocolTCP, 80)
	for name, c := range map[string]planCase{
		"unchanged": {reason: "nothing is written", before: web(), after: web()},
		"connection limit": {
			reason: "one setting in one call", before: web(tcp), after: web(tcp, with(request.AnnotationConnectionLimit, "9")),
			want: []string{tcp80 + "update listener listener_0_LBN (ID): connection limit 9"},
		},
		"several settings": {
			reason: "all of them in one call", before: web(tcp),
			after: web(tcp, with(request.AnnotationConnectionLimit, "9"), with(request.AnnotationTimeoutClientData, "1000"),
				with(request.AnnotationTimeoutMemberConnect, "1001"), with(request.AnnotationTimeoutMemberData, "1002"), with(request.AnnotationTimeoutTCPInspect, "1003"),
				with(request.AnnotationSourceRanges, "192.0.2.0/24 198.51.100.0/24")),
			want: []string{tcp80 + "update listener listener_0_LBN (ID): connection limit 9, allowed CIDRs 192.0.2.0/24 198.51.100.0/24, " +
				"client data timeout 1000 ms, member connect timeout 1001 ms, member data timeout 1002 ms, TCP inspect timeout 1003 ms"},
		},
		"all clients": {
			reason: "no allowed CIDRs and all of them are the same", before: web(tcp), after: web(tcp, with(request.AnnotationSourceRanges, "0.0.0.0/0,192.0.2.0/24")),
		},
		"all clients of a listener without CIDRs": {
			reason: "the API returns null", before: web(tcp), after: web(tcp),
			prepare: func(f *writeFixture) { f.openListener() },
		},
		"the header on an HTTP listener": {
			reason: "it is inserted in place, beside that of a user", before: web(tcp, with(request.AnnotationXForwardedFor, "true")),
			after:   web(tcp, with(request.AnnotationXForwardedFor, "true")),
			prepare: func(f *writeFixture) { f.putHeaders(map[string]string{"X-Forwarded-Port": "true"}) },
			want:    []string{tcp80 + "update listener listener_0_LBN (ID): header X-Forwarded-For true"},
		},
		"algorithm and persistence": {
			reason: "in place, in one call", before: web(tcp), after: web(tcp, affine, with(request.AnnotationLBMethod, "LEAST_CONNECTIONS")),
			want: []string{tcp80 + "update pool pool_0_LBN (ID): algorithm LEAST_CONNECTIONS instead of ROUND_ROBIN, session persistence SOURCE_IP"},
		},
		"no persistence": {
			reason: "in place", before: web(tcp, affine), after: web(tcp),
			want: []string{tcp80 + "update pool pool_0_LBN (ID): no session persistence"},
		},
		"a pool protocol": {
			reason: "another pool is built, the listener moves, the old one goes", before: web(tcp), after: web(tcp, with(request.AnnotationProxyProtocol, "v1")),
			want: []string{
				tcp80 + "create pool pool_0_LBN, PROXY, ROUND_ROBIN, tags LBN", tcp80 + threeProxied,
				tcp80 + "move listener listener_0_LBN (ID) to pool pool_0_LBN (<new>) from pool pool_0_LBN (ID)", "delete pool pool_0_LBN (ID)",
			},
		},
		"a listener protocol": {
			gap:    true,
			reason: "the pool is built before the listener is replaced", before: web(tcp), after: web(tcp, with(request.AnnotationXForwardedFor, "true")),
			want: []string{
				tcp80 + "create pool pool_0_LBN, HTTP, ROUND_ROBIN, tags LBN", tcp80 + threeProxied,
				tcp80 + "replace listener listener_0_LBN (ID), TCP/80, by listener_0_LBN, HTTP/80, connection limit -1, header X-Forwarded-For, " +
					"allowed CIDRs 0.0.0.0/0, " + keptTimeouts + ", tags LBN; pool pool_0_LBN (<new>)",
				"delete pool pool_0_LBN (ID)",
			},
		},
		"another port": {
			gap:    true,
			reason: "the new one is there before the old one goes", before: web(tcp), after: web(kubetest.Port(v1.ProtocolTCP, 81)),
			want: []string{
				"port TCP/81: create pool pool_0_LBN, TCP, ROUND_ROBIN, tags LBN",
				"port TCP/81: add members node-1 10.0.0.101:30081, node-2 10.0.0.102:30081, node-3 10.0.0.103:30081; pool pool_0_LBN (<new>)",
				"port TCP/81: create listener listener_0_LBN, TCP/81, connection limit -1, allowed CIDRs 0.0.0.0/0, " + keptTimeouts + ", tags LBN; pool pool_0_LBN (<new>)",
				"delete listener listener_0_LBN (ID), TCP/80", "delete pool pool_0_LBN (ID)",
			},
		},
		"ports in another order": {
			reason: "names stay", before: web(tcp, kubetest.Port(v1.ProtocolUDP, 53)), after: web(kubetest.Port(v1.ProtocolUDP, 53), tcp),
		},
		"another node port": {
			reason: "all members in one call", before: web(tcp), after: web(tcp, nodePort(30090)),
			want: []string{tcp80 + "update members: keep 0; add node-1 10.0.0.101:30090, node-2 10.0.0.102:30090, node-3 10.0.0.103:30090; " +
				"remove node-1 10.0.0.101:30080, node-2 10.0.0.102:30080, node-3 10.0.0.103:30080; pool pool_0_LBN (ID)"},
		},
		"no node port": {
			gap:    true,
			reason: "a port without node port has no members", before: web(tcp), after: web(tcp, nodePort(0)),
			want: []string{tcp80 + "update members: keep 0; remove node-1 10.0.0.101:30080, node-2 10.0.0.102:30080, node-3 10.0.0.103:30080; pool pool_0_LBN (ID)"},
		},
		"a Node more": {
			reason: "the others are not in the request", before: web(tcp), after: web(tcp),
			prepare: func(f *writeFixture) { f.addNodes(1, 2, 3, 4) },
			want:    []string{tcp80 + "add members node-4 10.0.0.104:30080; pool pool_0_LBN (ID)"},
		},
		"a Node more on an old API": {
			reason: "it has no additions in one call", options: openstack.Options{OctaviaMinor: 10}, before: web(tcp), after: web(tcp),
			prepare: func(f *writeFixture) { f.addNodes(1, 2, 3, 4) },
			want:    []string{tcp80 + "add members one by one: node-4 10.0.0.104:30080; pool pool_0_LBN (ID)"},
		},
		"many Nodes more on an old API": {
			reason: "all members in one call", options: openstack.Options{OctaviaMinor: 10}, before: web(tcp), after: web(tcp),
			prepare: func(f *writeFixture) { f.addNodes(1, 2, 3, 4, 5, 6, 7) },
			want: []string{tcp80 + "update members: keep 3; add node-4 10.0.0.104:30080, node-5 10.0.0.105:30080, " +
				"node-6 10.0.0.106:30080, node-7 10.0.0.107:30080; pool pool_0_LBN (ID)"},
		},
		"a Node less": {
			reason: "all members in one call", before: web(tcp), after: web(tcp),
			prepare: func(f *writeFixture) { f.addNodes(1, 3) },
			want:    []string{tcp80 + "update members: keep 2; remove node-2 10.0.0.102:30080; pool pool_0_LBN (ID)"},
		},
		"local traffic": {
			reason: "members get the port for health checks before the monitor uses it", before: web(tcp), after: web(tcp, kubetest.LocalTraffic(32000)),
			prepare: func(f *writeFixture) { f.settings.Monitor = monitored },
			want: []string{
				tcp80 + "update members: keep 0; change node-1 10.0.0.101:30080 checked at 32000, node-2 10.0.0.102:30080 checked at 32000, node-3 10.0.0.103:30080 checked at 32000; pool pool_0_LBN (ID)",
				tcp80 + "create health monitor monitor_0_LBN, HTTP, delay 5 s, timeout 3 s, retries 1, retries down 3, GET /healthz is 200, tags LBN; pool pool_0_LBN (ID)",
			},
		},
		"deleted members": {
			gap:    true,
			reason: "they are added again", before: web(tcp), after: web(tcp), prepare: func(f *writeFixture) { f.dropMembers() },
			want: []string{tcp80 + "add members " + threeMembers + "; pool pool_0_LBN (ID)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, c.options, func(f *writeFixture) {
				c.check(f)
			})
		})
	}
}

// TestMonitorPlans (OS-LB-8, OS-LB-9) has the plan for each change of a health monitor.
func TestMonitorPlans(t *testing.T) {
	t.Parallel()
	tcp := kubetest.Port(v1.ProtocolTCP, 80)
	on, off := with(request.AnnotationEnableHealthMonitor, "true"), with(request.AnnotationEnableHealthMonitor, "false")
	for name, c := range map[string]planCase{
		"enabled": {
			reason: "the pool gets one", before: web(tcp, off), after: web(tcp, on),
			want: []string{tcp80 + "create health monitor " + monitorTCP + ", tags LBN; pool pool_0_LBN (ID)"},
		},
		"disabled": {
			reason: "it is deleted", before: web(tcp, on), after: web(tcp, off),
			want: []string{tcp80 + "delete health monitor monitor_0_LBN (ID), TCP"},
		},
		"disabled, that of a user": {
			reason: "it was not made for the Service", before: web(tcp, off), after: web(tcp, off),
			prepare: func(f *writeFixture) { f.userMonitor() },
		},
		"values": {
			reason: "in place", before: web(tcp, on),
			after: web(tcp, on, with(request.AnnotationHealthMonitorDelay, "7"), with(request.AnnotationHealthMonitorTimeout, "4"),
				with(request.AnnotationHealthMonitorMaxRetries, "2"), with(request.AnnotationHealthMonitorMaxRetriesDown, "4")),
			want: []string{tcp80 + "update health monitor monitor_0_LBN (ID): delay 7, timeout 4, retries 2, retries down 4"},
		},
		"type": {
			reason: "a pool has one at most", before: web(tcp, on), after: web(tcp, on, kubetest.LocalTraffic(32000)),
			want: []string{
				tcp80 + "update members: keep 0; change node-1 10.0.0.101:30080 checked at 32000, node-2 10.0.0.102:30080 checked at 32000, node-3 10.0.0.103:30080 checked at 32000; pool pool_0_LBN (ID)",
				tcp80 + "replace health monitor monitor_0_LBN (ID), TCP, by monitor_0_LBN, HTTP, delay 5 s, timeout 3 s, retries 1, retries down 3, GET /healthz is 200, tags LBN",
			},
		},
		"disabled with ports for health checks": {
			reason: "the monitor goes before the members lose the port", before: web(tcp, on, kubetest.LocalTraffic(32000)), after: web(tcp, off),
			want: []string{
				tcp80 + "delete health monitor monitor_0_LBN (ID), HTTP",
				tcp80 + "update members: keep 0; change node-1 10.0.0.101:30080, node-2 10.0.0.102:30080, node-3 10.0.0.103:30080; pool pool_0_LBN (ID)",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, openstack.Options{}, func(f *writeFixture) {
				f.settings.Monitor = monitored
				c.check(f)
			})
		})
	}
}

// Removals are marked, and additions are recognized.
func TestMarks(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		svc := web()
		f.ensure(svc)
		if steps := f.plan(svc); octavia.PlainAdditions(steps) {
			t.Error("an empty plan adds nothing")
		}
		f.addNodes(1, 2, 3, 4)
		steps := f.plan(svc)
		if !octavia.PlainAdditions(steps) || len(steps.Additions()) != len(steps) || len(steps.Removals()) > 0 {
			t.Errorf("only members are added:\n%s", steps)
		}
		other := web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationXForwardedFor, "true"))
		steps = f.plan(other)
		if octavia.PlainAdditions(steps) {
			t.Errorf("the listener is replaced:\n%s", steps)
		}
		var kinds []string
		for _, step := range steps.Removals() {
			kinds = append(kinds, step.Kind)
		}
		want := []string{"ReplaceListener", "DeletePool", "DeleteListener", "DeletePool"}
		if !slices.Equal(want, kinds) {
			t.Errorf("steps that remove are %v, want %v", kinds, want)
		}

		// Where nothing may be removed, the members that are not wanted stay.
		f.addNodes(2, 5)
		if _, err := f.apply(f.plan(svc).Additions()); err != nil {
			t.Error(err)
		}
		f.serves("members are only added", "TCP", 80, "10.0.0.101:30080", "10.0.0.102:30080", "10.0.0.103:30080", "10.0.0.105:30080")
	})
}
