package conformance

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// oldAge is an age at which a missing instance may make the node gone.
const oldAge = time.Hour

// nodeOption changes a node while it is made.
type nodeOption func(*v1.Node)

// newNode is the Node of an instance as it was registered an hour ago, with
// every detail in ref and initialized since.
func newNode(ref instance.Ref, options ...nodeOption) *v1.Node {
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

// tainted makes it a node that is not initialized yet.
func tainted(node *v1.Node) {
	node.Spec.Taints = append(node.Spec.Taints,
		v1.Taint{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: v1.TaintEffectNoSchedule})
}

// young makes it a node that was registered just now.
func young(node *v1.Node) { node.CreationTimestamp = metav1.Now() }

// withID gives it another providerID, or none.
func withID(id string) nodeOption {
	return func(node *v1.Node) { node.Spec.ProviderID = id }
}

// withUUID gives it another system UUID, or none.
func withUUID(uuid string) nodeOption {
	return func(node *v1.Node) { node.Status.NodeInfo.SystemUUID = uuid }
}

// withName gives it another name.
func withName(name string) nodeOption {
	return func(node *v1.Node) { node.Name = name }
}
