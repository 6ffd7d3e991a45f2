package openstack

import (
	"os"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/parallelism"
)

// atOnce is how many tests run side by side at least: most of them wait for the timeouts
// and ages of [quick].
const atOnce = 4

func TestMain(m *testing.M) {
	if err := parallelism.AtLeast(atOnce); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
