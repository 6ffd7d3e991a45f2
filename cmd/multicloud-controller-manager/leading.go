package main

import (
	"context"
	"maps"
	"sync/atomic"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	ccmconfig "k8s.io/cloud-provider/app/config"
	controllermanager "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
)

// leading is true once this process leads: the framework starts controllers only then, and a
// process that no longer leads ends.
type leading struct{ atomic.Bool }

// observe returns the controllers, the first of which that starts shows that the process leads.
func (l *leading) observe(constructors map[string]app.ControllerInitFuncConstructor) map[string]app.ControllerInitFuncConstructor {
	observed := maps.Clone(constructors)
	for name, c := range observed {
		construct := c.Constructor
		c.Constructor = func(initContext app.ControllerInitContext, completed *ccmconfig.CompletedConfig, cloud cloudprovider.Interface) app.InitFunc {
			start := construct(initContext, completed, cloud)

			return func(ctx context.Context, controllerContext controllermanager.ControllerContext) (controller.Interface, bool, error) {
				l.Store(true)

				return start(ctx, controllerContext)
			}
		}
		observed[name] = c
	}

	return observed
}
