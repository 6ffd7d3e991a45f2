package octavia_test

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// drawn is how many pairs of Services are drawn: each is a lot of calls.
const drawn = 24

// drawing is a Service with its Nodes.
type drawing struct {
	svc   *v1.Service
	nodes []int
}

// drawService draws a Service. The certificate is that of ports with TLS.
func (c cloudOf) drawService(provider, certificate string) func(*rapid.T) drawing {
	return func(r *rapid.T) drawing {
		var options []kubetest.ServiceOption
		maybe := func(name string, option kubetest.ServiceOption) {
			if rapid.Bool().Draw(r, name) {
				options = append(options, option)
			}
		}
		number := func(name string, least, most int) string {
			return strconv.Itoa(rapid.IntRange(least, most).Draw(r, name))
		}
		ports := rapid.SliceOfNDistinct(rapid.SampledFrom(c.ports()), 1, 4, rapid.ID).Draw(r, "ports")
		shift := rapid.Int32Range(0, 1).Draw(r, "shift")
		for _, port := range ports {
			protocol, n := portOf(port)
			options = append(options, kubetest.Port(v1.Protocol(protocol), n))
		}
		maybe("local", kubetest.LocalTraffic(32000))
		maybe("monitor", with(request.AnnotationEnableHealthMonitor, "true"))
		maybe("delay", with(request.AnnotationHealthMonitorDelay, number("seconds", 6, 7)))
		maybe("limit", with(request.AnnotationConnectionLimit, number("connections", 5, 6)))
		maybe("timeout", with(request.AnnotationTimeoutClientData, number("milliseconds", 1000, 1001)))
		maybe("ranges", with(request.AnnotationSourceRanges, rapid.SampledFrom([]string{"192.0.2.0/24", "0.0.0.0/0", "198.51.100.0/24,192.0.2.0/25"}).Draw(r, "CIDRs")))
		maybe("affinity", func(svc *v1.Service) { svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP })
		if provider == "amphora" {
			maybe("method", with(request.AnnotationLBMethod, "LEAST_CONNECTIONS"))
			switch rapid.IntRange(0, 3).Draw(r, "protocols") {
			case 0:
				options = append(options, with(request.AnnotationXForwardedFor, "true"))
			case 1:
				options = append(options, with(request.AnnotationProxyProtocol, rapid.SampledFrom(c.versions()).Draw(r, "version")))
			}
			maybe("tls", with(request.AnnotationTLSContainerRef, certificate))
		}
		svc := web(options...)
		for i := range svc.Spec.Ports {
			svc.Spec.Ports[i].NodePort += shift
		}
		nodes := rapid.SliceOfNDistinct(rapid.IntRange(1, 5), 0, 4, rapid.ID).Draw(r, "nodes")
		slices.Sort(nodes)

		return drawing{svc, nodes}
	}
}

// portOf parses a port such as TCP/80.
func portOf(text string) (protocol string, number int32) {
	protocol, digits, _ := strings.Cut(text, "/")
	n, _ := strconv.Atoi(digits)

	return protocol, int32(n)
}

// cloudOf is a kind of cloud for properties.
type cloudOf struct {
	options openstack.Options
	serial  bool
	// old is an API without SCTP and version 2 of the PROXY protocol.
	old bool
}

func (c cloudOf) ports() []string {
	all := []string{"TCP/80", "TCP/443", "UDP/80", "UDP/53"}
	if c.old {
		return all
	}

	return append(all, "SCTP/90")
}

func (c cloudOf) versions() []string {
	if c.old {
		return []string{"v1"}
	}

	return []string{"v1", "v2"}
}

var clouds = map[string]cloudOf{
	"amphora": {},
	"ovn":     {options: openstack.Options{Profile: openstack.OVN}},
	"bare":    {options: openstack.Options{Profile: openstack.Bare}, serial: true, old: true},
	"old":     {options: openstack.Options{OctaviaMinor: 10}, old: true},
	"serial":  {serial: true},
}

// inClouds runs a test with a number of seeds in each kind of cloud, a few of them with the race
// detector.
func inClouds(t *testing.T, seeds int, test func(f *writeFixture, c cloudOf, seed int)) {
	t.Helper()
	for name, c := range clouds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range profile.Of(min(seeds, 3), seeds, seeds) {
				inBubble(t, c.options, func(f *writeFixture) {
					f.serial = c.serial
					f.settings.Monitor = request.MonitorSettings{Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3}
					test(f, c, seed)
				})
				if t.Failed() {
					t.FailNow()
				}
			}
		})
	}
}

// services draws Services of a cloud.
func (f *writeFixture) services(c cloudOf) *rapid.Generator[drawing] {
	return rapid.Custom(c.drawService(f.provider, f.AddSecret(openstack.SecretSpec{Name: "certificate"})))
}

// served checks that everything the Service wants is served, and nothing else.
func (f *writeFixture) served(d drawing) {
	f.t.Helper()
	var want, got []string
	for _, port := range d.svc.Spec.Ports {
		var members []string
		for _, n := range d.nodes {
			members = append(members, net.JoinHostPort(fmt.Sprintf("10.0.0.%d", 100+n), fmt.Sprint(port.NodePort)))
		}
		want = append(want, fmt.Sprintf("%s/%d %v", port.Protocol, port.Port, members))
	}
	for _, e := range f.Serving() {
		got = append(got, fmt.Sprintf("%s/%d %v", e.Protocol, e.Port, e.Members))
	}
	slices.Sort(want)
	slices.Sort(got)
	openstacktest.Check(f.t, "what is served", want, got)
}

// change makes the load balancer what a drawing wants.
func (f *writeFixture) change(d drawing) error {
	f.t.Helper()
	f.addNodes(d.nodes...)
	_, err := f.try(d.svc)

	return err
}

// TestAlwaysConverges (OS-LB-7) changes a Service to any other one: one run ends at what it
// wants, and the next one has nothing to do.
func TestAlwaysConverges(t *testing.T) {
	t.Parallel()
	inClouds(t, drawn, func(f *writeFixture, c cloudOf, seed int) {
		services := f.services(c)
		for i := range 2 {
			d := services.Example(2*seed + i)
			if err := f.change(d); err != nil {
				f.t.Fatalf("seed %d.%d: %v", seed, i, err)
			}
			f.unchanged(fmt.Sprintf("seed %d.%d", seed, i), d.svc)
			f.served(d)
		}
	})
}

// faults are what can happen to a call.
var faults = map[string]simserver.Fault{
	"500 before": openstack.Error(500, "", "internal error"),
	"409":        openstack.Error(409, "", "Conflict"),
	"proxy":      openstack.Proxy(503, ""),
	"after":      openstack.ProxyAfter(504),
	"lost":       simserver.DropResponse(),
	"dropped":    simserver.Drop(),
	"throttled":  openstack.Throttled("1"),
}

// watchKept has outages reported of ports that are served before and after a change, with
// listeners of the same protocol.
func (f *writeFixture) watchKept(before, after drawing) {
	if len(before.nodes) == 0 || len(after.nodes) == 0 {
		return
	}
	kept := map[string]bool{}
	listeners := func(d drawing) map[string]bool {
		all := map[string]bool{}
		for _, p := range f.desired(d.svc).Ports {
			all[fmt.Sprintf("%d %s", p.Listener.Number, p.Listener.Protocol)] = true
		}

		return all
	}
	earlier := listeners(before)
	for l := range listeners(after) {
		kept[l] = earlier[l]
	}
	for _, p := range f.desired(after.svc).Ports {
		if kept[fmt.Sprintf("%d %s", p.Listener.Number, p.Listener.Protocol)] {
			f.watch(string(features.Transport(p.Listener.Protocol)), int(p.Listener.Number))
		}
	}
}

// TestRecovers (OS-LB-9) interrupts a change of a Service to any other one at any of its
// calls: the next runs end at what it wants.
func TestRecovers(t *testing.T) {
	t.Parallel()
	inClouds(t, drawn, func(f *writeFixture, c cloudOf, seed int) {
		r := rapid.Custom(func(r *rapid.T) int { return rapid.IntRange(1, 25).Draw(r, "call") })
		kind := rapid.SampledFrom(slices.Sorted(maps.Keys(faults))).Example(seed)
		services := f.services(c)
		before, after := services.Example(2*seed), services.Example(2*seed+1)
		openstacktest.Must(f.t, f.change(before))
		at := r.Example(seed)
		if !c.serial {
			f.watchKept(before, after)
		}
		f.addNodes(after.nodes...)
		steps := f.plan(after.svc)
		f.Interceptor().Inject(simserver.Any, simserver.Nth(at), faults[kind])
		_, _ = f.apply(steps)
		f.Interceptor().Clear()
		for range 2 {
			_ = f.change(after)
		}
		reason := fmt.Sprintf("seed %d, %s at call %d", seed, kind, at)
		if err := f.change(after); err != nil {
			f.t.Errorf("%s: %v", reason, err)
		}
		f.unchanged(reason, after.svc)
		f.served(after)
		if outages := f.Outages(); len(outages) > 0 {
			f.t.Errorf("%s: ports are not served after %q", reason, outages)
		}
	})
}

// TestRecoversFromCreation (OS-LB-4) interrupts the creation of a load balancer at any of
// its calls: the next runs complete it, and there is never a second one.
func TestRecoversFromCreation(t *testing.T) {
	t.Parallel()
	inClouds(t, drawn/2, func(f *writeFixture, c cloudOf, seed int) {
		kind := rapid.SampledFrom(slices.Sorted(maps.Keys(faults))).Example(seed)
		d := f.services(c).Example(seed)
		last := 3
		if c.serial {
			last = 15
		}
		at := rapid.IntRange(1, last).Example(seed)
		f.addNodes(d.nodes...)
		steps := f.plan(d.svc)
		f.Interceptor().Inject(simserver.Any, simserver.Nth(at), faults[kind])
		_, _ = f.apply(steps)
		f.Interceptor().Clear()
		reason := fmt.Sprintf("seed %d, %s at call %d", seed, kind, at)
		_ = f.change(d)
		if err := f.change(d); err != nil {
			f.t.Errorf("%s: %v", reason, err)
		}
		f.unchanged(reason, d.svc)
		f.served(d)
		if all := f.LoadBalancers(); len(all) != 1 {
			f.t.Errorf("%s: there are %d load balancers", reason, len(all))
		}
	})
}

// TestRecoversFromFailedChanges has changes fail after Octavia has accepted them, which
// leaves parts in ERROR: the next runs repair them.
func TestRecoversFromFailedChanges(t *testing.T) {
	t.Parallel()
	inClouds(t, drawn, func(f *writeFixture, c cloudOf, seed int) {
		services := f.services(c)
		before, after := services.Example(2*seed), services.Example(2*seed+1)
		openstacktest.Must(f.t, f.change(before))
		f.FailChanges(f.lb, 1+seed%4)
		_ = f.change(after)
		f.FailChanges(f.lb, 0)
		reason := fmt.Sprintf("seed %d", seed)
		_ = f.change(after)
		if err := f.change(after); err != nil {
			f.t.Errorf("%s: %v", reason, err)
		}
		f.unchanged(reason, after.svc)
		f.served(after)
	})
}
