package network

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
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
