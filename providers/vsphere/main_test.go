package vsphere

import (
	"os"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

func TestMain(m *testing.M) {
	profile.Prepare()
	os.Exit(m.Run())
}
