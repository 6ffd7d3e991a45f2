package aws

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/classic"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// planFixture is an observed section: what exists in AWS and in the cluster before
// a Service is reconciled. What it leaves out is as in observed.yaml, and then as
// in the files that From lists; null removes what those have.
type planFixture struct {
	From []string
	// Delete reports whether the Service is deleted.
	Delete bool

	Config request.Config
	// BadNetworkSetting is the text of Config.BadNetworkSetting.
	BadNetworkSetting string
	// Nodes are the Nodes of the cluster by name, with their instances.
	Nodes map[string]nodeFixture

	Subnets     map[string]vpc.Subnet
	RouteTables map[string]vpc.RouteTable
	Zones       map[string]vpc.Zone
	// SecurityGroups are those of the VPC by ID.
	SecurityGroups map[string]groupFixture

	Classic *classicFixture
	Network *networkFixture
}

type nodeFixture struct {
	Instance   string
	ProviderID string
	Labels     map[string]string
	// State is that of the instance, "unknown" if EC2 has none.
	State          types.InstanceStateName
	Tags           map[string]string
	SecurityGroups []string
}

// groupFixture is a security group with its rules as plans print them.
type groupFixture struct {
	Name, Description string
	Tags              map[string]string
	Rules             []string
}

// classicFixture is the classic load balancer with its listeners by port.
type classicFixture struct {
	classic.LoadBalancer
	Listeners map[int32]classic.Listener
}

// networkFixture is the network load balancer with its listeners by port and
// protocol, and the target groups of the Service by name. ARNs are derived.
type networkFixture struct {
	LoadBalancer *network.LoadBalancer
	Listeners    map[string]network.ListenerState
	TargetGroups map[string]network.GroupState
}

// exists reports whether there is a load balancer before the plan.
func (f *planFixture) exists() bool {
	return f.Classic != nil || f.Network != nil && f.Network.LoadBalancer != nil
}

// nodes are the Nodes of the Kubernetes API.
func (f *planFixture) nodes() []*v1.Node {
	var list []*v1.Node
	for _, name := range slices.Sorted(maps.Keys(f.Nodes)) {
		from := f.Nodes[name]
		id := from.ProviderID
		if id == "" {
			id = "aws:///us-west-2a/" + from.Instance
		}
		node := kubetest.Node(name, kubetest.ProviderID(id))
		maps.Copy(node.Labels, from.Labels)
		list = append(list, node)
	}

	return list
}

// targets are the instances of the wanted targets that EC2 has.
func (f *planFixture) targets(r *request.Request) map[string]*inventory.Instance {
	all := map[string]*inventory.Instance{}
	for _, node := range f.Nodes {
		wanted := slices.ContainsFunc(r.Targets, func(target request.Target) bool { return target.InstanceID == node.Instance })
		if node.State == "unknown" || !wanted {
			continue
		}
		instance := &inventory.Instance{
			ID: node.Instance, State: node.State, VPC: f.Config.VPC, Tags: node.Tags, SecurityGroups: node.SecurityGroups,
		}
		if instance.State == "" {
			instance.State = types.InstanceStateNameRunning
		}
		if inReach(f.Config, instance) {
			all[node.Instance] = instance
		}
	}

	return all
}

// subnets are those of the load balancer, as package vpc chooses them.
func (f *planFixture) subnets(r *request.Request, o *observed) ([]vpc.Subnet, error) {
	var all []vpc.Subnet
	for _, id := range slices.Sorted(maps.Keys(f.Subnets)) {
		subnet := f.Subnets[id]
		subnet.ID = id
		all = append(all, subnet)
	}
	if len(r.Subnets) > 0 {
		return vpc.Pick(all, r.Subnets)
	}
	internal, needed := discovery(r, o)
	if !needed {
		return nil, nil
	}
	tables := slices.Collect(maps.Values(f.RouteTables))

	return vpc.Choose(vpc.Usable(all, f.Config.Cluster), tables, f.Zones, vpc.DiscoverOptions{Cluster: f.Config.Cluster, Internal: internal})
}

// groups are the security groups of the VPC; members are those of the cluster.
func (f *planFixture) groups() (all, members securitygroup.Groups, err error) {
	all, members = securitygroup.Groups{}, securitygroup.Groups{}
	for id, from := range f.SecurityGroups {
		group := &securitygroup.Group{ID: id, Name: from.Name, Description: from.Description, Tags: from.Tags, Rules: securitygroup.Rules{}}
		for _, text := range from.Rules {
			rule, description, err := parseRule(text)
			if err != nil {
				return nil, nil, err
			}
			group.Rules[rule] = description
		}
		all[id] = group
		if f.Config.Cluster.Member(group.Tags) {
			members[id] = group
		}
	}

	return all, members, nil
}

// ruleForm is how plans print rules.
var ruleForm = regexp.MustCompile(`^(?:everything|(\w+) (\d+)(?:[-/](\d+))?) from (\S+?)(?: \((.*)\))?$`)

// parseRule reads a rule as plans print it.
func parseRule(text string) (rule securitygroup.Rule, description string, err error) {
	parts := ruleForm.FindStringSubmatch(text)
	if parts == nil {
		return rule, "", fmt.Errorf("%q is not a rule", text)
	}
	if parts[1] == "" {
		return securitygroup.FromEverything(parts[4]), parts[5], nil
	}
	first, _ := strconv.ParseInt(parts[2], 10, 32)
	last := first
	if parts[3] != "" {
		last, _ = strconv.ParseInt(parts[3], 10, 32)
	}
	rule = securitygroup.Rule{Protocol: parts[1], From: int32(first), To: int32(last)}
	rule.Source.Value = parts[4]
	switch {
	case strings.HasPrefix(parts[4], "sg-"):
		rule.Source.Kind = securitygroup.FromGroup
	case strings.HasPrefix(parts[4], "pl-"):
		rule.Source.Kind = securitygroup.FromPrefixList
	case strings.Contains(parts[4], ":"):
		rule.Source.Kind = securitygroup.FromIPv6
	}

	return rule, parts[5], nil
}

// observed is what exists of the load balancers.
func (f *planFixture) observed(r *request.Request) *observed {
	o := &observed{}
	if f.Classic != nil {
		lb := f.Classic.LoadBalancer
		lb.Name, lb.Cluster = r.Name, f.Config.Cluster
		for _, port := range slices.Sorted(maps.Keys(f.Classic.Listeners)) {
			listener := f.Classic.Listeners[port]
			listener.Port = port
			lb.Listeners = append(lb.Listeners, listener)
		}
		o.Classic = &lb
	}
	if r.Kind == request.Network || f.Network != nil || f.Delete {
		o.Network = f.Network.observed(r, f.Config)
	}

	return o
}

func (n *networkFixture) observed(r *request.Request, c request.Config) *network.Observed {
	o := &network.Observed{Name: r.Name, Service: r.Service, Cluster: c.Cluster}
	if n == nil {
		return o
	}
	if n.LoadBalancer != nil {
		lb := *n.LoadBalancer
		lb.ARN, lb.Type = "arn:"+r.Name, elbv2types.LoadBalancerTypeEnumNetwork
		for _, key := range slices.Sorted(maps.Keys(n.Listeners)) {
			listener := n.Listeners[key]
			port, protocol, _ := strings.Cut(key, "/")
			number, _ := strconv.ParseInt(port, 10, 32)
			listener.Port, listener.Protocol = int32(number), elbv2types.ProtocolEnum(protocol)
			listener.ARN, listener.TargetGroup = "arn:"+key, "arn:"+listener.TargetGroup
			lb.Listeners = append(lb.Listeners, listener)
		}
		o.LoadBalancer = &lb
	}
	for _, name := range slices.Sorted(maps.Keys(n.TargetGroups)) {
		group := n.TargetGroups[name]
		group.Name, group.ARN, group.Type = name, "arn:"+name, elbv2types.TargetTypeEnumInstance
		if !attributesMatter(r, c) {
			group.Attributes = nil
		}
		o.TargetGroups = append(o.TargetGroups, group)
	}

	return o
}
