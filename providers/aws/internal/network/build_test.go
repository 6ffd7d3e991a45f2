package network

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// The request that Build gets, if a test does not change it.
func baseRequest() *request.Request {
	return &request.Request{
		Service: apitypes.NamespacedName{Namespace: "default", Name: "web"},
		Name:    lbName, Kind: request.Network,
		Ports: []service.Port{
			{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080},
			{Name: "https", Protocol: v1.ProtocolTCP, Port: 443, NodePort: 30443},
		},
		Targets: []request.Target{{NodeName: "b", InstanceID: "i-2"}, {NodeName: "a", InstanceID: "i-1"}},
	}
}

func baseFacts() request.Facts {
	return request.Facts{
		Config:  request.Config{Cluster: cluster.ID{Name: clusterID}, VPC: "vpc-1"},
		Subnets: []vpc.Subnet{{ID: "subnet-a"}, {ID: "subnet-b"}},
		Targets: running("i-1", "i-2"),
	}
}

func TestBuildListeners(t *testing.T) {
	t.Parallel()
	type listener struct{ Front, Group elbv2types.ProtocolEnum }
	for name, c := range map[string]struct {
		reason  string
		change  func(*request.Request)
		want    []listener
		udp     string
		certify bool
	}{
		"TCP": {
			reason: "AWS-NLB-1: protocol of the port",
			change: func(*request.Request) {}, want: []listener{{"TCP", "TCP"}, {"TCP", "TCP"}}, udp: "tcp",
		},
		"all with TLS": {
			reason: "certificate and no list of ports; AWS-SG-4: on the wire it is TCP",
			change: func(r *request.Request) { r.TLS = request.TLS{Certificate: "arn:cert"} },
			want:   []listener{{"TLS", "TCP"}, {"TLS", "TCP"}}, udp: "tcp",
		},
		"one with TLS": {
			reason: "ports by number or name",
			change: func(r *request.Request) { r.TLS = request.TLS{Certificate: "arn:cert", Ports: []string{"https"}} },
			want:   []listener{{"TCP", "TCP"}, {"TLS", "TCP"}}, udp: "tcp",
		},
		"TLS to the end": {
			reason: "backend protocol ssl, only where there is TLS",
			change: func(r *request.Request) {
				r.TLS = request.TLS{Certificate: "arn:cert", Ports: []string{"443"}}
				r.BackendProtocol = "ssl"
			},
			want: []listener{{"TCP", "TCP"}, {"TLS", "TLS"}}, udp: "tcp",
		},
		"other backends": {
			reason: "of the backend protocols only ssl matters",
			change: func(r *request.Request) {
				r.TLS = request.TLS{Certificate: "arn:cert"}
				r.BackendProtocol = "https"
			},
			want: []listener{{"TLS", "TCP"}, {"TLS", "TCP"}}, udp: "tcp",
		},
		"UDP": {
			reason: "no TLS for UDP",
			change: func(r *request.Request) {
				r.TLS = request.TLS{Certificate: "arn:cert"}
				r.Ports[0].Protocol, r.Ports[1].Protocol = v1.ProtocolUDP, v1.ProtocolUDP
			},
			want: []listener{{"UDP", "UDP"}, {"UDP", "UDP"}}, udp: "udp",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := baseRequest()
			c.change(r)
			m, _, err := Build(r, baseFacts())
			if err != nil {
				t.Fatal(err)
			}
			var got []listener
			for _, l := range m.Listeners {
				got = append(got, listener{l.Protocol, l.TargetGroup.Protocol})
				if l.Transport() != c.udp {
					t.Errorf("transport of %d is %s, want %s", l.Port, l.Transport(), c.udp)
				}
				if (l.Certificate != "") != (l.Protocol == elbv2types.ProtocolEnumTls) {
					t.Errorf("listener %d/%s has the certificate %q", l.Port, l.Protocol, l.Certificate)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestBuildModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		change func(*request.Request, *request.Facts)
		want   func(*Model)
		// warnings are the reasons of warnings.
		warnings []string
		warning  []string
	}{
		"base": {
			reason: "AWS-CLUSTER-5: tags, and attributes",
			change: func(*request.Request, *request.Facts) {},
			want:   func(*Model) {},
		},
		"tags": {
			reason: "AWS-CLUSTER-5, AWS-CLUSTER-3: additional tags never replace those of the cluster, and the legacy tag is one",
			change: func(r *request.Request, f *request.Facts) {
				r.Tags = map[string]string{"team": "edge", "kubernetes.io/service-name": "mine"}
				f.Config.Cluster.Legacy = true
			},
			want: func(m *Model) {
				m.Cluster.Legacy = true
				m.Tags = tagged(map[string]string{"team": "edge", "KubernetesCluster": clusterID})
			},
		},
		"no cluster": {
			reason: "without a cluster ID nothing gets a cluster tag",
			change: func(_ *request.Request, f *request.Facts) { f.Config.Cluster = cluster.ID{} },
			want: func(m *Model) {
				m.Cluster = cluster.ID{}
				m.Tags = map[string]string{"kubernetes.io/service-name": "default/web"}
			},
		},
		"addresses": {
			reason: "AWS-NLB-5: one for each subnet, by position",
			change: func(r *request.Request, _ *request.Facts) {
				r.EIPAllocations = []string{"eipalloc-1", "eipalloc-2"}
				r.PrivateIPv4Addresses = []string{"10.0.0.4", "10.0.1.4"}
				r.Subnets = []string{"subnet-a", "subnet-b"}
			},
			want: func(m *Model) {
				m.Mappings = []Mapping{{"subnet-a", "eipalloc-1", "10.0.0.4"}, {"subnet-b", "eipalloc-2", "10.0.1.4"}}
				m.Annotated = Annotated{Subnets: true, EIPAllocations: true, PrivateIPv4Addresses: true}
			},
		},
		"attributes": {
			reason: "AWS-NLB-7: bucket and prefix only while access logs are on",
			change: func(r *request.Request, _ *request.Facts) {
				r.Attributes = request.Attributes{
					CrossZone: new(true), AccessLogEnabled: new(true), AccessLogBucket: new("logs"), AccessLogPrefix: new("web"),
				}
			},
			want: func(m *Model) {
				m.Attributes = map[string]string{
					"load_balancing.cross_zone.enabled": "true", "access_logs.s3.enabled": "true",
					"access_logs.s3.bucket": "logs", "access_logs.s3.prefix": "web",
				}
			},
		},
		"bucket without logs": {
			reason: "bucket and prefix are sent only when access logs are on",
			change: func(r *request.Request, _ *request.Facts) {
				r.Attributes = request.Attributes{AccessLogEnabled: new(false), AccessLogBucket: new("logs")}
			},
			want: func(*Model) {},
		},
		"security groups": {
			reason: "those of the facts",
			change: func(r *request.Request, f *request.Facts) {
				f.Config.ManagedNetworkGroups = true
				f.SecurityGroups = []plan.Ref{{ID: "sg-1"}}
				r.SecurityGroups = []string{"sg-1"}
			},
			want: func(m *Model) {
				m.SecurityGroups = []plan.Ref{{ID: "sg-1"}}
				m.Annotated.SecurityGroups = true
			},
		},
		"targets": {
			reason: "AWS-LB-12: only what runs is registered, once",
			change: func(r *request.Request, f *request.Facts) {
				for _, id := range []string{"i-1", "i-stopped", "i-unknown"} {
					r.Targets = append(r.Targets, request.Target{InstanceID: id})
				}
				f.Targets["i-stopped"] = &inventory.Instance{
					ID: "i-stopped", State: types.InstanceStateNameStopped, Tags: f.Config.Cluster.Tags(),
				}
			},
			want:     func(m *Model) { m.Resting = []string{"i-stopped"} },
			warnings: []string{string(service.NodeSkipped), string(service.NodeSkipped)},
		},
		"internal": {
			reason: "only the internal scheme is sent",
			change: func(r *request.Request, _ *request.Facts) { r.Internal = true },
			want:   func(m *Model) { m.Internal = true },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, f := baseRequest(), baseFacts()
			c.change(r, &f)
			want := &Model{
				Name: lbName, Service: r.Service, Cluster: cluster.ID{Name: clusterID}, VPC: "vpc-1",
				Mappings:   []Mapping{{Subnet: "subnet-a"}, {Subnet: "subnet-b"}},
				Tags:       tagged(nil),
				Attributes: map[string]string{"load_balancing.cross_zone.enabled": "false", "access_logs.s3.enabled": "false"},
				Targets:    []string{"i-1", "i-2"},
			}
			c.want(want)
			got, warnings, err := Build(r, f)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Model{}, "Listeners")); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.warnings, reasons(warnings)); diff != "" {
				t.Errorf("%s: warnings, -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	bad := errors.New("NLBSecurityGroupMode: Manged is not Managed")
	for name, c := range map[string]struct {
		reason string
		change func(*request.Request, *request.Facts)
		text   string
	}{
		"elastic IPs": {
			reason: "the count must be that of the subnets",
			change: func(r *request.Request, _ *request.Facts) { r.EIPAllocations = []string{"eipalloc-1"} },
			text:   "annotation service.beta.kubernetes.io/aws-load-balancer-eip-allocations lists 1 for 2 subnets",
		},
		"private addresses": {
			reason: "the count must be that of the subnets",
			change: func(r *request.Request, _ *request.Facts) { r.PrivateIPv4Addresses = []string{"10.0.0.4"} },
			text:   "annotation service.beta.kubernetes.io/aws-load-balancer-private-ipv4-addresses lists 1 for 2 subnets",
		},
		"settings": {
			reason: "AWS-CONFIG-6: settings that make no sense are an error of every Service that needs them",
			change: func(_ *request.Request, f *request.Facts) { f.Config.BadNetworkSetting = bad },
			text:   bad.Error(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, f := baseRequest(), baseFacts()
			c.change(r, &f)
			if m, _, err := Build(r, f); err == nil || err.Error() != c.text || m != nil {
				t.Errorf("%s: model %v, error %v, want %q", c.reason, m, err, c.text)
			}
		})
	}
}

func TestBuildWarnsOfUDP(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		change func(*request.Request, *request.Facts)
		want   []string
	}{
		"traffic port": {
			reason: "AWS-HC-7: nothing responds over TCP on the node port of a UDP port",
			change: func(*request.Request, *request.Facts) {}, want: []string{string(UnfitHealthCheck)},
		},
		"the same port by number": {
			reason: "AWS-HC-7: a number can be the node port too",
			change: func(r *request.Request, _ *request.Facts) { r.HealthCheck.Port = new("30443") },
			want:   []string{string(UnfitHealthCheck)},
		},
		"another port": {
			reason: "AWS-HC-7: the user has set a port",
			change: func(r *request.Request, _ *request.Facts) { r.HealthCheck.Port = new("8080") },
		},
		"local": {
			reason: "AWS-HC-7: kube-proxy responds",
			change: func(r *request.Request, _ *request.Facts) { r.LocalTraffic, r.HealthCheckNodePort = true, 32000 },
		},
		"shared": {
			reason: "AWS-HC-7: kube-proxy responds",
			change: func(_ *request.Request, f *request.Facts) {
				f.Config.SharedProbe, f.Config.SharedProbePort, f.Config.SharedProbePath = true, 10256, "/healthz"
			},
		},
		"TCP": {
			reason: "AWS-HC-7 is about UDP",
			change: func(r *request.Request, _ *request.Facts) {
				r.Ports[0].Protocol, r.Ports[1].Protocol = v1.ProtocolTCP, v1.ProtocolTCP
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, f := baseRequest(), baseFacts()
			r.Ports[0].Protocol, r.Ports[1].Protocol = v1.ProtocolUDP, v1.ProtocolUDP
			c.change(r, &f)
			_, warnings, err := Build(r, f)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, reasons(warnings)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		change func(*request.Request)
		checks []int32
	}{
		"traffic port": {
			reason: "the health rules are for the node ports then",
			change: func(*request.Request) {}, checks: []int32{30080, 30443},
		},
		"local": {
			reason: "one port for all, once",
			change: func(r *request.Request) { r.LocalTraffic, r.HealthCheckNodePort = true, 32000 }, checks: []int32{32000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := baseRequest()
			c.change(r)
			m, _, err := Build(r, baseFacts())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.checks, m.HealthCheckPorts()); diff != "" {
				t.Errorf("health check ports, %s: -want +got:\n%s", c.reason, diff)
			}
			if diff := cmp.Diff([]int32{30080, 30443}, m.NodePorts()); diff != "" {
				t.Errorf("node ports: -want +got:\n%s", diff)
			}
			if diff := cmp.Diff([]Mapping{{Subnet: "subnet-a"}, {Subnet: "subnet-b"}}, m.Mappings); diff != "" {
				t.Errorf("subnets: -want +got:\n%s", diff)
			}
		})
	}
}
