package aws

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lbname"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// Plant implements conformance.LoadBalancerCloud. What it makes is like a thing
// of the Service in all but one respect: its name, its tags, its kind, its VPC,
// or the description of a rule.
func (l *balancerLab) Plant(t testing.TB, service *v1.Service) (describe func() []string) {
	t.Helper()
	p := newPlanter(t, l, service)
	all := l.plant(func() {
		l.byHand(p.plantBalancers)
		p.plantRules()
	}, p.about)
	return func() []string { return append(all(), p.describeTwin()...) }
}

// planter makes what looks like the things of a Service.
type planter struct {
	t       testing.TB
	lab     *balancerLab
	service *v1.Service
	// name is that of the Service's load balancer, near is like it.
	name, near string
	// ours and theirs are tags of its things, and of those of the same Service
	// in the other cluster.
	ours, theirs map[string]string
	// twin is a security group with the name and tags of the Service's, in
	// another VPC.
	twin string
	// owners are the beginnings of lines about what was planted.
	owners []string
}

func newPlanter(t testing.TB, l *balancerLab, service *v1.Service) *planter {
	t.Helper()
	p := &planter{t: t, lab: l, service: service, name: lbname.ByUID(service)}
	p.near = p.name[:len(p.name)-1]
	p.ours = map[string]string{sim.ClusterTag(east): "owned", cluster.ServiceNameTag: service.Namespace + "/" + service.Name}
	p.theirs = map[string]string{sim.ClusterTag(eastToo): "owned", cluster.ServiceNameTag: p.ours[cluster.ServiceNameTag]}
	return p
}

// about says that a line tells of something planted.
func (p *planter) about(line string) bool {
	return strings.Contains(line, " from 172.") ||
		slices.ContainsFunc(p.owners, func(owner string) bool { return strings.HasPrefix(line, owner) })
}

// plantBalancers makes load balancers, target groups and security groups.
func (p *planter) plantBalancers() {
	config := p.lab.Config()
	defer closeIdle(config)
	classic, network := elb.NewFromConfig(config), elbv2.NewFromConfig(config)
	prefix := request.NamePrefix(types.NamespacedName{Namespace: p.service.Namespace, Name: p.service.Name})
	p.addClassic(classic, p.near, p.ours)
	p.addNetwork(network, p.near, p.addTargetGroup(network, prefix+"0000000001", map[string]string{
		sim.ClusterTag(east): "owned", cluster.ServiceNameTag: "default/w-e-b",
	}), p.ours)
	if request.KindOf(p.service) == request.Network {
		p.addClassic(classic, p.name, p.theirs)
	} else {
		p.addNetwork(network, p.name, p.addTargetGroup(network, prefix+"0000000002", p.theirs), p.theirs)
	}
	p.addTargetGroup(network, prefix+"0000000003", nil)
	p.addTargetGroup(network, prefix+"0000000004", p.theirs)
	p.addTargetGroup(network, "k8s-default-we-0000000005", p.ours)

	p.addGroup(p.lab.seed.VPC, "k8s-elb-"+p.name+"0", p.ours)
	p.addGroup(p.lab.seed.VPC, prefix+"0000000000", p.ours)
	p.twin = p.lab.AddSecurityGroup(sim.SecurityGroupSpec{
		VPC: p.lab.AddVPC(sim.VPCSpec{CIDR: "10.10.0.0/16"}), Name: "k8s-elb-" + p.name, Tags: p.ours,
	})
}

// plantRules has the nodes let others in, with an ICMP rule for each range as it
// goes with network load balancers.
func (p *planter) plantRules() {
	port := p.service.Spec.Ports[0].NodePort
	for source, description := range map[string]string{
		"172.16.0.0/16": "the web",
		"172.17.0.0/16": "kubernetes.io/rule/nlb/client=" + p.near,
		"172.18.0.0/16": "kubernetes.io/rule/nlb/client=" + p.name + "0",
		"172.19.0.0/16": "kubernetes.io/rule/nlb/health=" + p.near,
	} {
		p.lab.AddRule(p.lab.group, sim.Rule{Protocol: "tcp", From: port, To: port, Source: source, Description: description})
		if strings.Contains(description, "client=") {
			p.lab.AddRule(p.lab.group, sim.Rule{Protocol: "icmp", From: 3, To: 4, Source: source, Description: "kubernetes.io/rule/nlb/mtu"})
		}
	}
}

// describeTwin describes the group that cannot be told by its name.
func (p *planter) describeTwin() []string {
	return []string{fmt.Sprint("twin: ", p.lab.Rules(p.twin), p.lab.Tags(p.twin))}
}

// addGroup makes a security group that the nodes let in, and gives its ID.
func (p *planter) addGroup(vpc, name string, tags map[string]string) string {
	p.owners = append(p.owners, "security-group "+name+":", "security-group nodes: rule -1 -1--1 from "+name+" ")
	id := p.lab.AddSecurityGroup(sim.SecurityGroupSpec{
		VPC: vpc, Name: name, Description: "[k8s] Managed SecurityGroup for LoadBalancer", Tags: tags,
		Rules: []sim.Rule{{Protocol: "tcp", From: 9, To: 9, Source: "0.0.0.0/0"}},
	})
	p.lab.AddRule(p.lab.group, sim.Rule{Protocol: "-1", Source: id})
	return id
}

// addClassic makes a classic load balancer with a security group of its own.
func (p *planter) addClassic(client *elb.Client, name string, tags map[string]string) {
	p.t.Helper()
	p.lab.classics = append(p.lab.classics, name)
	p.owners = append(p.owners, "load-balancer classic "+name+":")
	input := &elb.CreateLoadBalancerInput{
		LoadBalancerName: awssdk.String(name), Subnets: []string{p.lab.subnet},
		SecurityGroups: []string{p.addGroup(p.lab.seed.VPC, "k8s-elb-"+name, tags)},
		Listeners: []elbtypes.Listener{{
			Protocol: awssdk.String("TCP"), LoadBalancerPort: 9, InstancePort: awssdk.Int32(p.service.Spec.Ports[0].NodePort),
		}},
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		input.Tags = append(input.Tags, elbtypes.Tag{Key: awssdk.String(key), Value: awssdk.String(tags[key])})
	}
	if _, err := client.CreateLoadBalancer(p.t.Context(), input); err != nil {
		p.t.Fatal(err)
	}
}

// addNetwork makes a network load balancer that forwards to a target group.
func (p *planter) addNetwork(client *elbv2.Client, name, targetGroup string, tags map[string]string) {
	p.t.Helper()
	p.lab.networks = append(p.lab.networks, name)
	p.owners = append(p.owners, "load-balancer network "+name+":")
	made, err := client.CreateLoadBalancer(p.t.Context(), &elbv2.CreateLoadBalancerInput{
		Name: awssdk.String(name), Type: elbv2types.LoadBalancerTypeEnumNetwork, Subnets: []string{p.lab.subnet}, Tags: networkTags(tags),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = client.CreateListener(p.t.Context(), &elbv2.CreateListenerInput{
		LoadBalancerArn: made.LoadBalancers[0].LoadBalancerArn, Protocol: elbv2types.ProtocolEnumTcp, Port: awssdk.Int32(9),
		DefaultActions: []elbv2types.Action{{Type: elbv2types.ActionTypeEnumForward, TargetGroupArn: awssdk.String(targetGroup)}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// addTargetGroup makes a target group and gives its ARN.
func (p *planter) addTargetGroup(client *elbv2.Client, name string, tags map[string]string) string {
	p.t.Helper()
	p.owners = append(p.owners, "target-group "+name+":")
	made, err := client.CreateTargetGroup(p.t.Context(), &elbv2.CreateTargetGroupInput{
		Name: awssdk.String(name), VpcId: awssdk.String(p.lab.seed.VPC), Protocol: elbv2types.ProtocolEnumTcp,
		Port: awssdk.Int32(p.service.Spec.Ports[0].NodePort), TargetType: elbv2types.TargetTypeEnumInstance, Tags: networkTags(tags),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return awssdk.ToString(made.TargetGroups[0].TargetGroupArn)
}

func networkTags(tags map[string]string) []elbv2types.Tag {
	var list []elbv2types.Tag
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, elbv2types.Tag{Key: awssdk.String(key), Value: awssdk.String(tags[key])})
	}
	return list
}

// closeIdle ends the connections of an SDK client.
func closeIdle(config awssdk.Config) {
	if client, ok := config.HTTPClient.(interface{ CloseIdleConnections() }); ok {
		client.CloseIdleConnections()
	}
}
