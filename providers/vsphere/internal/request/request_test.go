package request_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
)

var (
	fallback = request.Class{Name: "default", IPPool: request.Ref{Name: "pool"}}
	dual     = request.Class{Name: "dual", IPPool: request.Ref{ID: "four"}, IPPoolIPv6: request.Ref{ID: "six"}, PersistencePath: "/p"}
	settings = request.Config{Classes: map[string]request.Class{"default": fallback, "dual": dual}, Tags: map[string]string{"owner": "me"}}
)

// web returns a Service with the port 80.
func web(change func(*v1.Service)) *v1.Service {
	svc := kubetest.Service("default", "web", kubetest.ServiceUID("uid"))
	svc.Spec = v1.ServiceSpec{Ports: []v1.ServicePort{{Port: 80, NodePort: 30080}}}
	svc.Annotations = map[string]string{}
	change(svc)

	return svc
}

func ranges(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}

	return all
}

// TestNew (VS-LB-8, VS-LB-9, VS-LB-10, VS-LB-11, VS-LB-12): what a Service requests.
func TestNew(t *testing.T) {
	t.Parallel()
	nodes := []*v1.Node{
		kubetest.Node("b", kubetest.Address(v1.NodeInternalIP, "10.0.0.2"), kubetest.Address(v1.NodeInternalIP, "fd00::2")),
		kubetest.Node("a", kubetest.Address(v1.NodeExternalIP, "192.0.2.1"), kubetest.Address(v1.NodeInternalIP, "fd00::1"), kubetest.Address(v1.NodeInternalIP, "10.0.0.1"), kubetest.Address(v1.NodeInternalIP, "10.0.0.9")),
		kubetest.Node("external", kubetest.Address(v1.NodeExternalIP, "192.0.2.3")),
		kubetest.Node("bad", kubetest.Address(v1.NodeInternalIP, "x")),
	}
	member := func(node, ip string) request.Member { return request.Member{Node: node, IP: netip.MustParseAddr(ip)} }
	four, six := []request.Member{member("b", "10.0.0.2"), member("a", "10.0.0.1")}, []request.Member{member("b", "fd00::2"), member("a", "fd00::1")}
	cases := map[string]struct {
		reason   string
		change   func(*v1.Service)
		want     func(*request.Request)
		warnings []service.Reason
	}{
		"nothing":       {"TCP and IPv4 are the defaults", func(*v1.Service) {}, func(*request.Request) {}, nil},
		"class":         {"without blanks", func(svc *v1.Service) { svc.Annotations["loadbalancer.vmware.io/class"] = " dual\t" }, func(r *request.Request) { r.Class = dual }, nil},
		"blank class":   {"is none", func(svc *v1.Service) { svc.Annotations["loadbalancer.vmware.io/class"] = " " }, func(*request.Request) {}, nil},
		"class of spec": {"is for other controllers", func(svc *v1.Service) { svc.Spec.LoadBalancerClass = new("dual") }, func(*request.Request) {}, nil},
		"dual stack": {
			"each family has members",
			func(svc *v1.Service) {
				svc.Annotations["loadbalancer.vmware.io/class"], svc.Spec.IPFamilies, svc.Spec.IPFamilyPolicy = "dual", []v1.IPFamily{v1.IPv6Protocol, v1.IPv4Protocol}, new(v1.IPFamilyPolicyRequireDualStack)
			},
			func(r *request.Request) {
				r.Class, r.Families = dual, []address.Family{address.IPv6, address.IPv4}
			}, nil,
		},
		"one pool": {
			"a second family that is preferred is left out",
			func(svc *v1.Service) {
				svc.Spec.IPFamilies, svc.Spec.IPFamilyPolicy = []v1.IPFamily{v1.IPv6Protocol, v1.IPv4Protocol}, new(v1.IPFamilyPolicyPreferDualStack)
			},
			func(r *request.Request) {
				r.Families = []address.Family{address.IPv6}
			}, nil,
		},
		"address": {"of a family", func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "203.0.113.7" }, func(r *request.Request) { r.Address = netip.MustParseAddr("203.0.113.7") }, nil},
		"Local":   {"the health check node port", func(svc *v1.Service) { kubetest.LocalTraffic(32000)(svc) }, func(r *request.Request) { r.HealthCheckNodePort = 32000 }, nil},
		"Cluster": {"has none, even if it is still there", func(svc *v1.Service) { svc.Spec.HealthCheckNodePort = 32000 }, func(*request.Request) {}, nil},
		"ranges": {"sorted, once, without host bits", func(svc *v1.Service) {
			svc.Spec.LoadBalancerSourceRanges = []string{" 192.0.2.7/24", "10.0.0.0/8", "192.0.2.0/24"}
		}, func(r *request.Request) { r.SourceRanges = ranges("10.0.0.0/8", "192.0.2.0/24") }, nil},
		"annotation": {"if the spec has none", func(svc *v1.Service) {
			svc.Annotations["service.beta.kubernetes.io/load-balancer-source-ranges"] = "2001:db8::/32,10.0.0.0/8"
		}, func(r *request.Request) { r.SourceRanges = ranges("10.0.0.0/8", "2001:db8::/32") }, nil},
		"all":      {"of the family are no restriction", func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "0.0.0.0/0"} }, func(*request.Request) {}, nil},
		"all IPv6": {"alone are none either", func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"::/0"} }, func(*request.Request) {}, nil},
		"one family": {
			"is open, and not the other",
			func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "::/0"} },
			func(r *request.Request) {
				r.SourceRanges, r.Open = ranges("10.0.0.0/8"), []address.Family{address.IPv6}
			}, nil,
		},
		"affinity": {
			"needs a profile",
			func(svc *v1.Service) {
				svc.Annotations["loadbalancer.vmware.io/class"], svc.Spec.SessionAffinity = "dual", v1.ServiceAffinityClientIP
			},
			func(r *request.Request) { r.Class, r.Affinity = dual, true }, nil,
		},
		"no profile": {"an Event", func(svc *v1.Service) { svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP }, func(*request.Request) {}, []service.Reason{request.AffinityIgnored}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			svc := web(tc.change)
			want := &request.Request{
				Names: settings.NamesOf("east", svc), Class: fallback, Ports: []service.Port{{Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}},
				Families: []address.Family{address.IPv4}, Members: map[address.Family][]request.Member{address.IPv4: four, address.IPv6: six},
			}
			tc.want(want)
			got, warnings := settings.New("east", svc, nodes)
			if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			var reasons []service.Reason
			for _, w := range warnings {
				reasons = append(reasons, w.Reason)
			}
			if diff := cmp.Diff(append(tc.warnings, service.NodeSkipped), reasons); diff != "" {
				t.Errorf("%s: warnings (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNewRefuses (VS-LB-8, VS-LB-9, VS-LB-12): mistakes are errors, all at once, beside the members.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*v1.Service)
		want   string
	}{
		"class":        {"an unknown one", func(svc *v1.Service) { svc.Annotations["loadbalancer.vmware.io/class"] = "x" }, "invalid load balancer class x: want one of default, dual"},
		"no ports":     {"there is nothing to serve", func(svc *v1.Service) { svc.Spec.Ports = nil }, "the service has no ports"},
		"SCTP":         {"NSX-T has none", func(svc *v1.Service) { svc.Spec.Ports[0].Protocol = v1.ProtocolSCTP }, "port 80: NSX-T load balancers have no protocol SCTP"},
		"no node port": {"members need one", func(svc *v1.Service) { svc.Spec.Ports[0].NodePort = 0 }, "port 80 has no node port: spec.allocateLoadBalancerNodePorts must not be false"},
		"address":      {"one that is none", func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "x" }, `spec.loadBalancerIP: "x" is not an IP address`},
		"family":       {"an address of another family", func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "2001:db8::1" }, "spec.loadBalancerIP: 2001:db8::1 is of no IP family of the load balancer"},
		"second family": {"required without a pool", func(svc *v1.Service) {
			svc.Spec.IPFamilies, svc.Spec.IPFamilyPolicy = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}, new(v1.IPFamilyPolicyRequireDualStack)
		}, "spec.ipFamilyPolicy is RequireDualStack, and class default has no pool of IPv6 addresses"},
		"ranges":     {"of the spec", func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"x"} }, "read source ranges: service.Spec.LoadBalancerSourceRanges: [x] is not valid. Expecting a list of IP ranges. For example, 10.0.0.0/24. Error msg: invalid CIDR address: x"},
		"annotation": {"ranges of the annotation", func(svc *v1.Service) { svc.Annotations["service.beta.kubernetes.io/load-balancer-source-ranges"] = "x" }, "read source ranges: service.beta.kubernetes.io/load-balancer-source-ranges: x is not valid. Expecting a comma-separated list of source IP ranges. For example, 10.0.0.0/24,192.168.2.0/24"},
		"several":    {"one does not hide the other", func(svc *v1.Service) { svc.Spec.LoadBalancerIP, svc.Spec.Ports[0].NodePort = "x", 0 }, "port 80 has no node port: spec.allocateLoadBalancerNodePorts must not be false\nspec.loadBalancerIP: \"x\" is not an IP address"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := settings.New("east", web(tc.change), []*v1.Node{kubetest.Node("a", kubetest.Address(v1.NodeInternalIP, "10.0.0.1"))})
			if diff := cmp.Diff(tc.want, fmt.Sprint(got.Refused)); diff != "" || !errors.Is(got.Refused, apierr.ErrInvalid) || len(got.Members[address.IPv4]) != 1 {
				t.Errorf("%s: members %v (-want +got):\n%s", tc.reason, got.Members, diff)
			}
		})
	}
}

// TestPool (VS-LB-9): addresses of IPv6 are of the pool for IPv6, if there is one.
func TestPool(t *testing.T) {
	t.Parallel()
	for reason, ok := range map[string]bool{
		"IPv4 of two": dual.Pool(address.IPv4).ID == "four",
		"IPv6 of two": dual.Pool(address.IPv6).ID == "six",
		"IPv6 of one": fallback.Pool(address.IPv6).Name == "pool",
		"two pools":   dual.IsDualStack() && !fallback.IsDualStack(),
		"none":        request.Ref{}.IsZero() && !fallback.IPPool.IsZero(),
	} {
		if !ok {
			t.Error(reason)
		}
	}
}
