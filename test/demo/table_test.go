package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodeTable(t *testing.T) {
	t.Parallel()
	fresh := v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "control-1"},
		Spec:       v1.NodeSpec{Taints: []v1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized"}, {Key: "plain"}}},
		Status:     v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeHostName, Address: "control-1"}}},
	}
	ready := v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "w", Labels: map[string]string{
			v1.LabelTopologyZone: "eu-1", v1.LabelTopologyRegion: "eu", v1.LabelInstanceTypeStable: "large",
		}},
		Spec: v1.NodeSpec{ProviderID: "x://1"},
		Status: v1.NodeStatus{Addresses: []v1.NodeAddress{
			{Type: v1.NodeInternalIP, Address: "10.0.0.1"},
			{Type: v1.NodeExternalIP, Address: "10.0.0.1"},
			{Type: v1.NodeExternalIP, Address: "192.0.2.1"},
			{Type: v1.NodeInternalDNS, Address: "w.internal"},
		}},
	}
	want := "" +
		"NAME       TAINTS               ZONE  REGION  TYPE   ADDRESSES           PROVIDER-ID\n" +
		"control-1  uninitialized,plain  -     -       -      -                   -\n" +
		"w          -                    eu-1  eu      large  10.0.0.1,192.0.2.1  x://1\n"
	if diff := cmp.Diff(want, nodeTable([]v1.Node{fresh, ready})); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}
