package securitygroup

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// The Service of the tests, and the name of its group.
const (
	serviceUID = "5f0a1a9c-26a5-4c6e-a2ac-6e5c5d1ec5ba"
	groupName  = "lb-sg-" + serviceUID + "-default-web"
)

// memberSubnet is the CIDR of the subnet of the Nodes.
const memberSubnet = "10.0.0.0/16"

func namesOfService() request.Names {
	return request.NewNames("kubernetes", kubetest.Service("default", "web", kubetest.ServiceUID(serviceUID)))
}

// fixture is a cloud with Nodes, and a Service with the ports 80 and 443 for them.
type fixture struct {
	*openstacktest.Cloud

	client          *client.Client
	network, subnet string
	// ports are those of Nodes by their names.
	ports map[string]string

	names        request.Names
	nodePorts    []request.Port
	healthCheck  int32
	sources      []netip.Prefix
	members      []request.Target
	memberSubnet request.MemberSubnet
	given        Given
	// overQuota means that rules are missing because of a quota since the last sync.
	overQuota bool
}

// newFixture starts a cloud. No read is stale, since calls are counted; the exploring tests
// have stale reads.
func newFixture(t testing.TB, nodes int, options openstack.Options) *fixture {
	t.Helper()
	if options.StaleReads == nil {
		options.StaleReads = new(openstack.StaleReads)
	}
	f := &fixture{
		Cloud: openstacktest.Start(t, options), names: namesOfService(), ports: map[string]string{},
		nodePorts: []request.Port{
			{Index: 0, Protocol: v1.ProtocolTCP, Number: 80, NodePort: 30080},
			{Index: 1, Protocol: v1.ProtocolTCP, Number: 443, NodePort: 30443},
		},
	}
	f.network = f.AddNetwork(openstack.NetworkSpec{Name: "private"})
	f.subnet = f.AddSubnet(openstack.SubnetSpec{Network: f.network, CIDR: memberSubnet})
	f.memberSubnet.ID = f.subnet
	f.given = Given{Servers: map[string]string{}, Prefixes: map[string]netip.Prefix{f.subnet: netip.MustParsePrefix(memberSubnet)}}
	for range nodes {
		f.join()
	}
	f.client = f.open(t)

	return f
}

// process makes a client that hardly waits before repetitions.
func (f *fixture) process(t testing.TB) *client.Client {
	t.Helper()
	options := f.ClientOptions()
	options.LoginGuard, options.RetryTime = openstacktest.EagerGuard(), 50*time.Millisecond
	options.Jitter = func(time.Duration) time.Duration { return time.Millisecond }

	return f.NewClient(t, f.ClientConfig(), inline(f.Credentials(openstack.UserCCM)), options)
}

// open makes a client that is logged in.
func (f *fixture) open(t testing.TB) *client.Client {
	t.Helper()
	made := f.process(t)
	must(t, made.Network().Available(bounded(t)))
	if _, err := made.Project(bounded(t)); err != nil {
		t.Fatal(err)
	}

	return made
}

// join adds a Node with its server and a port, and returns its name.
func (f *fixture) join() string {
	n := len(f.members) + 1
	name := fmt.Sprintf("node-%03d", n)
	addr := fmt.Sprintf("10.0.%d.%d", 1+n/200, 1+n%200)
	f.joinAt(name, addr)
	f.ports[name] = f.AddPort(openstack.PortSpec{Network: f.network, IPs: []string{addr}, Server: f.given.Servers[name]})

	return name
}

// joinAt adds a Node with its server.
func (f *fixture) joinAt(name, addr string) {
	f.given.Servers[name] = f.AddServer(openstack.ServerSpec{Name: name})
	f.members = append(f.members, request.Target{Node: name, Address: netip.MustParseAddr(addr)})
}

// leave removes a Node from the Service. Its server and port stay.
func (f *fixture) leave(name string) {
	f.members = slices.DeleteFunc(f.members, func(m request.Target) bool { return m.Node == name })
}

// build returns the group that the Service needs.
func (f *fixture) build() *Desired {
	r := &request.Request{
		Names: f.names, ManageSecurityGroups: true, Members: f.members, MemberSubnet: f.memberSubnet, HealthCheckNodePort: f.healthCheck,
	}
	resolved := &request.Resolved{MemberSources: f.sources}
	for _, port := range f.nodePorts {
		p := request.ResolvedPort{Port: port}
		for _, target := range f.members {
			p.Members = append(p.Members, request.Member{Target: target, Port: port.NodePort})
		}
		resolved.Ports = append(resolved.Ports, p)
	}

	return Build(r, resolved, f.given)
}

// result is what a sync did.
type result struct {
	plan     string
	gaps     []service.Gap
	warnings []service.Warning
	err      error
	// overQuota means that rules are missing because of a quota.
	overQuota bool
}

// reasons are those of the warnings.
func (r result) reasons() []string {
	var all []string
	for _, w := range r.warnings {
		all = append(all, string(w.Reason))
	}

	return all
}

// sync brings the group into the state that the Service needs.
func (f *fixture) sync(ctx context.Context, process *client.Client) result {
	d := f.build()
	o, err := Observe(ctx, process.Network(), d, f.ProjectID(openstack.ProjectCCM))
	if err != nil {
		return result{err: err}
	}
	gaps, warnings := Incomplete(o, d)
	d.RulesOverQuota = f.overQuota
	res := apply(ctx, process, Diff(o, d))
	f.overQuota = res.overQuota
	res.gaps, res.warnings = gaps, append(warnings, res.warnings...)

	return res
}

// remove deletes the group.
func (f *fixture) remove(ctx context.Context, process *client.Client) result {
	o, err := Find(ctx, process.Network(), f.names, f.ProjectID(openstack.ProjectCCM))
	if err != nil {
		return result{err: err}
	}

	return apply(ctx, process, DiffDelete(o))
}

func apply(ctx context.Context, process *client.Client, steps change.Plan) result {
	env := &change.Env{Network: process.Network()}
	err := steps.Apply(ctx, env, nil)

	return result{plan: steps.String(), warnings: env.Warnings(), err: err, overQuota: env.RulesOverQuota}
}

// mustSync syncs without an error, a gap or a warning, and counts the calls from there on.
func (f *fixture) mustSync(t testing.TB) {
	t.Helper()
	if r := f.sync(bounded(t), f.client); r.err != nil || len(r.gaps) > 0 || len(r.warnings) > 0 {
		t.Fatalf("sync: %v, gaps %v, warnings %v", r.err, r.gaps, r.warnings)
	}
	f.Interceptor().Reset()
}

// groups returns the IDs of the groups with the name of that of the Service.
func (f *fixture) groups(t testing.TB) []string {
	t.Helper()
	found, err := f.client.Network().SecurityGroupsByName(bounded(t), groupName)
	must(t, err)
	var ids []string
	for _, g := range found {
		ids = append(ids, g.ID)
	}

	return ids
}

// group returns the ID of the only group of the Service.
func (f *fixture) group(t testing.TB) string {
	t.Helper()
	ids := f.groups(t)
	if len(ids) != 1 {
		t.Fatalf("%d groups, want 1", len(ids))
	}

	return ids[0]
}

// rules returns the rules of the group of the Service, in order.
func (f *fixture) rules(t testing.TB) string {
	t.Helper()

	return f.rulesOf(t, f.group(t))
}

// rulesOf returns the rules of a group, in order.
func (f *fixture) rulesOf(t testing.TB, group string) string {
	t.Helper()
	found, err := f.client.Network().SecurityGroupRules(bounded(t), group)
	must(t, err)
	var all []Rule
	for _, r := range found {
		all = append(all, ruleOf(r))
	}
	slices.SortFunc(all, Rule.compare)
	var texts []string
	for _, r := range all {
		texts = append(texts, r.String())
	}

	return strings.Join(texts, ", ")
}

// withGroup returns the names of the Nodes whose port has the group.
func (f *fixture) withGroup(t testing.TB) string {
	t.Helper()
	id := f.group(t)
	var names []string
	for name, port := range f.ports {
		p, _ := f.Port(port)
		if slices.Contains(p.Groups, id) {
			names = append(names, name)
		}
	}
	slices.Sort(names)

	return strings.Join(names, " ")
}

// calls describes how often each operation of Neutron was called since the last sync.
func (f *fixture) calls() string {
	var all []string
	for op, n := range f.Interceptor().Calls() {
		if name, ok := strings.CutPrefix(op, "neutron."); ok {
			all = append(all, fmt.Sprintf("%s %d", name, n))
		}
	}
	slices.Sort(all)

	return strings.Join(all, ", ")
}

func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), openstacktest.Timeout)
	t.Cleanup(cancel)

	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func check(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// peek returns the body of a request, and leaves it in the request.
func peek(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))

	return string(body)
}

func inline(credentials client.Credentials) client.Source {
	return credential.NewInFile(credentials, nil)
}
