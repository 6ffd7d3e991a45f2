// Package parallelism sets how many tests of a package run side by side. Use it for
// packages whose tests mostly wait for something; tests that compute are no faster
// with it.
package parallelism

import (
	"flag"
	"fmt"
	"runtime"
	"strconv"
)

// AtLeast has at least n tests of the package run side by side, unless the flag
// -parallel of go test sets how many. Call it in TestMain.
func AtLeast(n int) error {
	flag.Parse()
	const name = "test.parallel"
	processors := runtime.GOMAXPROCS(0)
	if processors >= n || flag.Lookup(name).Value.String() != strconv.Itoa(processors) {
		return nil
	}
	if err := flag.Set(name, strconv.Itoa(n)); err != nil {
		return fmt.Errorf("set -parallel: %w", err)
	}

	return nil
}
