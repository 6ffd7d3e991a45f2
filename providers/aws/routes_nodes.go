package aws

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

// instanceIndex is the name of the index of Nodes by their EC2 instance.
const instanceIndex = "aws-instance-id"

// nodeIndex finds Nodes in the informer, and their instances. The zero value and
// nil know no Node.
type nodeIndex struct {
	indexer cache.Indexer
	synced  func() bool
}

// newNodeIndex adds an index to the informer, which must not have started.
func newNodeIndex(informer cache.SharedIndexInformer) (*nodeIndex, error) {
	if _, there := informer.GetIndexer().GetIndexers()[instanceIndex]; !there {
		if err := informer.AddIndexers(cache.Indexers{instanceIndex: byInstance}); err != nil {
			return nil, fmt.Errorf("index nodes by their instance: %w", err)
		}
	}
	return &nodeIndex{indexer: informer.GetIndexer(), synced: informer.HasSynced}, nil
}

// byInstance is the index function.
func byInstance(object any) ([]string, error) {
	node, ok := object.(*v1.Node)
	if !ok {
		return nil, nil
	}
	if id, ok := ec2InstanceID(node.Spec.ProviderID); ok {
		return []string{id}, nil
	}
	return nil, nil
}

// ready reports whether all Nodes are known.
func (x *nodeIndex) ready() bool { return x != nil && x.synced != nil && x.synced() }

// node gives a Node by name, nil for one that is not known.
func (x *nodeIndex) node(name string) *v1.Node {
	if x == nil || x.indexer == nil {
		return nil
	}
	object, there, err := x.indexer.GetByKey(name)
	if err != nil || !there {
		return nil
	}
	node, _ := object.(*v1.Node)
	return node
}

// providerID is that of a Node, empty where it is not known.
func (x *nodeIndex) providerID(name string) string {
	node := x.node(name)
	if node == nil {
		return ""
	}
	return node.Spec.ProviderID
}

// withoutID gives the names of Nodes that have pods and no provider ID yet.
func (x *nodeIndex) withoutID() sets.Set[string] {
	names := sets.New[string]()
	for _, object := range x.indexer.List() {
		if node, ok := object.(*v1.Node); ok && node.Spec.ProviderID == "" && len(node.Spec.PodCIDRs) > 0 {
			names.Insert(node.Name)
		}
	}
	return names
}

// on gives the Nodes of an EC2 instance. There should be one.
func (x *nodeIndex) on(instanceID string) []*v1.Node {
	if x == nil || x.indexer == nil {
		return nil
	}
	objects, err := x.indexer.ByIndex(instanceIndex, instanceID)
	if err != nil {
		return nil // only an index that does not exist
	}
	var nodes []*v1.Node
	for _, object := range objects {
		if node, ok := object.(*v1.Node); ok {
			nodes = append(nodes, node)
		}
	}
	return nodes
}
