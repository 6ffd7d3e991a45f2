package aws

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/loadbalancers"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// TestConformanceLoadBalancers runs the suite of all providers over classic load
// balancers, and over network ones with and without security groups. With the race
// detector it runs over those with security groups alone, without faults of single calls.
func TestConformanceLoadBalancers(t *testing.T) {
	t.Parallel()
	kind, internal := string(request.AnnotationType), string(request.AnnotationInternal)
	common := loadbalancers.Adapter{
		Provider:    ProviderName,
		Malformed:   []string{"aws:///us-west-2a/vol-0123456789abcdef0", "aws://"},
		Internal:    map[string]string{internal: "true"},
		Unmanaged:   []map[string]string{{kind: "external"}, {kind: "nlb-ip"}},
		Without:     loadbalancers.Capabilities{MixedProtocols: true, Affinity: true, RequestedIP: true, DualStack: true},
		Timeout:     longest,
		NoticeTime:  time.Minute,
		FaultPoints: 1, // TestCrash has all of them
		How:         loadbalancers.How{InMemory: true},
	}
	classic := common
	classic.NewCloud = newBalancersAdapter
	classic.Annotations = map[string]string{string(request.AnnotationCrossZone): "true"}
	classic.Edited = []map[string]string{nil, {kind: "nlb"}}
	classic.Refused = []map[string]string{
		{string(request.AnnotationHealthCheckPort): "http"},
		{string(request.AnnotationHealthCheckInterval): "1"},
		{string(request.AnnotationTargetGroupAttributes): "preserve_client_ip.enabled=true"},
		{string(request.AnnotationProxyProtocol): "80"},
	}
	classic.Budget = loadbalancers.Budget{Services: 10, Create: 12, Resync: 5}

	network := common
	network.NewCloud = newBalancersAdapter
	network.Annotations = map[string]string{kind: "nlb"}
	network.Edited = []map[string]string{nil, {kind: "nlb", internal: "true"}}
	network.Refused = []map[string]string{
		{string(request.AnnotationHealthCheckProtocol): "ssl"},
		{string(request.AnnotationExtraSecurityGroups): "sg-0a"},
		{string(request.AnnotationTargetGroupAttributes): "stickiness.enabled=true"},
	}
	network.Protocols = []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP}
	network.Budget = loadbalancers.Budget{Services: 10, Create: 12, Resync: 9}

	managed := network
	managed.NewCloud = func(t testing.TB) loadbalancers.Cloud {
		return &balancersAdapter{mutableAdapter: newMutableAdapter(t, "NLBSecurityGroupMode = Managed")}
	}
	managed.Budget.Create += 3 // the group, its rules, and the look for it
	adapters := map[string]loadbalancers.Adapter{"Classic": classic, "Network": network, "Managed": managed}
	if profile.Race {
		managed.Without.FaultInjection = true
		adapters = map[string]loadbalancers.Adapter{"Managed": managed}
	}
	for name, adapter := range adapters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loadbalancers.Run(t, adapter)
		})
	}
}

// balancersAdapter is the test cloud with load balancers. The name of a decoy of
// one kind is a decoy in that kind alone.
type balancersAdapter struct {
	*mutableAdapter

	classics, networks []string // the decoys
}

func newBalancersAdapter(t testing.TB) loadbalancers.Cloud {
	return &balancersAdapter{mutableAdapter: newMutableAdapter(t)}
}

// LoadBalancers implements loadbalancers.Cloud.
func (a *balancersAdapter) LoadBalancers() []loadbalancers.LoadBalancer {
	classics, networks := a.Cloud.LoadBalancers()
	var all []loadbalancers.LoadBalancer
	for _, name := range without(classics, a.classics) {
		if lb, found := a.Classic(name); found {
			all = append(all, classicView(lb))
		}
	}
	for _, name := range without(networks, a.networks) {
		if lb, found := a.Network(name); found {
			all = append(all, networkView(lb))
		}
	}

	return all
}

func classicView(lb sim.ClassicLoadBalancer) loadbalancers.LoadBalancer {
	view := loadbalancers.LoadBalancer{Name: lb.Name, Addresses: []string{lb.DNSName}, Internal: lb.Scheme == sim.SchemeInternal}
	for _, listener := range lb.Listeners {
		seen := loadbalancers.Listener{Protocol: v1.Protocol(listener.Protocol), Port: listener.Port}
		if rest, ok := strings.CutPrefix(lb.HealthCheck.Target, "HTTP:"); ok {
			port, _, _ := strings.Cut(rest, "/")
			seen.HealthPort = number(port)
		}
		for _, id := range lb.Instances {
			seen.Targets = append(seen.Targets, loadbalancers.Target{ProviderID: inventory.FormatProviderID(testZone, id), Port: listener.InstancePort})
		}
		view.Listeners = append(view.Listeners, seen)
	}

	return view
}

func networkView(lb sim.NetworkLoadBalancer) loadbalancers.LoadBalancer {
	view := loadbalancers.LoadBalancer{Name: lb.Name, Addresses: []string{lb.DNSName}, Internal: lb.Scheme == sim.SchemeInternal}
	for _, listener := range lb.Listeners {
		group := behind(lb, listener)
		seen := loadbalancers.Listener{Protocol: v1.Protocol(listener.Protocol), Port: listener.Port}
		if group.HealthCheck.Protocol == "HTTP" {
			seen.HealthPort = number(group.HealthCheck.Port)
		}
		for _, target := range group.Targets {
			seen.Targets = append(seen.Targets, loadbalancers.Target{ProviderID: inventory.FormatProviderID(testZone, target.ID), Port: target.Port})
		}
		view.Listeners = append(view.Listeners, seen)
	}

	return view
}

// behind is the target group of a listener.
func behind(lb sim.NetworkLoadBalancer, listener sim.NetworkListener) sim.TargetGroup {
	i := slices.IndexFunc(lb.TargetGroups, func(g sim.TargetGroup) bool { return g.Name == listener.TargetGroup })

	return lb.TargetGroups[i]
}

// number is a port, 0 for that of the traffic.
func number(text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}

	return int32(n)
}

// Reach evaluates the simulated security groups for each target.
func (a *balancersAdapter) Reach(_ testing.TB, name string, protocol v1.Protocol, port int32, client netip.Addr) []string {
	source := netip.PrefixFrom(client, client.BitLen()).String()
	missing := a.BlockedTraffic(name, source)
	transport := strings.ToLower(string(protocol))
	if slices.Contains(missing, fmt.Sprintf("load balancer: traffic %s %d from %s", transport, port, source)) {
		return nil
	}
	var reached []string
	for id, ports := range a.targets(name, protocol, port) {
		at := a.Tags(id)["Name"]
		blocked := slices.ContainsFunc(missing, func(line string) bool {
			return line == fmt.Sprintf("%s: traffic %s %d from %s", at, transport, ports.traffic, source) ||
				line == fmt.Sprintf("%s: traffic %s %d from load balancer", at, transport, ports.traffic) ||
				line == fmt.Sprintf("%s: health check tcp %d from load balancer", at, ports.probe)
		})
		if !blocked {
			reached = append(reached, inventory.FormatProviderID(testZone, id))
		}
	}

	return reached
}

// nodePorts are where traffic and health checks go to.
type nodePorts struct{ traffic, probe int32 }

// targets are the instances behind a port of a load balancer, by ID.
func (a *balancersAdapter) targets(name string, protocol v1.Protocol, port int32) map[string]nodePorts {
	found := map[string]nodePorts{}
	if lb, ok := a.Classic(name); ok && !slices.Contains(a.classics, name) {
		_, probed, _ := strings.Cut(lb.HealthCheck.Target, ":")
		probed, _, _ = strings.Cut(probed, "/")
		for _, listener := range lb.Listeners {
			for _, id := range lb.Instances {
				if listener.Port == port && listener.Protocol == string(protocol) {
					found[id] = nodePorts{listener.InstancePort, number(probed)}
				}
			}
		}
	}
	if lb, ok := a.Network(name); ok && !slices.Contains(a.networks, name) {
		for _, listener := range lb.Listeners {
			if listener.Port != port || listener.Protocol != string(protocol) {
				continue
			}
			group := behind(lb, listener)
			for _, target := range group.Targets {
				probed := number(group.HealthCheck.Port)
				if probed == 0 {
					probed = target.Port
				}
				found[target.ID] = nodePorts{target.Port, probed}
			}
		}
	}

	return found
}

// Remove implements loadbalancers.Cloud. Target groups, security groups
// and their rules stay.
func (a *balancersAdapter) Remove(t testing.TB, name string) {
	t.Helper()
	a.asUser(func() {
		_, isNetwork := a.Network(name)
		config := a.Config()
		defer closeIdle(config)
		var err error
		if isNetwork && !slices.Contains(a.networks, name) {
			lb, _ := a.Network(name)
			_, err = elbv2.NewFromConfig(config).DeleteLoadBalancer(t.Context(), &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: awssdk.String(lb.ARN)})
		} else {
			_, err = elb.NewFromConfig(config).DeleteLoadBalancer(t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerName: awssdk.String(name)})
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}
