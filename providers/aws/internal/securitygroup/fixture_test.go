package securitygroup

import (
	"net/netip"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

func TestMain(m *testing.M) { awstest.Main(m) }

// The Service that most tests are about. Its UID is that of the documented
// examples.
const (
	clusterID = awstest.ClusterID
	lbName    = awstest.LoadBalancerName
	otherName = "a1111111111111111111111111111111"
)

// web is what the Service specifies: the ports 80 and 443 for all clients.
func web(kind request.Kind, ranges ...string) *request.Request {
	r := &request.Request{
		Service: types.NamespacedName{Namespace: "default", Name: "web"},
		UID:     awstest.ServiceUID,
		Name:    lbName,
		Kind:    kind,
		Ports: []service.Port{
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
	*awstest.Region
	t       *testing.T
	clients *client.Clients
	env     *change.Env
	config  request.Config
}

func newFixture(t *testing.T, options sim.Options) *fixture {
	t.Helper()
	// The tests make the calls of minutes at once, with a client that does not wait.
	options.DisableThrottling = true
	region := awstest.Start(t, options)
	clients := region.Clients(awstest.Impatient())
	b := &fixture{Region: region, t: t, clients: clients, config: config()}
	b.config.VPC = b.Cluster.VPC
	b.env = &change.Env{
		EC2: clients.EC2, ELB: clients.ELB, ELBV2: snapshot.New(clients.ELBV2, snapshot.Options{}),
		Wait: change.Wait{Interval: time.Millisecond, Limit: 200 * time.Millisecond},
	}

	return b
}

func (b *fixture) observe() Groups {
	b.t.Helper()
	seen, err := observe(b.t.Context(), b.clients.EC2, b.config.VPC, b.config.Cluster)
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
	b.Interceptor().Reset()
	f()

	return b.Interceptor().Calls()
}
