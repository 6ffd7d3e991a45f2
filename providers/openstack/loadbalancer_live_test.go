package openstack

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// kind is a kind of load balancers that may do other things with a change.
type kind struct {
	options openstack.Options
	config  string
	managed bool
}

// kinds are all kinds of load balancers.
func kinds() map[string]kind {
	const managed = "manage-security-groups = true\n"

	return map[string]kind{
		"amphora": {},
		"managed": {config: managed, managed: true},
		"ovn":     {config: "lb-provider = ovn\n" + managed, options: openstack.Options{Profile: openstack.OVN}, managed: true},
	}
}

// TestLoadBalancerLive changes each annotation, each field of a Service and each key of the
// cloud-config while a load balancer serves (OS-LB-9, OS-LB-13, OS-LB-37): what was served and is still
// wanted is served after every call; then the load balancer is as a new one would be, unless
// the table names what cannot change; the next sync writes nothing.
func TestLoadBalancerLive(t *testing.T) {
	t.Parallel()
	var count atomic.Int64
	t.Run("all", func(t *testing.T) {
		for name, k := range kinds() {
			all := liveChanges()
			for i, what := range slices.Sorted(maps.Keys(all)) {
				if (i+len(name))%profile.Of(24, 1, 1) != 0 {
					continue
				}
				count.Add(1)
				t.Run(name+"/"+what, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { testLive(t, k, name, all[what]) })
				})
			}
		}
	})
	t.Logf("%d changes of load balancers that serve", count.Load())
}

// live is a cloud with a load balancer that is changed while it serves.
type live struct {
	*lbSite

	liveChange
	kind  kind
	start *openstack.Snapshot
}

func testLive(t *testing.T, k kind, name string, change liveChange) {
	t.Helper()
	l := &live{lbSite: newSite(t, k.options, k.config+change.config), liveChange: change, kind: k}
	if special, ok := change.on[name]; ok {
		special(&l.liveChange)
	}
	if l.skipped {
		return
	}
	l.start = l.Snapshot()
	before, after := l.service(l.lbSite), l.service(l.lbSite)
	for _, edit := range l.change {
		edit(l.lbSite, after)
	}
	var want outcome
	if (l.stays == "" || l.stays == staysStatus) && l.fails == nil {
		l.reconfigure()
		want = l.create(t, after)
		l.Restore(l.start)
		l.config = k.config + change.config
	}
	p := l.run(t, before)
	first := l.settle(p)
	switch {
	case l.stays == staysStatus:
		want.state = first.state
	case l.stays != "" || l.fails != nil:
		want = first
	}
	changed := l.scenario
	changed.guarded = k.managed && !l.ungroups
	l.watchKept(p, p.stored("web"), after, changed)
	l.reconfigure()
	next := l.runWith(t, p.api)
	l.edit(next)
	got := l.converge(next)
	if outages := unexpected(l.Outages(), l.gap != ""); len(outages) > 0 {
		t.Errorf("not served any more after %v", outages)
	}
	if all := l.Unserved(); len(all) > 0 {
		t.Errorf("not served in the end: %v", all)
	}
	if l.stays == staysFixed || l.stays == staysMembers || l.stays == staysCurrent {
		// New members would be in other subnets, for which there are rules, too.
		want.state, got.state = withoutRules(want.state), withoutRules(got.state)
	}
	check(t, "it differs from what it should be", want.state, got.state)
	if got.status != want.status && (l.stays == "" || l.stays == staysStatus) && l.fails == nil {
		t.Errorf("the status is %s, want %s", got.status, want.status)
	}
	if !slices.ContainsFunc(got.events, func(e string) bool { return strings.HasPrefix(e, "Warning "+string(l.event)) }) && l.event != "" {
		t.Errorf("no Event %s: %v", l.event, got.events)
	}
	l.unchanged(l.runWith(t, p.api))
}

// reconfigure has later processes start with the changed cloud-config.
func (l *live) reconfigure() {
	if l.after != "" {
		l.config = l.kind.config + l.after
	}
}

// outcome is what there is after a sync.
type outcome struct {
	state, status string
	events        []string
}

// create has a new Service synced in the cloud as it was at the start.
func (l *live) create(t *testing.T, service *v1.Service) outcome {
	t.Helper()

	return l.settle(l.run(t, service))
}

// settle syncs the Service until it succeeds.
func (l *live) settle(p *lbProcess) outcome {
	p.t.Helper()
	events := record.NewFakeRecorder(100)
	p.balancers.(*loadBalancer).services.SetRecorder(events)
	var status *v1.LoadBalancerStatus
	p.until("sync", func(ctx context.Context) error {
		return persist(ctx, func() error {
			var err error
			status, err = p.balancers.EnsureLoadBalancer(ctx, clusterName, p.stored("web"), p.nodes[:2]) //nolint:contextcheck // the fixture has the context

			return err
		})
	})
	time.Sleep(lastChange)

	return outcome{state: l.state(), status: statusText(status), events: kubetest.Events(events)}
}

// converge syncs the changed Service.
func (l *live) converge(p *lbProcess) outcome {
	p.t.Helper()
	if l.fails == nil {
		return l.settle(p)
	}
	writes := l.writes()
	if _, err := p.balancers.EnsureLoadBalancer(p.t.Context(), clusterName, p.stored("web"), p.nodes[:2]); !l.fails(err) {
		p.t.Errorf("the error is %v", err)
	}
	if n := l.writes() - writes; n > 0 {
		p.t.Errorf("%d writes for a Service with a mistake", n)
	}

	return outcome{state: l.state()}
}

// unchanged syncs the Service once more, which writes nothing.
func (l *live) unchanged(p *lbProcess) {
	p.t.Helper()
	writes := l.writes()
	if l.fails == nil {
		l.settle(p)
	}
	if n := l.writes() - writes; n > 0 {
		p.t.Errorf("%d writes for a Service that has not changed: %v", n, l.Writes())
	}
}

// writes counts the writes so far.
func (l *live) writes() int {
	n := 0
	for op, count := range l.Writes() {
		if !strings.HasPrefix(op, "keystone.") {
			n += count
		}
	}

	return n
}

// state describes all that exists.
func (l *live) state() string { return strings.Join(l.Resources(), "\n") }

// withoutRules returns a state without the rules of security groups.
func withoutRules(state string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(state, "\n"), func(line string) bool { return strings.HasPrefix(line, "rule ") }), "\n")
}

// assignedIP matches the part of an address that the cloud assigns.
var assignedIP = regexp.MustCompile(`(203\.0\.113|198\.18\.[01]|10\.[89]\.0)\.[0-9]+`)

// statusText is a status without what the cloud assigns.
func statusText(status *v1.LoadBalancerStatus) string {
	var texts []string
	for _, ingress := range status.Ingress {
		mode := "none"
		if ingress.IPMode != nil {
			mode = string(*ingress.IPMode)
		}
		texts = append(texts, fmt.Sprintf("%s %s %s", assignedIP.ReplaceAllString(ingress.IP, "assigned"), assignedIP.ReplaceAllString(ingress.Hostname, "assigned"), mode))
	}

	return strings.Join(texts, ", ")
}

// TestLiveChangesAreAll proves that the changes have all annotations, all fields of a Service
// and all keys of the cloud-config.
func TestLiveChangesAreAll(t *testing.T) {
	t.Parallel()
	for _, name := range annotationNames(t) {
		if _, ok := liveAnnotations()[name]; !ok {
			t.Errorf("no change of annotation %s", name)
		}
	}
	all := liveChanges()
	compare := func(what string, fields reflect.Type, without map[string]string, key func(reflect.StructField) string) {
		t.Helper()
		for field := range fields.Fields() {
			name := key(field)
			if field.Anonymous {
				continue
			}
			changes := slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(change string) bool {
				return change == what+" "+name || strings.HasPrefix(change, what+" "+name+" ")
			})
			if _, skipped := without[name]; changes == skipped {
				t.Errorf("%s %s: there is a change: %t, the table has a reason why there is none: %t", what, name, changes, skipped)
			}
		}
	}
	lower := func(f reflect.StructField) string { return strings.Split(f.Tag.Get("json"), ",")[0] }
	compare("field", reflect.TypeFor[v1.ServiceSpec](), fieldsWithoutChange(), lower)
	compare("port", reflect.TypeFor[v1.ServicePort](), nil, lower)
	key := func(f reflect.StructField) string { return f.Tag.Get("gcfg") }
	compare("key", reflect.TypeFor[LoadBalancer](), keysWithoutChange(), key)
	compare("key", reflect.TypeFor[Networks](), nil, key)
}

// annotationNames returns all annotations of package request.
func annotationNames(t *testing.T) []annotation.Name {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "internal/request/annotations.go", nil, 0)
	must(t, err)
	var names []annotation.Name
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Annotation") {
			return true
		}
		prefix, value := "", spec.Values[0]
		if sum, ok := value.(*ast.BinaryExpr); ok {
			prefix, value = "loadbalancer.openstack.org/", sum.Y
		}
		text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
		must(t, err)
		names = append(names, annotation.Name(prefix+text))

		return true
	})
	if len(names) == 0 {
		t.Fatal("there are no annotations")
	}

	return names
}

// liveChange is a change of a Service with a load balancer that serves, or of the cloud-config.
type liveChange struct {
	scenario

	// gap is why Octavia allows no change without one.
	gap string
	// stays is why the load balancer stays as it is, event the warning that the user gets.
	stays string
	event service.Reason
	// fails reports whether the error is the expected one of a Service with a mistake, for
	// which nothing is written.
	fails func(error) bool
	// begins means that the Service has the annotation from the start, skipped that it cannot.
	begins, skipped bool
	// on has what differs for a kind of load balancers.
	on map[string]func(*liveChange)
}
