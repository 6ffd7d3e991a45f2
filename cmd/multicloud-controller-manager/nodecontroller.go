package main

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/controllers/node"
	controllermanager "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/requeue"
)

// nodeController starts the framework's controller that initializes Nodes, as
// the framework itself does, except that the provider can queue Nodes again.
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
			klog.FromContext(ctx).Info("Nodes are not initialized", "reason", err)
			return nil, false, nil
		}
		if requeuer, ok := cloud.(provider.NodeRequeuer); ok {
			requeuer.SetNodeRequeue(nodes.Requeue)
		}
		go nodeController.RunWithContext(ctx, controllerContext.ControllerManagerMetrics)
		return nil, true, nil
	}
}
