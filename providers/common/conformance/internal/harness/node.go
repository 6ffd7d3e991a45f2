package harness

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// oldAge is an age at which the Node of a missing instance may be deleted.
const oldAge = time.Hour

// NodeOption changes a Node while it is made.
type NodeOption func(*v1.Node)

// NewNode returns the Node of an instance as it was registered an hour ago, with
// every detail in ref and initialized since.
func NewNode(ref instance.Ref, options ...NodeOption) *v1.Node {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:              ref.NodeName,
			UID:               types.UID("uid-of-" + ref.NodeName),
			CreationTimestamp: metav1.NewTime(time.Now().Add(-oldAge)),
			Labels:            map[string]string{v1.LabelHostname: ref.NodeName},
		},
		Spec: v1.NodeSpec{ProviderID: ref.ProviderID},
		Status: v1.NodeStatus{
			Addresses:  []v1.NodeAddress{{Type: v1.NodeHostName, Address: ref.NodeName}},
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}},
			NodeInfo:   v1.NodeSystemInfo{SystemUUID: ref.SystemUUID},
		},
	}
	for _, option := range options {
		option(node)
	}

	return node
}

// WithID sets another providerID, or none.
func WithID(id string) NodeOption {
	return func(node *v1.Node) { node.Spec.ProviderID = id }
}

// NodesOf returns the Nodes of machines, with the addresses that they have.
func NodesOf(machines ...Machine) []*v1.Node {
	nodes := make([]*v1.Node, len(machines))
	for i, m := range machines {
		nodes[i] = NewNode(m.Ref)
		for _, ip := range m.IPs {
			nodes[i].Status.Addresses = append(nodes[i].Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip})
		}
	}

	return nodes
}

// ProviderIDs returns providerIDs as several clouds write them.
func ProviderIDs() []string {
	return []string{
		"aws:///us-east-1a/i-0123456789abcdef0",
		"openstack:///0e7c5a4e-6f2a-4b57-9c7e-5a0f3c1d2b6a",
		"openstack://RegionOne/0e7c5a4e-6f2a-4b57-9c7e-5a0f3c1d2b6a",
		"vsphere://42278b4e-dd2f-1c4a-9d5e-0f6b8f1c2a3d",
		"gce://project/us-central1-a/machine",
		"kind://docker/kind/kind-control-plane",
	}
}
