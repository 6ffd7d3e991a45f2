// Package nodeindex finds Nodes in an informer: by name, and by what a provider
// indexes them by, such as the instance that they run on or their addresses.
//
// What it promises: a lookup makes no call and does not go through all Nodes. An
// Index without an informer has no Nodes, so that a provider works before it
// gets its informers.
//
// When not to use it: to decide that a Node does not exist before
// [Index.HasSynced], or for what must be read from the API server. An informer is
// behind it.
package nodeindex

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Index finds Nodes. They are shared with the informer and must not be changed.
// A nil Index has none. It is safe for concurrent use.
type Index struct {
	name     string
	informer cache.SharedIndexInformer
	lister   listers.NodeLister
}

// New adds an index of this name to the informer of Nodes, which must not have
// started. The function returns the keys of a Node, none if it is not to be found
// by any. An informer that has an index of this name keeps it.
func New(informer cache.SharedIndexInformer, name string, keys func(*v1.Node) []string) (*Index, error) {
	if _, exists := informer.GetIndexer().GetIndexers()[name]; !exists {
		index := func(object any) ([]string, error) {
			if node, ok := object.(*v1.Node); ok {
				return keys(node), nil
			}

			return nil, nil
		}
		if err := informer.AddIndexers(cache.Indexers{name: index}); err != nil {
			return nil, fmt.Errorf("index nodes by %s: %w", name, err)
		}
	}

	return &Index{name: name, informer: informer, lister: listers.NewNodeLister(informer.GetIndexer())}, nil
}

// HasSynced reports whether the informer has all Nodes.
func (x *Index) HasSynced() bool { return x != nil && x.informer.HasSynced() }

// Node returns the Node of a name, nil if the informer has none.
func (x *Index) Node(name string) *v1.Node {
	if x == nil {
		return nil
	}
	node, err := x.lister.Get(name)
	if err != nil {
		return nil // the only error is that it is not found
	}

	return node
}

// Find returns the Nodes with a key, in no order.
func (x *Index) Find(key string) []*v1.Node {
	if x == nil {
		return nil
	}
	objects, err := x.informer.GetIndexer().ByIndex(x.name, key)
	if err != nil {
		return nil // the only error is that there is no index of this name
	}
	var nodes []*v1.Node
	for _, object := range objects {
		if node, ok := object.(*v1.Node); ok {
			nodes = append(nodes, node)
		}
	}

	return nodes
}

// Len returns how many Nodes there are.
func (x *Index) Len() int {
	if x == nil {
		return 0
	}

	return len(x.informer.GetIndexer().ListKeys())
}

// List returns all Nodes, in no order.
func (x *Index) List() []*v1.Node {
	if x == nil {
		return nil
	}
	nodes, err := x.lister.List(labels.Everything())
	if err != nil {
		return nil // the lister of an informer returns none
	}

	return nodes
}
