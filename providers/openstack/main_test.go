package openstack

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"

	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/test/parallelism"
)

// atOnce is how many tests run side by side at least: most of them wait for the timeouts
// and ages of [quick].
const atOnce = 8

func TestMain(m *testing.M) {
	if err := parallelism.AtLeast(atOnce); err != nil {
		panic(err)
	}
	// Requests and responses make much garbage. With the race detector the heap takes a
	// multiple of its size, and less of the time goes into collecting it.
	if !raceDetector && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	flag.Parse()
	if !testing.Verbose() {
		klog.SetLogger(klog.Logger{}) // the logs of thousands of processes are not readable
	}
	os.Exit(m.Run())
}
