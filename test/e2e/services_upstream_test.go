package e2e

import (
	"context"
	"crypto/sha1" //nolint:gosec // names of existing target groups are made with it
	"encoding/hex"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"
)

// upstream makes load balancers the way the existing AWS controller manager does.
type upstream struct {
	t     *testing.T
	r     *region
	ec2   *ec2.Client
	elb   *elb.Client
	elbv2 *elbv2.Client
	nodes []machine
}

func newUpstream(t *testing.T, r *region, nodes []machine) *upstream {
	config := r.Config()
	t.Cleanup(config.HTTPClient.(*http.Client).CloseIdleConnections)

	return &upstream{t, r, ec2.NewFromConfig(config), elb.NewFromConfig(config), elbv2.NewFromConfig(config), nodes}
}

// call makes a call that must not fail.
func call[In, Out, Option any](u *upstream, f func(context.Context, *In, ...func(*Option)) (*Out, error), in *In) *Out {
	u.t.Helper()
	out, err := f(u.t.Context(), in)
	if err != nil {
		u.t.Fatal(err)
	}

	return out
}

// subnets are the public ones, one of each zone.
func (u *upstream) subnets() []string {
	var list []string
	for _, zone := range u.r.seed.Zones {
		list = append(list, u.r.seed.Public[zone])
	}

	return list
}

const clusterTag = "kubernetes.io/cluster/e2e"

func serviceKey(service *v1.Service) string { return service.Namespace + "/" + service.Name }

// allow adds a rule for all addresses to a security group.
func (u *upstream) allow(group, protocol string, from, to int32, description *string) {
	u.t.Helper()
	call(u, u.ec2.AuthorizeSecurityGroupIngress, &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: &group, IpPermissions: []ec2types.IpPermission{{
			IpProtocol: &protocol, FromPort: &from, ToPort: &to,
			IpRanges: []ec2types.IpRange{{CidrIp: new("0.0.0.0/0"), Description: description}},
		}},
	})
}

// classic makes the classic load balancer of a Service.
func (u *upstream) classic(service *v1.Service) {
	u.t.Helper()
	name := balancerName(service)
	group := *call(u, u.ec2.CreateSecurityGroup, &ec2.CreateSecurityGroupInput{
		GroupName: new("k8s-elb-" + name), VpcId: &u.r.seed.VPC,
		Description: new(fmt.Sprintf("Security group for Kubernetes ELB %s (%s)", name, serviceKey(service))),
		TagSpecifications: []ec2types.TagSpecification{{
			ResourceType: ec2types.ResourceTypeSecurityGroup,
			Tags:         []ec2types.Tag{{Key: new(clusterTag), Value: new("owned")}},
		}},
	}).GroupId
	u.allow(group, "icmp", 3, 4, nil)
	var listeners []elbtypes.Listener
	for _, port := range service.Spec.Ports {
		u.allow(group, "tcp", port.Port, port.Port, nil)
		listeners = append(listeners, elbtypes.Listener{
			Protocol: new("tcp"), LoadBalancerPort: port.Port, InstanceProtocol: new("tcp"), InstancePort: &port.NodePort,
		})
	}
	call(u, u.elb.CreateLoadBalancer, &elb.CreateLoadBalancerInput{
		LoadBalancerName: &name, Listeners: listeners, Subnets: u.subnets(), SecurityGroups: []string{group},
		Tags: []elbtypes.Tag{
			{Key: new(clusterTag), Value: new("owned")},
			{Key: new("kubernetes.io/service-name"), Value: new(serviceKey(service))},
		},
	})
	call(u, u.elb.ModifyLoadBalancerAttributes, &elb.ModifyLoadBalancerAttributesInput{
		LoadBalancerName: &name, LoadBalancerAttributes: &elbtypes.LoadBalancerAttributes{
			AccessLog: &elbtypes.AccessLog{}, ConnectionDraining: &elbtypes.ConnectionDraining{},
			ConnectionSettings:     &elbtypes.ConnectionSettings{IdleTimeout: new(int32(60))},
			CrossZoneLoadBalancing: &elbtypes.CrossZoneLoadBalancing{},
		},
	})
	call(u, u.elb.ConfigureHealthCheck, &elb.ConfigureHealthCheckInput{
		LoadBalancerName: &name, HealthCheck: &elbtypes.HealthCheck{
			Target:           new(fmt.Sprintf("TCP:%d", service.Spec.Ports[0].NodePort)),
			HealthyThreshold: new(int32(2)), UnhealthyThreshold: new(int32(6)), Timeout: new(int32(5)), Interval: new(int32(10)),
		},
	})
	call(u, u.ec2.AuthorizeSecurityGroupIngress, &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: &u.r.seed.NodeGroup, IpPermissions: []ec2types.IpPermission{{
			IpProtocol: new("-1"), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: &group}},
		}},
	})
	var instances []elbtypes.Instance
	for _, id := range ids(u.nodes) {
		instances = append(instances, elbtypes.Instance{InstanceId: &id})
	}
	call(u, u.elb.RegisterInstancesWithLoadBalancer, &elb.RegisterInstancesWithLoadBalancerInput{LoadBalancerName: &name, Instances: instances})
}

// network makes the network load balancer of a Service.
func (u *upstream) network(service *v1.Service) {
	u.t.Helper()
	name := balancerName(service)
	tags := []elbv2types.Tag{
		{Key: new(clusterTag), Value: new("owned")},
		{Key: new("kubernetes.io/service-name"), Value: new(serviceKey(service))},
	}
	var mappings []elbv2types.SubnetMapping
	for _, subnet := range u.subnets() {
		mappings = append(mappings, elbv2types.SubnetMapping{SubnetId: &subnet})
	}
	balancer := call(u, u.elbv2.CreateLoadBalancer, &elbv2.CreateLoadBalancerInput{
		Name: &name, Type: elbv2types.LoadBalancerTypeEnumNetwork, SubnetMappings: mappings, Tags: tags,
	}).LoadBalancers[0].LoadBalancerArn
	for _, port := range service.Spec.Ports {
		group := u.targetGroup(service, port, tags)
		call(u, u.elbv2.CreateListener, &elbv2.CreateListenerInput{
			LoadBalancerArn: balancer, Port: &port.Port, Protocol: elbv2types.ProtocolEnumTcp, Tags: tags,
			DefaultActions: []elbv2types.Action{{Type: elbv2types.ActionTypeEnumForward, TargetGroupArn: group}},
		})
		u.allow(u.r.seed.NodeGroup, "tcp", port.NodePort, port.NodePort, new("kubernetes.io/rule/nlb/client="+name))
	}
	u.allow(u.r.seed.NodeGroup, "icmp", 3, 4, new("kubernetes.io/rule/nlb/mtu"))
}

// targetGroup makes one of a port with all nodes in it.
func (u *upstream) targetGroup(service *v1.Service, port v1.ServicePort, tags []elbv2types.Tag) *string {
	u.t.Helper()
	text := fmt.Sprintf("e2e%s%s%d%dTCPinstanceTCP30", service.Namespace, service.Name, port.Port, port.NodePort)
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	group := call(u, u.elbv2.CreateTargetGroup, &elbv2.CreateTargetGroupInput{
		Name:  new(fmt.Sprintf("k8s-%.8s-%.8s-%.10s", service.Namespace, service.Name, hex.EncodeToString(sum[:]))),
		VpcId: &u.r.seed.VPC, Port: &port.NodePort, Protocol: elbv2types.ProtocolEnumTcp, TargetType: elbv2types.TargetTypeEnumInstance,
		HealthCheckProtocol: elbv2types.ProtocolEnumTcp, HealthCheckPort: new("traffic-port"), HealthCheckIntervalSeconds: new(int32(30)),
		HealthyThresholdCount: new(int32(3)), UnhealthyThresholdCount: new(int32(3)), Tags: tags,
	}).TargetGroups[0].TargetGroupArn
	var targets []elbv2types.TargetDescription
	for _, id := range ids(u.nodes) {
		targets = append(targets, elbv2types.TargetDescription{Id: &id, Port: &port.NodePort})
	}
	call(u, u.elbv2.RegisterTargets, &elbv2.RegisterTargetsInput{TargetGroupArn: group, Targets: targets})

	return group
}
