package main

import (
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// watchPeriod is how often the cloud-config is read. Reading the file
// works for every way of mounting it, where file events do not.
const watchPeriod = 2 * time.Second

// watchConfig ends the process when the cloud-config has changed to valid
// content: the process starts again with it, even for another provider.
// Invalid content is reported once, and the process keeps running.
func watchConfig(life *lifetime, inUse *config.File, recorder *metrics.Recorder, check func(path string) error) {
	var reported string
	wait.Until(func() {
		data, err := os.ReadFile(inUse.Path)
		if err == nil && inUse.Same(data) {
			reported = ""
			recorder.ConfigInvalid(false)

			return
		}
		if err == nil {
			err = check(inUse.Path)
		}
		if err == nil {
			klog.InfoS("Cloud-config changed, stopping so that it takes effect", "cloudConfig", inUse.Path)
			life.stop()

			return
		}
		recorder.ConfigInvalid(true)
		if reported != err.Error() {
			reported = err.Error()
			klog.ErrorS(err, "Cloud-config changed but cannot be used, keeping the one in use", "cloudConfig", inUse.Path)
		}
	}, watchPeriod, life.done())
}
