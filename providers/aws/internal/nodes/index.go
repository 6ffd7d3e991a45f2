package nodes

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
)

// instanceIndex is the name of the index of Nodes by their EC2 instance.
const instanceIndex = "aws-instance-id"

// instanceKeys is the function of that index.
func instanceKeys(node *v1.Node) []string {
	if id, ok := InstanceID(node.Spec.ProviderID); ok {
		return []string{id}
	}

	return nil
}

// IndexNodes has the Nodes of an informer found by their EC2 instance.
func IndexNodes(informer cache.SharedIndexInformer) (*nodeindex.Index, error) {
	return nodeindex.New(informer, instanceIndex, instanceKeys)
}
