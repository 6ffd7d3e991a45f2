package main

import (
	"unique"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	ccmconfig "k8s.io/cloud-provider/app/config"

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

// shareKeys returns a copy of m whose keys are stored once for all Nodes.
func shareKeys(m map[string]string) map[string]string {
	shared := make(map[string]string, len(m))
	for key, value := range m {
		shared[unique.Make(key).Value()] = value
	}

	return shared
}
