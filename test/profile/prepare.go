package profile

import (
	"flag"
	"os"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// Prepare is called by TestMain of packages that run many providers at once: it parses the
// flags, has less of the time go into collecting garbage, of which requests and responses make
// much, and without -v turns off the logs.
func Prepare() {
	flag.Parse()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if flag.Lookup("test.v").Value.String() != "true" { // with -json it is test2json
		klog.SetLogger(klog.Logger{})
	}
}
