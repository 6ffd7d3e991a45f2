package vsphere

import (
	"os"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/parallelism"
)

func TestMain(m *testing.M) {
	if err := parallelism.AtLeast(8); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
