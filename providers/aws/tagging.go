package aws

import (
	"context"
	"sync"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/component-base/metrics/legacyregistry"
	genericcontrollermanager "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/tagging"
)

// taggingClientName is what the controller's Kubernetes client calls itself.
const taggingClientName = "tagging-controller"

// flags are the command-line flags of this provider.
var flags struct {
	tagging tagging.Options
}

// controllers are those that this provider brings. They run on request.
func controllers() map[string]app.ControllerInitFuncConstructor {
	return map[string]app.ControllerInitFuncConstructor{
		tagging.Name: {
			InitContext: app.ControllerInitContext{ClientName: taggingClientName},
			Constructor: newTagging,
		},
	}
}

// taggingMetrics are those of the process.
var taggingMetrics = sync.OnceValue(func() *tagging.Metrics {
	m := tagging.NewMetrics()
	m.Register(legacyregistry.MustRegister)
	return m
})

// newTagging makes the function that starts the tagging controller. Under
// another provider that does nothing, without an error.
func newTagging(initial app.ControllerInitContext, completed *ccmconfig.CompletedConfig, chosen cloudprovider.Interface) app.InitFunc {
	return func(ctx context.Context, _ genericcontrollermanager.ControllerContext) (controller.Interface, bool, error) {
		c, ok := chosen.(*cloud)
		if !ok {
			klog.FromContext(ctx).V(2).Info("The tagging controller is for AWS alone, not starting it", "provider", chosen.ProviderName())
			return nil, false, nil
		}
		client, err := completed.ClientBuilder.Client(initial.ClientName)
		if err != nil {
			return nil, false, err
		}
		tags, err := tagging.New(tagging.Config{
			Options:    flags.tagging,
			EC2:        c.clients.EC2,
			Client:     client,
			Nodes:      completed.SharedInformers.Core().V1().Nodes(),
			InstanceID: ec2InstanceID,
			Metrics:    taggingMetrics(),
		})
		if err != nil {
			return nil, false, err
		}
		// The framework's context outlives the cloud.
		ctx, cancel := context.WithCancel(ctx)
		context.AfterFunc(c.running, cancel)
		c.background.Go(func() { tags.Run(ctx) })
		return nil, true, nil
	}
}
