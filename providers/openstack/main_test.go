package openstack

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"

	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
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
