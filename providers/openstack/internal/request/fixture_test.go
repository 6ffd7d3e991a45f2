package request

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
)

const testUID = "0b8e1f5a-6c1d-4b7e-9a54-3f6a1c2d9e07"

// testID returns the ID of a resource that cases call ID-<word>.
func testID(word string) string {
	sum := sha256.Sum256([]byte(word))

	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

var idWord = regexp.MustCompile(`ID-([a-z-]+)`)

// withIDs replaces each ID-<word> by an ID, and adds it to the words.
func withIDs(text string, words map[string]string) string {
	return idWord.ReplaceAllStringFunc(text, func(word string) string {
		id := testID(word)
		words[id] = word

		return id
	})
}

// testCase is what a case starts from and changes.
type testCase struct {
	service  *v1.Service
	nodes    []*v1.Node
	settings Settings
	version  string
	provider string
	given    Given
	update   bool
}

// newCase returns the Service of most cases: TCP 80 and UDP 53, with three Nodes. The
// cloud-config has a value for each key.
func newCase() *testCase {
	svc := kubetest.Service("shop", "web", kubetest.ServiceUID(testUID), kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolUDP, 53))
	words := map[string]string{}
	networks := func(place string) Networks {
		return Networks{
			FloatingNetworkID: withIDs("ID-"+place+"-fnet", words), FloatingSubnet: place + "-*", FloatingSubnetTags: place,
			NetworkID: withIDs("ID-"+place+"-net", words), SubnetID: withIDs("ID-"+place+"-sub", words),
			MemberSubnetID: withIDs("ID-"+place+"-members", words),
		}
	}

	return &testCase{
		service: svc,
		nodes: []*v1.Node{
			kubetest.Node("b", kubetest.Labeled("pool", "x"), kubetest.Address(v1.NodeInternalIP, "10.0.0.2"), kubetest.Address(v1.NodeInternalIP, "fd00::2")),
			kubetest.Node("a", kubetest.Address(v1.NodeInternalIP, "10.0.0.1"), kubetest.Address(v1.NodeInternalIP, "fd00::1")),
			kubetest.Node("c", kubetest.Labeled("pool", "x=y"), kubetest.Address(v1.NodeExternalIP, "192.0.2.3")),
		},
		settings: Settings{
			ClusterName: "kube", Networks: networks("config"),
			Classes: map[string]Networks{"gold": networks("class"), "empty": {}},
			Monitor: MonitorSettings{Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3},
			Method:  "LEAST_CONNECTIONS", FlavorID: "config-flavor", AvailabilityZone: "config-zone", ContainerStore: "barbican",
		},
		version: "v2.27", provider: "amphora",
	}
}

// directives change a case, beside annotations.
var directives = map[string]func(*testCase, string){
	"config.class":           func(c *testCase, _ string) { c.settings.Classes["gold"] = Networks{} },
	"config.internal-lb":     func(c *testCase, v string) { c.settings.InternalOnly = v == "true" },
	"config.create-monitor":  func(c *testCase, v string) { c.settings.Monitor.Create = v == "true" },
	"config.monitor-delay":   func(c *testCase, v string) { c.settings.Monitor.Delay = atoi(v) },
	"config.monitor-retries": func(c *testCase, v string) { c.settings.Monitor.MaxRetries = atoi(v) },
	"config.lb-method":       func(c *testCase, v string) { c.settings.Method = v },
	"config.node-selector":   func(c *testCase, v string) { c.settings.NodeSelector = v },
	"config.tls":             func(c *testCase, v string) { c.settings.TLSContainerRef = v },
	"config.store":           func(c *testCase, v string) { c.settings.ContainerStore = v },
	"config.groups":          func(c *testCase, v string) { c.settings.ManageSecurityGroups = v == "true" },
	"config.suffix":          func(c *testCase, v string) { c.settings.IngressHostnameSuffix = v },
	"config.networks":        func(c *testCase, _ string) { c.settings.Networks = Networks{} },
	"config.network-id":      func(c *testCase, v string) { c.settings.Networks.NetworkID = v },
	"config.member-subnet":   func(c *testCase, v string) { c.settings.Networks.MemberSubnetID = v },
	"config.floating-subnet": func(c *testCase, v string) { c.settings.Networks.FloatingSubnet = v },
	"config.subnet-id":       func(c *testCase, v string) { c.settings.Networks.SubnetID = v },
	"spec.ip":                func(c *testCase, v string) { c.service.Spec.LoadBalancerIP = v },
	"spec.local":             func(c *testCase, v string) { kubetest.LocalTraffic(int32(atoi(v)))(c.service) },
	"spec.affinity":          func(c *testCase, v string) { c.service.Spec.SessionAffinity = v1.ServiceAffinity(v) },
	"spec.ranges": func(c *testCase, v string) {
		c.service.Spec.LoadBalancerSourceRanges = strings.Split(v, "|")
	},
	"spec.families": func(c *testCase, v string) {
		c.service.Spec.IPFamilies = nil
		for family := range strings.FieldsSeq(v) {
			c.service.Spec.IPFamilies = append(c.service.Spec.IPFamilies, v1.IPFamily(family))
		}
	},
	"spec.ports": func(c *testCase, v string) {
		c.service.Spec.Ports = nil
		for port := range strings.FieldsSeq(v) {
			protocol, number, _ := strings.Cut(port, "/")
			kubetest.Port(v1.Protocol(protocol), int32(atoi(number)))(c.service)
		}
	},
	"spec.no-node-ports": func(c *testCase, _ string) {
		for i := range c.service.Spec.Ports {
			c.service.Spec.Ports[i].NodePort = 0
		}
	},
	"nodes":    func(c *testCase, _ string) { c.nodes = nil },
	"update":   func(c *testCase, _ string) { c.nodes, c.update = nil, true },
	"provider": func(c *testCase, v string) { c.provider = v },
	"version":  func(c *testCase, v string) { c.version = v },
	"vips": func(c *testCase, v string) {
		c.given.Families = nil
		for family := range strings.FieldsSeq(v) {
			c.given.Families = append(c.given.Families, address.Family(family))
		}
	},
	"vip-groups": func(c *testCase, v string) { c.given.VIPSecurityGroups = v == "true" },
}

func atoi(text string) int {
	number, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}

	return number
}

// apply changes the case as a list such as "connection-limit=5; spec.local=31000"
// requires. What is no directive is an annotation.
func (c *testCase) apply(changes string) {
	for change := range strings.SplitSeq(changes, "; ") {
		name, value, found := strings.Cut(change, "=")
		if !found {
			panic("no value: " + change)
		}
		switch directive := directives[name]; {
		case directive != nil:
			directive(c, value)
		case strings.Contains(name, "/"):
			c.service.Annotations[name] = value
		default:
			c.service.Annotations[annotationPrefix+name] = value
		}
	}
}

// describe makes the request of the case, resolves it, and describes all of it.
func (c *testCase) describe(t *testing.T) []string {
	t.Helper()
	var version features.Version
	if _, err := fmt.Sscanf(c.version, "v%d.%d", &version.Major, &version.Minor); err != nil {
		t.Fatal(err)
	}
	c.given.Features = features.For(version, c.provider)
	makeRequest := ForEnsure
	if c.update {
		makeRequest = ForUpdate
	}
	r, warnings, err := makeRequest(c.service, c.nodes, c.settings)
	var lines []string
	var resolved *Resolved
	if err == nil {
		lines = describeRequest(r)
		more := warnings
		resolved, warnings, err = r.Resolve(c.given)
		warnings = slices.Concat(more, warnings)
	}
	if resolved != nil {
		lines = append(lines, describeResolved(resolved)...)
	}
	for _, w := range warnings {
		lines = append(lines, fmt.Sprintf("warning %s: %s", w.Reason, w.Message))
	}
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			lines = append(lines, "error: "+strings.TrimSpace(line))
		}
	}

	return lines
}

func describeRequest(r *Request) []string {
	lines := []string{
		"load balancer " + r.LoadBalancerID,
		"published " + r.Published,
		fmt.Sprintf("internal %t, family %s", r.Internal, r.Family),
		fmt.Sprintf("VIP port %q subnet %q network %q address %v detect %t", r.VIP.PortID, r.VIP.SubnetID, r.VIP.NetworkID, r.VIP.Address, r.VIP.Detect),
		fmt.Sprintf("member subnet %q detect %t", r.MemberSubnet.ID, r.MemberSubnet.Detect),
		fmt.Sprintf("floating IP network %q subnet %q names %q tags %v address %v", r.FloatingIP.NetworkID, r.FloatingIP.SubnetID, r.FloatingIP.Subnets, r.FloatingIP.Tags, r.FloatingIP.Address),
		fmt.Sprintf("floating IP keep %t, selects subnets %t, named %t", r.FloatingIP.Keep, r.FloatingIP.SelectsSubnets(), r.FloatingIP.Named),
		fmt.Sprintf("client ranges %v wanted %t", r.ClientRanges.Prefixes, r.ClientRanges.Wanted),
		fmt.Sprintf("affinity %t, connection limit %d", r.KeepsAffinity, r.ConnectionLimit),
		fmt.Sprintf("health check node port %d local %t", r.HealthCheckNodePort, r.LocalTraffic),
		fmt.Sprintf("detect from %v", r.DetectFrom),
	}
	if r.TLS != nil {
		lines = append(lines, fmt.Sprintf("TLS %s container %q secret %q", r.TLS.Ref, r.TLS.Container, r.TLS.Secret))
	}

	return append(lines, "status of 203.0.113.9 "+describeIngress(r, "203.0.113.9"), "status of 2001:db8::9 "+describeIngress(r, "2001:db8::9"))
}

func describeIngress(r *Request, addr string) string {
	ingress := r.Ingress(netip.MustParseAddr(addr))
	if ingress.IPMode == nil {
		return "hostname " + ingress.Hostname + ingress.IP
	}

	return fmt.Sprintf("IP %s%s mode %s", ingress.IP, ingress.Hostname, *ingress.IPMode)
}

func describeResolved(r *Resolved) []string {
	lines := []string{
		fmt.Sprintf("algorithm %s", r.Algorithm),
		fmt.Sprintf("flavor %q", r.FlavorID),
		fmt.Sprintf("availability zone %q", r.AvailabilityZone),
		fmt.Sprintf("allowed CIDRs %v", r.AllowedCIDRs),
		fmt.Sprintf("member sources %v", r.MemberSources),
	}
	if r.Timeouts != nil {
		lines = append(lines, fmt.Sprintf("timeouts %+v", *r.Timeouts))
	}
	for _, port := range r.Ports {
		lines = append(lines, fmt.Sprintf("port %d %s/%d listener %s header %t TLS %t", port.Index, port.Protocol, port.Number, port.Listener, port.ForwardedFor, port.TLS))
		lines = append(lines, fmt.Sprintf("port %d pool %s members %s", port.Index, port.Pool, describeMembers(port.Members)))
		if port.Monitor != nil {
			lines = append(lines, fmt.Sprintf("port %d monitor %+v", port.Index, *port.Monitor))
		}
	}

	return lines
}

func describeMembers(members []Member) string {
	var texts []string
	for _, m := range members {
		text := fmt.Sprintf("%s=%s:%d", m.Name(false), m.Address, m.Port)
		if m.MonitorPort != 0 {
			text += fmt.Sprintf("(checked at %d)", m.MonitorPort)
		}
		texts = append(texts, text)
	}

	return fmt.Sprint(texts)
}
