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
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// SeedDecoys implements loadbalancers.Cloud. What it creates differs from a
// resource of the Service in one respect: its name, its tags, its kind, its VPC,
// or the description of a rule.
func (l *balancersAdapter) SeedDecoys(t testing.TB, service *v1.Service) (describe func() []string) {
	t.Helper()
	d := newDecoys(t, l, service)
	all := l.seedDecoys(func() {
		l.asUser(d.addBalancers)
		d.addRules()
	}, d.about)

	return func() []string { return append(all(), d.describeOtherVPC()...) }
}

// decoys creates resources that look like those of a Service.
type decoys struct {
	t       testing.TB
	adapter *balancersAdapter
	service *v1.Service
	// name is that of the Service's load balancer, near a similar one.
	name, near string
	// ours and theirs are tags of its resources, and of those of the same Service
	// in the other cluster.
	ours, theirs map[string]string
	// otherVPC is a security group with the name and tags of the Service's, in
	// another VPC.
	otherVPC string
	// owners are the prefixes of lines about decoys.
	owners []string
}

func newDecoys(t testing.TB, l *balancersAdapter, service *v1.Service) *decoys {
	t.Helper()
	d := &decoys{t: t, adapter: l, service: service, name: cloudprovider.DefaultLoadBalancerName(service)}
	d.near = d.name[:len(d.name)-1]
	d.ours = map[string]string{sim.ClusterTag(east): "owned", cluster.ServiceNameTag: service.Namespace + "/" + service.Name}
	d.theirs = map[string]string{sim.ClusterTag(eastToo): "owned", cluster.ServiceNameTag: d.ours[cluster.ServiceNameTag]}

	return d
}

// about reports whether a line is about a decoy.
func (d *decoys) about(line string) bool {
	return strings.Contains(line, " from 172.") ||
		slices.ContainsFunc(d.owners, func(owner string) bool { return strings.HasPrefix(line, owner) })
}

// addBalancers creates load balancers, target groups and security groups.
func (d *decoys) addBalancers() {
	config := d.adapter.Config()
	defer closeIdle(config)
	classic, network := elb.NewFromConfig(config), elbv2.NewFromConfig(config)
	prefix := request.NamePrefix(types.NamespacedName{Namespace: d.service.Namespace, Name: d.service.Name})
	d.addClassic(classic, d.near, d.ours)
	d.addNetwork(network, d.near, d.addTargetGroup(network, prefix+"0000000001", map[string]string{
		sim.ClusterTag(east): "owned", cluster.ServiceNameTag: "default/w-e-b",
	}), d.ours)
	if request.KindOf(d.service) == request.Network {
		d.addClassic(classic, d.name, d.theirs)
	} else {
		d.addNetwork(network, d.name, d.addTargetGroup(network, prefix+"0000000002", d.theirs), d.theirs)
	}
	d.addTargetGroup(network, prefix+"0000000003", nil)
	d.addTargetGroup(network, prefix+"0000000004", d.theirs)
	d.addTargetGroup(network, "k8s-default-we-0000000005", d.ours)

	d.addGroup(d.adapter.seed.VPC, "k8s-elb-"+d.name+"0", d.ours)
	d.addGroup(d.adapter.seed.VPC, prefix+"0000000000", d.ours)
	d.otherVPC = d.adapter.AddSecurityGroup(sim.SecurityGroupSpec{
		VPC: d.adapter.AddVPC(sim.VPCSpec{CIDR: "10.10.0.0/16"}), Name: "k8s-elb-" + d.name, Tags: d.ours,
	})
}

// addRules adds rules of others to the nodes, with an ICMP rule for each range as
// for network load balancers.
func (d *decoys) addRules() {
	port := d.service.Spec.Ports[0].NodePort
	for source, description := range map[string]string{
		"172.16.0.0/16": "the web",
		"172.17.0.0/16": "kubernetes.io/rule/nlb/client=" + d.near,
		"172.18.0.0/16": "kubernetes.io/rule/nlb/client=" + d.name + "0",
		"172.19.0.0/16": "kubernetes.io/rule/nlb/health=" + d.near,
	} {
		d.adapter.AddRule(d.adapter.group, sim.Rule{Protocol: "tcp", From: port, To: port, Source: source, Description: description})
		if strings.Contains(description, "client=") {
			d.adapter.AddRule(d.adapter.group, sim.Rule{Protocol: "icmp", From: 3, To: 4, Source: source, Description: "kubernetes.io/rule/nlb/mtu"})
		}
	}
}

// describeOtherVPC describes the group that cannot be recognized by its name.
func (d *decoys) describeOtherVPC() []string {
	return []string{fmt.Sprint("other VPC: ", d.adapter.Rules(d.otherVPC), d.adapter.Tags(d.otherVPC))}
}

// addGroup creates a security group that the nodes allow, and returns its ID.
func (d *decoys) addGroup(vpc, name string, tags map[string]string) string {
	d.owners = append(d.owners, "security-group "+name+":", "security-group nodes: rule -1 -1--1 from "+name+" ")
	id := d.adapter.AddSecurityGroup(sim.SecurityGroupSpec{
		VPC: vpc, Name: name, Description: "[k8s] Managed SecurityGroup for LoadBalancer", Tags: tags,
		Rules: []sim.Rule{{Protocol: "tcp", From: 9, To: 9, Source: "0.0.0.0/0"}},
	})
	d.adapter.AddRule(d.adapter.group, sim.Rule{Protocol: "-1", Source: id})

	return id
}

// addClassic creates a classic load balancer with a security group of its own.
func (d *decoys) addClassic(client *elb.Client, name string, tags map[string]string) {
	d.t.Helper()
	d.adapter.classics = append(d.adapter.classics, name)
	d.owners = append(d.owners, "load-balancer classic "+name+":")
	input := &elb.CreateLoadBalancerInput{
		LoadBalancerName: awssdk.String(name), Subnets: []string{d.adapter.subnet},
		SecurityGroups: []string{d.addGroup(d.adapter.seed.VPC, "k8s-elb-"+name, tags)},
		Listeners: []elbtypes.Listener{{
			Protocol: awssdk.String("TCP"), LoadBalancerPort: 9, InstancePort: awssdk.Int32(d.service.Spec.Ports[0].NodePort),
		}},
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		input.Tags = append(input.Tags, elbtypes.Tag{Key: awssdk.String(key), Value: awssdk.String(tags[key])})
	}
	if _, err := client.CreateLoadBalancer(d.t.Context(), input); err != nil {
		d.t.Fatal(err)
	}
}

// addNetwork creates a network load balancer that forwards to a target group.
func (d *decoys) addNetwork(client *elbv2.Client, name, targetGroup string, tags map[string]string) {
	d.t.Helper()
	d.adapter.networks = append(d.adapter.networks, name)
	d.owners = append(d.owners, "load-balancer network "+name+":")
	made, err := client.CreateLoadBalancer(d.t.Context(), &elbv2.CreateLoadBalancerInput{
		Name: awssdk.String(name), Type: elbv2types.LoadBalancerTypeEnumNetwork, Subnets: []string{d.adapter.subnet}, Tags: networkTags(tags),
	})
	if err != nil {
		d.t.Fatal(err)
	}
	_, err = client.CreateListener(d.t.Context(), &elbv2.CreateListenerInput{
		LoadBalancerArn: made.LoadBalancers[0].LoadBalancerArn, Protocol: elbv2types.ProtocolEnumTcp, Port: awssdk.Int32(9),
		DefaultActions: []elbv2types.Action{{Type: elbv2types.ActionTypeEnumForward, TargetGroupArn: awssdk.String(targetGroup)}},
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

// addTargetGroup creates a target group and returns its ARN.
func (d *decoys) addTargetGroup(client *elbv2.Client, name string, tags map[string]string) string {
	d.t.Helper()
	d.owners = append(d.owners, "target-group "+name+":")
	made, err := client.CreateTargetGroup(d.t.Context(), &elbv2.CreateTargetGroupInput{
		Name: awssdk.String(name), VpcId: awssdk.String(d.adapter.seed.VPC), Protocol: elbv2types.ProtocolEnumTcp,
		Port: awssdk.Int32(d.service.Spec.Ports[0].NodePort), TargetType: elbv2types.TargetTypeEnumInstance, Tags: networkTags(tags),
	})
	if err != nil {
		d.t.Fatal(err)
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
