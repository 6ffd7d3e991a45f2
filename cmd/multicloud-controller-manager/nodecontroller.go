package main

import (
	"context"
	"fmt"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/controllers/node"
	controllermanager "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"

	"github.com/multicloud-ccm/multicloud-ccm/cmd/multicloud-controller-manager/internal/requeue"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

// nodeController starts the framework's controller that initializes Nodes, as
// the framework itself does, except that the provider can queue Nodes again, and
// that a failure ends the process: without this controller no Node is ever
// initialized.
func nodeController(initContext app.ControllerInitContext, completed *ccmconfig.CompletedConfig, cloud cloudprovider.Interface) app.InitFunc {
	return func(ctx context.Context, controllerContext controllermanager.ControllerContext) (controller.Interface, bool, error) {
		nodes := requeue.New(completed.SharedInformers.Core().V1().Nodes())
		settings := completed.ComponentConfig
		nodeController, err := node.NewCloudNodeController(
			nodes,
			completed.ClientBuilder.ClientOrDie(initContext.ClientName),
			cloud,
			settings.NodeStatusUpdateFrequency.Duration,
			settings.NodeController.ConcurrentNodeSyncs,
			settings.NodeController.ConcurrentNodeStatusUpdates,
		)
		if err != nil {
			return nil, false, fmt.Errorf("make the controller that initializes Nodes: %w", err)
		}
		if err := reportWaiting(completed.SharedInformers.Core().V1().Nodes().Informer(), metrics.New(settings.KubeCloudShared.CloudProvider.Name)); err != nil {
			return nil, false, err
		}
		if requeuer, ok := cloud.(provider.NodeRequeuer); ok {
			requeuer.SetNodeRequeue(nodes.Requeue)
		}
		go nodeController.RunWithContext(ctx, controllerContext.ControllerManagerMetrics)

		return nil, true, nil
	}
}
