package aws

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/classic"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// plansDir holds a directory for each golden case, and the files that cases have
// in common.
var plansDir = filepath.Join("testdata", "plans")

// scene is an observed.yaml: what is known of AWS and of the cluster when a
// Service comes along. What it does not say is as in base.yaml, and then as in the
// files that From names; null takes away what those have.
type scene struct {
	// Reason says what the case shows.
	Reason string
	From   []string
	// Delete is that the Service goes away.
	Delete bool

	Config request.Config
	// BadNetworkSetting is the text of Config.BadNetworkSetting.
	BadNetworkSetting string
	// Nodes are the Nodes of the cluster by name, with the instances behind them.
	Nodes map[string]sceneNode

	Subnets     map[string]vpc.Subnet
	RouteTables map[string]vpc.RouteTable
	Zones       map[string]vpc.Zone
	// SecurityGroups are those of the VPC by ID.
	SecurityGroups map[string]sceneGroup

	Classic *sceneClassic
	Network *sceneNetwork
}

type sceneNode struct {
	Instance   string
	ProviderID string
	Labels     map[string]string
	// State is that of the instance, "unknown" if EC2 has none.
	State          types.InstanceStateName
	Tags           map[string]string
	SecurityGroups []string
}

// sceneGroup is a security group with its rules as plans print them.
type sceneGroup struct {
	Name, Description string
	Tags              map[string]string
	Rules             []string
}

// sceneClassic is the classic load balancer with its listeners by port.
type sceneClassic struct {
	classic.LoadBalancer
	Listeners map[int32]classic.Listener
}

// sceneNetwork is the network load balancer with its listeners by port and
// protocol, and the target groups of the Service by name. ARNs come of themselves.
type sceneNetwork struct {
	LoadBalancer *network.LoadBalancer
	Listeners    map[string]network.ListenerState
	TargetGroups map[string]network.GroupState
}

// readScene reads the observed.yaml of a case, over what it has in common with
// others.
func readScene(t *testing.T, path string) *scene {
	t.Helper()
	own := readYAML(t, path)
	all := readYAML(t, filepath.Join(plansDir, "base.yaml"))
	from, _ := own["from"].([]any)
	for _, name := range from {
		overlay(all, readYAML(t, filepath.Join(plansDir, fmt.Sprint(name)+".yaml")))
	}
	overlay(all, own)
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{}
	if err := yaml.UnmarshalStrict(text, s); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return s
}

func readYAML(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return values
}

// overlay changes values as RFC 7386 says: maps are merged, null deletes,
// everything else replaces.
func overlay(into, patch map[string]any) {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		old, wasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && wasMap:
			overlay(old, inner)
		default:
			into[key] = value
		}
	}
}

// nodes are the Nodes as Kubernetes has them.
func (s *scene) nodes() []*v1.Node {
	var list []*v1.Node
	for _, name := range slices.Sorted(maps.Keys(s.Nodes)) {
		from := s.Nodes[name]
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

// targets are the instances that EC2 has of those that are to be targets.
func (s *scene) targets(r *request.Request) map[string]*inventory.Instance {
	all := map[string]*inventory.Instance{}
	for _, node := range s.Nodes {
		wanted := slices.ContainsFunc(r.Targets, func(target request.Target) bool { return target.InstanceID == node.Instance })
		if node.State == "unknown" || !wanted {
			continue
		}
		instance := &inventory.Instance{
			ID: node.Instance, State: node.State, VPC: s.Config.VPC, Tags: node.Tags, SecurityGroups: node.SecurityGroups,
		}
		if instance.State == "" {
			instance.State = types.InstanceStateNameRunning
		}
		if inReach(s.Config, instance) {
			all[node.Instance] = instance
		}
	}
	return all
}

// subnets chooses those of the load balancer, as the VPC does it.
func (s *scene) subnets(r *request.Request, o *observed) ([]vpc.Subnet, error) {
	var all []vpc.Subnet
	for _, id := range slices.Sorted(maps.Keys(s.Subnets)) {
		subnet := s.Subnets[id]
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
	tables := slices.Collect(maps.Values(s.RouteTables))
	return vpc.Choose(vpc.Usable(all, s.Config.Cluster), tables, s.Zones, vpc.Wish{Cluster: s.Config.Cluster, Internal: internal})
}

// groups are the security groups of the VPC; members are those of the cluster.
func (s *scene) groups() (all, members securitygroup.Groups, err error) {
	all, members = securitygroup.Groups{}, securitygroup.Groups{}
	for id, from := range s.SecurityGroups {
		group := &securitygroup.Group{ID: id, Name: from.Name, Description: from.Description, Tags: from.Tags, Rules: securitygroup.Rules{}}
		for _, text := range from.Rules {
			rule, description, err := parseRule(text)
			if err != nil {
				return nil, nil, err
			}
			group.Rules[rule] = description
		}
		all[id] = group
		if s.Config.Cluster.Member(group.Tags) {
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
		return rule, "", fmt.Errorf("%q is no rule", text)
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

// observed is what there is of the load balancers.
func (s *scene) observed(r *request.Request) *observed {
	o := &observed{}
	if s.Classic != nil {
		lb := s.Classic.LoadBalancer
		lb.Name, lb.Cluster = r.Name, s.Config.Cluster
		for _, port := range slices.Sorted(maps.Keys(s.Classic.Listeners)) {
			listener := s.Classic.Listeners[port]
			listener.Port = port
			lb.Listeners = append(lb.Listeners, listener)
		}
		o.Classic = &lb
	}
	if r.Kind == request.Network || s.Network != nil || s.Delete {
		o.Network = s.Network.observed(r, s.Config)
	}
	return o
}

func (n *sceneNetwork) observed(r *request.Request, c request.Config) *network.Observed {
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
