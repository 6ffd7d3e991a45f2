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
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestConformanceLoadBalancers runs the suite of all providers over classic load
// balancers, and over network ones with and without security groups. With
// the race detector it runs over those with security groups alone, which is every
// case once.
func TestConformanceLoadBalancers(t *testing.T) {
	t.Parallel()
	kind, internal := string(request.AnnotationType), string(request.AnnotationInternal)
	common := conformance.LoadBalancerSuite{
		Provider:  ProviderName,
		Malformed: []string{"aws:///us-west-2a/vol-0123456789abcdef0", "aws://"},
		Internal:  map[string]string{internal: "true"},
		Elsewhere: []map[string]string{{kind: "external"}, {kind: "nlb-ip"}},
		Without:   conformance.LoadBalancerCapabilities{MixedProtocols: true, Affinity: true, RequestedIP: true},
		Timeout:   longest,
		Patience:  time.Minute,
		Points:    1, // TestCrash has all of them
	}
	classic := common
	classic.NewCloud = newBalancerLab
	classic.Annotations = map[string]string{string(request.AnnotationCrossZone): "true"}
	classic.Edited = []map[string]string{nil, {kind: "nlb"}}
	classic.Refused = []map[string]string{
		{string(request.AnnotationHealthCheckPort): "http"},
		{string(request.AnnotationHealthCheckInterval): "1"},
		{string(request.AnnotationTargetGroupAttributes): "preserve_client_ip.enabled=true"},
		{string(request.AnnotationProxyProtocol): "80"},
	}
	classic.Budget = conformance.LoadBalancerBudget{Services: 10, Create: 12, Resync: 5}

	network := common
	network.NewCloud = newBalancerLab
	network.Annotations = map[string]string{kind: "nlb"}
	network.Edited = []map[string]string{nil, {kind: "nlb", internal: "true"}}
	network.Refused = []map[string]string{
		{string(request.AnnotationHealthCheckProtocol): "ssl"},
		{string(request.AnnotationExtraSecurityGroups): "sg-0a"},
		{string(request.AnnotationTargetGroupAttributes): "stickiness.enabled=true"},
	}
	network.Protocols = []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP}
	network.Budget = conformance.LoadBalancerBudget{Services: 10, Create: 12, Resync: 9}

	managed := network
	managed.NewCloud = func(t testing.TB) conformance.LoadBalancerCloud {
		return &balancerLab{workshop: newWorkshop(t, "NLBSecurityGroupMode = Managed")}
	}
	managed.Budget.Create += 3 // the group, its rules, and the look for it
	suites := map[string]conformance.LoadBalancerSuite{"Classic": classic, "Network": network, "Managed": managed}
	if raceDetector {
		suites = map[string]conformance.LoadBalancerSuite{"Managed": managed}
	}
	for name, suite := range suites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conformance.LoadBalancers(t, suite)
		})
	}
}

// balancerLab is the workshop as the cases about load balancers see it. A name
// that was planted for one kind is somebody else's in that kind alone.
type balancerLab struct {
	*workshop

	classics, networks []string // the planted ones
}

func newBalancerLab(t testing.TB) conformance.LoadBalancerCloud {
	return &balancerLab{workshop: newWorkshop(t)}
}

// LoadBalancers implements conformance.LoadBalancerCloud.
func (l *balancerLab) LoadBalancers() []conformance.LoadBalancer {
	classics, networks := l.Cloud.LoadBalancers()
	var all []conformance.LoadBalancer
	for _, name := range without(classics, l.classics) {
		if lb, found := l.Classic(name); found {
			all = append(all, classicView(lb))
		}
	}
	for _, name := range without(networks, l.networks) {
		if lb, found := l.Network(name); found {
			all = append(all, networkView(lb))
		}
	}
	return all
}

func classicView(lb sim.ClassicLoadBalancer) conformance.LoadBalancer {
	view := conformance.LoadBalancer{Name: lb.Name, Address: lb.DNSName, Internal: lb.Scheme == sim.SchemeInternal}
	for _, listener := range lb.Listeners {
		seen := conformance.Listener{Protocol: v1.Protocol(listener.Protocol), Port: listener.Port}
		if rest, ok := strings.CutPrefix(lb.HealthCheck.Target, "HTTP:"); ok {
			port, _, _ := strings.Cut(rest, "/")
			seen.HealthPort = number(port)
		}
		for _, id := range lb.Instances {
			seen.Targets = append(seen.Targets, conformance.Target{ProviderID: inventory.FormatProviderID(labZone, id), Port: listener.InstancePort})
		}
		view.Listeners = append(view.Listeners, seen)
	}
	return view
}

func networkView(lb sim.NetworkLoadBalancer) conformance.LoadBalancer {
	view := conformance.LoadBalancer{Name: lb.Name, Address: lb.DNSName, Internal: lb.Scheme == sim.SchemeInternal}
	for _, listener := range lb.Listeners {
		group := behind(lb, listener)
		seen := conformance.Listener{Protocol: v1.Protocol(listener.Protocol), Port: listener.Port}
		if group.HealthCheck.Protocol == "HTTP" {
			seen.HealthPort = number(group.HealthCheck.Port)
		}
		for _, target := range group.Targets {
			seen.Targets = append(seen.Targets, conformance.Target{ProviderID: inventory.FormatProviderID(labZone, target.ID), Port: target.Port})
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

// Reach asks the simulated security groups about each target.
func (l *balancerLab) Reach(_ testing.TB, name string, protocol v1.Protocol, port int32, client netip.Addr) []string {
	source := netip.PrefixFrom(client, client.BitLen()).String()
	missing := l.Admits(name, source)
	transport := strings.ToLower(string(protocol))
	if slices.Contains(missing, fmt.Sprintf("load balancer: traffic %s %d from %s", transport, port, source)) {
		return nil
	}
	var reached []string
	for id, ports := range l.targets(name, protocol, port) {
		at := l.Tags(id)["Name"]
		blocked := slices.ContainsFunc(missing, func(line string) bool {
			return line == fmt.Sprintf("%s: traffic %s %d from %s", at, transport, ports.traffic, source) ||
				line == fmt.Sprintf("%s: traffic %s %d from load balancer", at, transport, ports.traffic) ||
				line == fmt.Sprintf("%s: health check tcp %d from load balancer", at, ports.probe)
		})
		if !blocked {
			reached = append(reached, inventory.FormatProviderID(labZone, id))
		}
	}
	return reached
}

// nodePorts are where traffic and health checks go to.
type nodePorts struct{ traffic, probe int32 }

// targets are the instances behind a port of a load balancer, by ID.
func (l *balancerLab) targets(name string, protocol v1.Protocol, port int32) map[string]nodePorts {
	found := map[string]nodePorts{}
	if lb, ok := l.Classic(name); ok && !slices.Contains(l.classics, name) {
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
	if lb, ok := l.Network(name); ok && !slices.Contains(l.networks, name) {
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

// Remove implements conformance.LoadBalancerCloud. Target groups, security groups
// and their rules stay.
func (l *balancerLab) Remove(t testing.TB, name string) {
	t.Helper()
	l.byHand(func() {
		_, isNetwork := l.Network(name)
		config := l.Config()
		defer closeIdle(config)
		var err error
		if isNetwork && !slices.Contains(l.networks, name) {
			lb, _ := l.Network(name)
			_, err = elbv2.NewFromConfig(config).DeleteLoadBalancer(t.Context(), &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: awssdk.String(lb.ARN)})
		} else {
			_, err = elb.NewFromConfig(config).DeleteLoadBalancer(t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerName: awssdk.String(name)})
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}
