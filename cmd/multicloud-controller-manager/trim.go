package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/utils/lru"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// trimInformers has informers keep only what controllers and providers use of an object. It must be
// called before anything uses an informer.
func trimInformers(completed *ccmconfig.CompletedConfig) {
	completed.SharedInformers = informers.NewSharedInformerFactoryWithOptions(completed.VersionedClient,
		wait.Jitter(completed.ComponentConfig.Generic.MinResyncPeriod.Duration, 1), informers.WithTransform(trim))
}

// trim removes most of what Nodes have in large clusters: images, managed fields and conditions. Objects are written back by
// patches that compare two copies of what is kept, but for Nodes, which the framework updates when they
// are initialized: the API server ignores the status then, and keeps managed fields that are missing.
// So nothing else may be removed here.
func trim(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	if node, ok := object.(*v1.Node); ok {
		status := &node.Status
		status.Images, status.Capacity, status.Allocatable = nil, nil, nil
		status.VolumesInUse, status.VolumesAttached, status.Config = nil, nil, nil
		status.Conditions = lists.Filter(status.Conditions, func(c v1.NodeCondition) bool {
			return c.Type == v1.NodeReady || c.Type == v1.NodeNetworkUnavailable
		})
		node.Labels, node.Annotations = shareKeys(node.Labels), shareKeys(node.Annotations)
	}

	return object, nil
}

// keys are those of labels and annotations that were seen, the latest 1,024.
var keys = lru.New(1024)

// shareKeys returns a copy of m whose keys are stored once for all Nodes.
func shareKeys(m map[string]string) map[string]string {
	shared := make(map[string]string, len(m))
	for key, value := range m {
		known, ok := keys.Get(key)
		if !ok {
			known = key
			keys.Add(key, known)
		}
		shared[known.(string)] = value
	}

	return shared
}
