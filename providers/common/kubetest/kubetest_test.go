package kubetest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

func TestNode(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	got := kubetest.Node("n1",
		kubetest.Tainted(), kubetest.ProviderID("vsphere://u"), kubetest.SystemUUID("s"), kubetest.NotReady(),
		kubetest.CreatedAt(at), kubetest.ProvidedNodeIP("192.0.2.7"), kubetest.Labeled("pool", "blue"),
		kubetest.Address(v1.NodeInternalIP, "192.0.2.7"),
	)
	want := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "n1", UID: "uid-n1", CreationTimestamp: metav1.NewTime(at),
			Labels:      map[string]string{"kubernetes.io/hostname": "n1", "pool": "blue"},
			Annotations: map[string]string{"alpha.kubernetes.io/provided-node-ip": "192.0.2.7"},
		},
		Spec: v1.NodeSpec{
			ProviderID: "vsphere://u",
			Taints:     []v1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: "NoSchedule"}},
		},
		Status: v1.NodeStatus{
			Conditions: []v1.NodeCondition{{Type: "Ready", Status: "Unknown"}},
			Addresses:  []v1.NodeAddress{{Type: "InternalIP", Address: "192.0.2.7"}},
			NodeInfo:   v1.NodeSystemInfo{SystemUUID: "s"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("every option must show: %s", diff)
	}

	plain := kubetest.Node("n1")
	if len(plain.Spec.Taints) != 0 || plain.Spec.ProviderID != "" || plain.Status.Conditions[0].Status != v1.ConditionTrue {
		t.Errorf("without options a node is ready and initialized: %+v", plain)
	}
	plain.Labels["spoiled"], plain.Annotations["spoiled"] = "yes", "yes"
	if again := kubetest.Node("n1"); len(again.Labels) != 1 || len(again.Annotations) != 0 {
		t.Errorf("nodes must share nothing: %+v", again)
	}
}

func TestService(t *testing.T) {
	t.Parallel()

	port := func(name string, protocol v1.Protocol, number int32) v1.ServicePort {
		return v1.ServicePort{Name: name, Protocol: protocol, Port: number, TargetPort: intstr.FromInt32(number), NodePort: 30000 + number}
	}
	got := kubetest.Service("default", "web",
		kubetest.Port(v1.ProtocolTCP, 443), kubetest.Port(v1.ProtocolUDP, 53),
		kubetest.ServiceUID("u"), kubetest.ServiceAnnotated("k", "v"), kubetest.LocalTraffic(31000),
	)
	want := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u", Annotations: map[string]string{"k": "v"}},
		Spec: v1.ServiceSpec{
			Type: "LoadBalancer", SessionAffinity: "None", ExternalTrafficPolicy: "Local", HealthCheckNodePort: 31000,
			IPFamilies: []v1.IPFamily{"IPv4"},
			Ports:      []v1.ServicePort{port("tcp-443", "TCP", 443), port("udp-53", "UDP", 53)},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("every option must show: %s", diff)
	}
	plain := kubetest.Service("default", "web")
	if diff := cmp.Diff([]v1.ServicePort{port("tcp-80", "TCP", 80)}, plain.Spec.Ports); diff != "" {
		t.Errorf("without ports there is one: %s", diff)
	}
}
