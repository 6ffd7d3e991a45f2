package aws

import (
	"context"
	"fmt"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	ccmconfig "k8s.io/cloud-provider/app/config"
	genericcontrollermanager "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/tagging"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// taggingClientName is the name of the controller's Kubernetes client.
const taggingClientName = "tagging-controller"

// controllers are the additional controllers of this provider. They are
// disabled by default.
func controllers(flags *tagging.Options) map[string]app.ControllerInitFuncConstructor {
	return map[string]app.ControllerInitFuncConstructor{
		tagging.Name: {
			InitContext: app.ControllerInitContext{ClientName: taggingClientName},
			Constructor: func(initial app.ControllerInitContext, completed *ccmconfig.CompletedConfig, chosen cloudprovider.Interface) app.InitFunc {
				return newTagging(initial, completed, chosen, flags)
			},
		},
	}
}

// taggingMetrics are the metrics of all tagging controllers of the process.
var taggingMetrics = metrics.OfProcess(tagging.NewMetrics)

// newTagging returns the function that starts the tagging controller, which the
// framework calls if the controller is enabled. The flags are validated only
// then. With another provider nothing starts, without an error.
func newTagging(initial app.ControllerInitContext, completed *ccmconfig.CompletedConfig, chosen cloudprovider.Interface, flags *tagging.Options) app.InitFunc {
	return func(ctx context.Context, _ genericcontrollermanager.ControllerContext) (controller.Interface, bool, error) {
		c, ok := chosen.(*cloud)
		if !ok {
			klog.FromContext(ctx).V(2).Info("The tagging controller is for AWS alone, not starting it", "provider", chosen.ProviderName())

			return nil, false, nil
		}
		client, err := completed.ClientBuilder.Client(initial.ClientName)
		if err != nil {
			return nil, false, fmt.Errorf("make a Kubernetes client for the %s controller: %w", tagging.Name, err)
		}
		tags, err := tagging.New(tagging.Config{
			Options:    *flags,
			EC2:        c.clients.EC2,
			Client:     client,
			Nodes:      completed.SharedInformers.Core().V1().Nodes(),
			InstanceID: nodes.InstanceID,
			Metrics:    taggingMetrics(),
			Events:     c.recorder,
		})
		if err != nil {
			return nil, false, fmt.Errorf("make the %s controller: %w", tagging.Name, err)
		}
		c.background.Go(func(running context.Context) {
			// The framework's context outlives the cloud.
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(running, cancel)()
			tags.Run(ctx)
		})

		return nil, true, nil
	}
}
