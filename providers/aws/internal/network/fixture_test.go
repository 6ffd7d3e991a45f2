package network

import (
	"flag"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { awstest.Main(m) }

// The Service that most tests are about, as its UID and the cluster ID name
// things.
const (
	clusterID = awstest.ClusterID
	uid       = awstest.ServiceUID
	lbName    = awstest.LoadBalancerName
)

// web is a Service for a network load balancer, with the ports 80 and 443 unless
// it is given others.
func web(options ...kubetest.ServiceOption) *v1.Service {
	options = append([]kubetest.ServiceOption{
		kubetest.ServiceUID(uid), annotated(request.AnnotationType, "nlb"),
	}, options...)
	svc := kubetest.Service("default", "web", options...)
	if len(svc.Spec.Ports) == 1 && svc.Spec.Ports[0].Port == 80 {
		kubetest.Port(v1.ProtocolTCP, 443)(svc)
	}

	return svc
}

func annotated(name annotation.Name, value string) kubetest.ServiceOption {
	return kubetest.ServiceAnnotated(string(name), value)
}

// fixture is a simulated cloud with a cluster of three nodes.
type fixture struct {
	*awstest.Region
	t      testing.TB
	api    client.ELBV2
	nodes  []string
	config request.Config
	// groups are the security groups that load balancers are to have.
	groups []plan.Ref
	// full means that AWS has not accepted new listeners in the last run.
	full bool
}

// shared returns what a process that starts reads and writes with.
func (b *fixture) shared() *snapshot.Snapshot { return snapshot.New(b.api, snapshot.Options{}) }

func newFixture(t testing.TB, options sim.Options) *fixture {
	t.Helper()
	// The tests make the calls of minutes at once, with a client that does not wait.
	options.DisableThrottling = true
	region := awstest.Start(t, options)

	return &fixture{
		Region: region, t: t, api: region.Clients(awstest.Impatient()).ELBV2, nodes: region.Cluster.AddNodes(3),
		config: request.Config{Cluster: cluster.ID{Name: clusterID}, ClusterName: "kubernetes", VPC: region.Cluster.VPC},
	}
}

// query is what to look for behind a Service.
func (b *fixture) query(svc *v1.Service) Query {
	r := b.request(svc)

	return Query{
		Name: r.Name, Service: r.Service, Cluster: b.config.Cluster, VPC: b.config.VPC,
		Attributes: r.TargetGroupAttributes != nil,
	}
}

func (b *fixture) request(svc *v1.Service) *request.Request {
	b.t.Helper()
	var nodes []*v1.Node
	for _, id := range b.nodes {
		nodes = append(nodes, kubetest.Node("node-"+id, kubetest.ProviderID("aws:///us-west-2a/"+id)))
	}
	r, _, err := request.New(svc, nodes, b.config)
	if err != nil {
		b.t.Fatal(err)
	}

	return r
}

// facts are what is known of the cloud: public subnets, and running instances.
func (b *fixture) facts() request.Facts {
	f := request.Facts{Config: b.config, SecurityGroups: b.groups, Targets: running(b.nodes...)}
	for _, zone := range b.Cluster.Zones {
		f.Subnets = append(f.Subnets, vpc.Subnet{ID: b.Cluster.Public[zone], AvailabilityZone: zone, CIDR: netip.Prefix{}})
	}

	return f
}

func running(ids ...string) map[string]*inventory.Instance {
	instances := map[string]*inventory.Instance{}
	for _, id := range ids {
		instances[id] = &inventory.Instance{ID: id, State: types.InstanceStateNameRunning, Tags: cluster.ID{Name: clusterID}.Tags()}
	}

	return instances
}

func (b *fixture) observe(svc *v1.Service) *Observed {
	b.t.Helper()
	seen, err := Observe(b.t.Context(), b.shared(), b.query(svc))
	if err != nil {
		b.t.Fatal(err)
	}

	return seen
}

func (b *fixture) model(svc *v1.Service) (*Model, []service.Warning) {
	b.t.Helper()
	model, warnings, err := Build(b.request(svc), b.facts())
	if err != nil {
		b.t.Fatal(err)
	}

	return model, warnings
}

// tryEnsure observes, builds, compares and applies. A nil Service is the wish to
// have nothing.
func (b *fixture) tryEnsure(svc *v1.Service) (*change.Env, error) {
	b.t.Helper()
	env := &change.Env{ELBV2: b.shared()}
	seen, err := Observe(b.t.Context(), b.shared(), b.query(svc))
	if err != nil {
		return env, err
	}
	model, _ := b.model(svc)
	model.Full = b.full
	err = planFor(model, seen).Apply(b.t.Context(), env, nil)
	b.full = env.ListenersInTheWay

	return env, err
}

func (b *fixture) ensure(svc *v1.Service) *change.Env {
	b.t.Helper()
	env, err := b.tryEnsure(svc)
	if err != nil {
		b.t.Fatalf("ensure %s: %v", svc.Name, err)
	}

	return env
}

func (b *fixture) tryRemove(svc *v1.Service) error {
	b.t.Helper()
	query := b.query(svc)
	query.Brief = true
	seen, err := Observe(b.t.Context(), b.shared(), query)
	if err != nil {
		return err
	}

	return DiffDeletion(seen).Apply(b.t.Context(), &change.Env{ELBV2: b.shared()}, nil)
}

func (b *fixture) remove(svc *v1.Service) {
	b.t.Helper()
	if err := b.tryRemove(svc); err != nil {
		b.t.Fatalf("remove %s: %v", svc.Name, err)
	}
}

// planFor returns the plan for a model, which is nil if there is to be nothing.
func planFor(m *Model, o *Observed) change.Plan {
	if m == nil {
		return DiffDeletion(o)
	}
	steps, _ := Diff(m, o)

	return steps
}

// upToDate checks that no step is left to do.
func (b *fixture) upToDate(svc *v1.Service) {
	b.t.Helper()
	model, _ := b.model(svc)
	if steps := planFor(model, b.observe(svc)); len(steps) > 0 {
		b.t.Errorf("there is more to do:\n%s", steps)
	}
}

// network is the load balancer of the Service, which must be there.
func (b *fixture) network() sim.NetworkLoadBalancer {
	b.t.Helper()
	balancer, ok := b.Network(lbName)
	if !ok {
		b.t.Fatalf("there is no load balancer %s", lbName)
	}

	return balancer
}

// empty checks that no load balancer and no target group is there.
func (b *fixture) empty() {
	b.t.Helper()
	_, balancers := b.LoadBalancers()
	if groups := b.TargetGroups(); len(balancers)+len(groups) > 0 {
		b.t.Errorf("left over: load balancers %v, target groups %v", balancers, groups)
	}
}

// calls checks how often each operation was called since the log was cleared.
func (b *fixture) calls(want map[string]int) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.Interceptor().Calls()); diff != "" {
		b.t.Errorf("calls, -want +got:\n%s", diff)
	}
}

// nothing checks that there were no writes since the log was cleared.
func (b *fixture) nothing() {
	b.t.Helper()
	if writes := b.Writes(); len(writes) > 0 {
		b.t.Errorf("writes: %v", writes)
	}
}

// reasons are the reasons of warnings, sorted.
func reasons(warnings []service.Warning) []string {
	var list []string
	for _, warning := range warnings {
		list = append(list, string(warning.Reason))
	}
	slices.Sort(list)

	return list
}

// tagged are the tags of a resource of ours with some more.
func tagged(more map[string]string) map[string]string {
	tags := map[string]string{
		"kubernetes.io/cluster/" + clusterID: "owned",
		"kubernetes.io/service-name":         "default/web",
	}
	maps.Copy(tags, more)

	return tags
}
