package main

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// waitingIndex is the index of the Nodes that wait for their initialization.
const (
	waitingIndex = "multicloud-ccm/waiting"
	waitingValue = "true"
)

// reportWaiting reports at each scrape which Nodes of the informer wait for their
// initialization. It calls no API, and costs as much as there are such Nodes. Informers
// run in the leader alone.
func reportWaiting(nodes cache.SharedIndexInformer, recorder *metrics.Recorder) error {
	if err := nodes.AddIndexers(cache.Indexers{waitingIndex: indexWaiting}); err != nil {
		return fmt.Errorf("index the Nodes that wait for their initialization: %w", err)
	}
	recorder.NodesWaiting(func() ([]time.Time, bool) {
		waiting, err := nodes.GetIndexer().ByIndex(waitingIndex, waitingValue)
		if err != nil || !nodes.HasSynced() {
			return nil, false
		}
		since := make([]time.Time, 0, len(waiting))
		for _, object := range waiting {
			if node, ok := object.(*v1.Node); ok {
				since = append(since, waitingSince(node))
			}
		}

		return since, true
	})

	return nil
}

func indexWaiting(object any) ([]string, error) {
	if node, ok := object.(*v1.Node); ok && waitingTaint(node) != nil {
		return []string{waitingValue}, nil
	}

	return nil, nil
}

// waitingSince returns the time of the taint. The kubelet sets none: then the Node has
// had the taint since its creation.
func waitingSince(node *v1.Node) time.Time {
	if taint := waitingTaint(node); taint != nil && taint.TimeAdded != nil {
		return taint.TimeAdded.Time
	}

	return node.CreationTimestamp.Time
}

// waitingTaint returns the taint that the controller for Nodes removes, or nil. It takes
// the key alone into account, too.
func waitingTaint(node *v1.Node) *v1.Taint {
	for i := range node.Spec.Taints {
		if node.Spec.Taints[i].Key == cloudproviderapi.TaintExternalCloudProvider {
			return &node.Spec.Taints[i]
		}
	}

	return nil
}
