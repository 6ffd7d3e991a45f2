package securitygroup

import (
	"net/netip"
	"os"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/snapshot"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestMain gives the SDK the keys of the simulated cloud, and nothing else of
// what the machine has.
func TestMain(m *testing.M) {
	id, secret := new(sim.Cloud).AccessKey()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": id, "AWS_SECRET_ACCESS_KEY": secret, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_CA_BUNDLE": "",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// The Service that most tests are about. Its UID is that of the documented
// examples.
const (
	clusterID = "demo"
	lbName    = "a0f0e0d0c11112222333344445555666"
	otherName = "a1111111111111111111111111111111"
)

// web is what the Service asks for: the ports 80 and 443 for everybody.
func web(kind request.Kind, ranges ...string) *request.Request {
	r := &request.Request{
		Service: types.NamespacedName{Namespace: "default", Name: "web"},
		UID:     "0f0e0d0c-1111-2222-3333-444455556666",
		Name:    lbName,
		Kind:    kind,
		Ports: []request.Port{
			{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080},
			{Name: "https", Protocol: v1.ProtocolTCP, Port: 443, NodePort: 30443},
		},
	}
	if len(ranges) == 0 {
		ranges = []string{"0.0.0.0/0"}
	}
	r.SourceRanges = prefixes(ranges...)
	return r
}

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func config() request.Config {
	return request.Config{Cluster: cluster.ID{Name: clusterID}, ClusterName: "kubernetes", VPC: "vpc-1"}
}

// ownedTags are the tags of a group that belongs to the cluster alone.
func ownedTags() map[string]string { return map[string]string{"kubernetes.io/cluster/demo": "owned"} }

// rule reads a rule for a test.
func rule(protocol string, from, to int32, source string) Rule {
	kind := FromGroup
	if p, err := netip.ParsePrefix(source); err == nil {
		return Rule{Protocol: protocol, From: from, To: to, Source: prefix(p)}
	}
	if source[:2] == "pl" {
		kind = FromPrefixList
	}
	return Rule{Protocol: protocol, From: from, To: to, Source: Source{Kind: kind, Value: source}}
}

// groups are Groups by ID.
func groups(list ...*Group) Groups {
	all := Groups{}
	for _, group := range list {
		all[group.ID] = group
	}
	return all
}

// fixture is a simulated cloud with a cluster.
type fixture struct {
	*sim.Cloud
	t       *testing.T
	seed    *sim.Seed
	clients *client.Clients
	env     *change.Env
	config  request.Config
}

func newFixture(t *testing.T, options sim.Options) *fixture {
	t.Helper()
	// The tests make the calls of minutes at once, with a client that does not wait.
	options.DisableThrottling = true
	cloud, err := sim.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	var overrides []client.Override
	for _, service := range []client.Service{client.ServiceEC2, client.ServiceELB, client.ServiceELBV2} {
		overrides = append(overrides, client.Override{Service: service, Region: cloud.Region(), URL: cloud.URL()})
	}
	base, err := client.Load(t.Context(), client.Options{
		Overrides: overrides,
		Tuning:    client.Tuning{Timeout: 10 * time.Second, MaxBackoff: time.Millisecond, ThrottleDelay: time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	clients, err := base.In(t.Context(), cloud.Region())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clients.Close)
	b := &fixture{Cloud: cloud, t: t, seed: cloud.Seed(clusterID), clients: clients, config: config()}
	b.config.VPC = b.seed.VPC
	b.env = &change.Env{
		EC2: clients.EC2, ELB: clients.ELB, ELBV2: snapshot.New(clients.ELBV2, snapshot.Options{}),
		Wait: change.Wait{Interval: time.Millisecond, Limit: 200 * time.Millisecond},
	}
	return b
}

func (b *fixture) observe() Groups {
	b.t.Helper()
	seen, err := Observe(b.t.Context(), b.clients.EC2, b.config.VPC, b.config.Cluster)
	if err != nil {
		b.t.Fatal(err)
	}
	return seen
}

// apply runs a plan that must not fail.
func (b *fixture) apply(steps change.Plan) {
	b.t.Helper()
	if err := steps.Apply(b.t.Context(), b.env, nil); err != nil {
		b.t.Fatal(err)
	}
}

// ensure makes the group of a Service what it is to be.
func (b *fixture) ensure(r *request.Request) change.Plan {
	b.t.Helper()
	choice := ForClassic(r, b.config, b.observe())
	if r.Kind == request.Network {
		choice = ForNetwork(r, b.config, nil, b.observe())
	}
	steps, going, err := Diff(choice.Managed, b.config.VPC, b.config.Cluster)
	if err != nil {
		b.t.Fatal(err)
	}
	steps = append(steps, going...)
	b.apply(steps)
	return steps
}

// calls are the numbers of calls that f makes, by operation.
func (b *fixture) calls(f func()) map[string]int {
	b.Gate().Reset()
	f()
	return b.Gate().Calls()
}
