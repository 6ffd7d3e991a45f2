package chart

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

// umbrella is a chart that has this one as a dependency with a condition.
const umbrella = `apiVersion: v2
name: platform
version: 1.0.0
dependencies:
  - name: multicloud-controller-manager
    version: ">=0.0.0-0"
    repository: file://%s
    condition: multicloud-controller-manager.enabled
`

// The chart can be a dependency of another one that switches it on and off and has
// settings for all of its dependencies.
func TestUmbrella(t *testing.T) {
	t.Parallel()
	repository, err := ccm.Top()
	if err != nil {
		t.Fatal(err)
	}
	dir, source := t.TempDir(), filepath.Join(repository, helm.Chart)
	if err := os.WriteFile(filepath.Join(dir, "Chart.yaml"), fmt.Appendf(nil, umbrella, source), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "charts", filepath.Base(source)), os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		for _, enabled := range []bool{true, false} {
			values := fmt.Sprintf("global: {imageRegistry: mirror.example.com}\nmulticloud-controller-manager: {enabled: %t, provider: aws}\n", enabled)
			manifest, err := helm.Run(t.Context(), program, values, "template", "fleet", dir, "--namespace", "kube-system", "--values", "-")
			if err != nil {
				t.Fatal(err)
			}
			workload := objects(t, manifest)["DaemonSet/kube-system/fleet-multicloud-controller-manager"]
			if (workload != nil) != enabled {
				t.Errorf("%s, enabled %t: the rendering has the workload: %t", program, enabled, workload != nil)
			}
			if enabled && !bytes.Contains(manifest, []byte("image: \"mirror.example.com/")) {
				t.Errorf("%s: the image is not from the common registry:\n%s", program, manifest)
			}
		}
	}
}
