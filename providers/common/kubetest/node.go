// Package kubetest builds Kubernetes objects for tests, and a fake API that stores
// them.
//
// What it promises: what a test does not set is what a healthy object in use
// has, every builder returns a new object that shares nothing, and the same
// calls return equal objects.
package kubetest

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// NodeOption changes a Node that is being built.
type NodeOption func(*v1.Node)

// Node builds a Node that is Ready, initialized and without a providerID.
func Node(name string, options ...NodeOption) *v1.Node {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			UID:         types.UID("uid-" + name),
			Labels:      map[string]string{v1.LabelHostname: name},
			Annotations: map[string]string{},
		},
	}
	for _, option := range append([]NodeOption{ready(v1.ConditionTrue)}, options...) {
		option(node)
	}

	return node
}

// Tainted makes the Node one that its cloud has not initialized yet.
func Tainted() NodeOption {
	return Taint(v1.Taint{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: v1.TaintEffectNoSchedule})
}

// Taint adds a taint.
func Taint(taint v1.Taint) NodeOption {
	return func(node *v1.Node) { node.Spec.Taints = append(node.Spec.Taints, taint) }
}

// ProviderID sets spec.providerID.
func ProviderID(id string) NodeOption {
	return func(node *v1.Node) { node.Spec.ProviderID = id }
}

// SystemUUID sets the system UUID that the kubelet read from the firmware.
func SystemUUID(uuid string) NodeOption {
	return func(node *v1.Node) { node.Status.NodeInfo.SystemUUID = uuid }
}

// NotReady makes the Node one whose kubelet does not report.
func NotReady() NodeOption { return ready(v1.ConditionUnknown) }

func ready(status v1.ConditionStatus) NodeOption {
	return func(node *v1.Node) {
		node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: status}}
	}
}

// CreatedAt sets the time of creation.
func CreatedAt(at time.Time) NodeOption {
	return func(node *v1.Node) { node.CreationTimestamp = metav1.NewTime(at) }
}

// Annotated adds an annotation.
func Annotated(key, value string) NodeOption {
	return func(node *v1.Node) { node.Annotations[key] = value }
}

// ProvidedNodeIP adds the annotation of a kubelet that was started with
// --node-ip: one address, or two with a comma.
func ProvidedNodeIP(ips string) NodeOption {
	return Annotated(cloudproviderapi.AnnotationAlphaProvidedIPAddr, ips)
}

// Labeled adds a label.
func Labeled(key, value string) NodeOption {
	return func(node *v1.Node) { node.Labels[key] = value }
}

// Address adds an address to the status.
func Address(kind v1.NodeAddressType, address string) NodeOption {
	return func(node *v1.Node) {
		node.Status.Addresses = append(node.Status.Addresses, v1.NodeAddress{Type: kind, Address: address})
	}
}
