package classic

import (
	"context"
	"flag"
	"maps"
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
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { awstest.Main(m) }

// The Service that most tests are about, as its UID and the cluster ID name
// things.
const (
	clusterID   = awstest.ClusterID
	uid         = awstest.ServiceUID
	lbName      = awstest.LoadBalancerName
	certificate = "arn:aws:acm:us-west-2:123456789012:certificate/0a1b2c3d-0000-1111-2222-333344445555"
	tlsPolicy   = "ELBSecurityPolicy-TLS-1-2-2017-01"
)

// web is a Service with the ports 80 and 443 unless it is given others.
func web(options ...kubetest.ServiceOption) *v1.Service {
	svc := kubetest.Service("default", "web", append([]kubetest.ServiceOption{kubetest.ServiceUID(uid)}, options...)...)
	if len(svc.Spec.Ports) == 1 && svc.Spec.Ports[0].Port == 80 {
		kubetest.Port(v1.ProtocolTCP, 443)(svc)
	}

	return svc
}

func annotated(name annotation.Name, value string) kubetest.ServiceOption {
	return kubetest.ServiceAnnotated(string(name), value)
}

// everything requires all that a classic load balancer has.
func everything() *v1.Service {
	return web(
		annotated(request.AnnotationSSLCert, certificate), annotated(request.AnnotationSSLPorts, "443"),
		annotated(request.AnnotationSSLPolicy, tlsPolicy), annotated(request.AnnotationProxyProtocol, "*"),
		annotated(request.AnnotationInternal, "true"), annotated(request.AnnotationAdditionalTags, "team=edge"),
		annotated(request.AnnotationCrossZone, "true"), annotated(request.AnnotationIdleTimeout, "30"),
		annotated(request.AnnotationDrainingEnabled, "true"), annotated(request.AnnotationDrainingTimeout, "20"),
		annotated(request.AnnotationAccessLogEnabled, "true"), annotated(request.AnnotationAccessLogEmitInterval, "5"),
		annotated(request.AnnotationAccessLogBucket, "logs"), annotated(request.AnnotationAccessLogPrefix, "web"),
		annotated(request.AnnotationHealthCheckProtocol, "http"), annotated(request.AnnotationHealthCheckPath, "/live"),
	)
}

// fixture is a simulated cloud with a cluster of three nodes.
type fixture struct {
	*awstest.Region
	t      testing.TB
	api    client.ELB
	nodes  []string
	states map[string]types.InstanceStateName
	config request.Config
	// subnets and groups are what load balancers are to have.
	subnets []vpc.Subnet
	groups  []plan.Ref
	// groupIDs are the IDs that steps before those of the load balancer store.
	groupIDs map[string]string
	// full means that AWS has not accepted new listeners in the last run.
	full bool
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	region := awstest.Start(t, awstest.Unthrottled())
	b := &fixture{Region: region, t: t, api: region.Clients(awstest.Impatient()).ELB, states: map[string]types.InstanceStateName{}}
	b.nodes = b.Cluster.AddNodes(3)
	b.config = request.Config{Cluster: cluster.ID{Name: clusterID}, ClusterName: "kubernetes", VPC: b.Cluster.VPC}
	for _, zone := range b.Cluster.Zones {
		b.subnets = append(b.subnets, vpc.Subnet{ID: b.Cluster.Public[zone], AvailabilityZone: zone})
	}
	key := change.SecurityGroupKey(request.ClassicGroupName(lbName))
	b.groups = []plan.Ref{{Key: key}}
	b.groupIDs = map[string]string{key: b.group("web")}

	return b
}

// group makes a security group.
func (b *fixture) group(name string) string {
	return b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: name, Description: name})
}

// resolveGroups has later plans name the security groups by ID.
func (b *fixture) resolveGroups() {
	for i, ref := range b.groups {
		if ref.ID == "" {
			b.groups[i] = plan.Ref{ID: b.groupIDs[ref.Key]}
		}
	}
}

func (b *fixture) facts() request.Facts {
	f := request.Facts{Config: b.config, Subnets: b.subnets, SecurityGroups: b.groups, Targets: map[string]*inventory.Instance{}}
	for _, id := range b.nodes {
		state := types.InstanceStateNameRunning
		if b.states[id] != "" {
			state = b.states[id]
		}
		f.Targets[id] = &inventory.Instance{ID: id, State: state, Tags: b.config.Cluster.Tags()}
	}

	return f
}

func (b *fixture) model(svc *v1.Service) *Model {
	b.t.Helper()
	var nodes []*v1.Node
	for _, id := range b.nodes {
		nodes = append(nodes, kubetest.Node("node-"+id, kubetest.ProviderID("aws:///us-west-2a/"+id)))
	}
	r, _, err := request.New(svc, nodes, b.config)
	if err != nil {
		b.t.Fatal(err)
	}
	model, _, err := Build(r, b.facts())
	if err != nil {
		b.t.Fatal(err)
	}

	return model
}

func (b *fixture) observe() *LoadBalancer {
	b.t.Helper()
	lb, err := Observe(b.t.Context(), b.api, lbName, b.config.Cluster)
	if err != nil {
		b.t.Fatal(err)
	}

	return lb
}

func (b *fixture) env() *change.Env {
	env := &change.Env{ELB: b.api}
	for key, id := range b.groupIDs {
		env.IDs.Set(key, id)
	}

	return env
}

// try observes, compares and applies. A nil Service is for no load balancer.
func (b *fixture) try(ctx context.Context, svc *v1.Service) (*change.Env, error) {
	b.t.Helper()
	env := b.env()
	lb, err := Observe(ctx, b.api, lbName, b.config.Cluster)
	if err != nil {
		return env, err
	}
	var model *Model
	if svc != nil {
		model = b.model(svc)
		model.Full = b.full
	}
	err = Diff(model, lb).Apply(ctx, env, nil)
	b.full = env.ListenersInTheWay

	return env, err
}

func (b *fixture) ensure(svc *v1.Service) *change.Env {
	b.t.Helper()
	env, err := b.try(b.t.Context(), svc)
	if err != nil {
		b.t.Fatal(err)
	}

	return env
}

// upToDate checks that no step is left to do.
func (b *fixture) upToDate(svc *v1.Service) {
	b.t.Helper()
	b.resolveGroups()
	if steps := Diff(b.model(svc), b.observe()); len(steps) > 0 {
		b.t.Errorf("there is more to do:\n%s", steps)
	}
}

// classic is the load balancer in the cloud, which must be there.
func (b *fixture) classic() sim.ClassicLoadBalancer {
	b.t.Helper()
	lb, ok := b.Classic(lbName)
	if !ok {
		b.t.Fatalf("there is no load balancer %s", lbName)
	}

	return lb
}

// empty checks that no load balancer is there.
func (b *fixture) empty() {
	b.t.Helper()
	if classic, _ := b.LoadBalancers(); len(classic) > 0 {
		b.t.Errorf("left over: %v", classic)
	}
}

// calls checks the calls since the last check, and resets their log.
func (b *fixture) calls(reason string, want map[string]int) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.Interceptor().Calls()); diff != "" {
		b.t.Errorf("%s: calls, -want +got:\n%s", reason, diff)
	}
	b.Interceptor().Reset()
}

// tagged are the tags of a load balancer of ours with some more.
func tagged(more map[string]string) map[string]string {
	tags := map[string]string{sim.ClusterTag(clusterID): "owned", cluster.ServiceNameTag: "default/web"}
	maps.Copy(tags, more)

	return tags
}
