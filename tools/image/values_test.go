package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The values of the chart, and the command that installs an image with them, name the image
// as it was tagged: a clone without a tag has another one than the chart.
func TestValues(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, repository, tag string
		want                    string
	}{
		"Local": {
			reason: "the default of make image", repository: "localhost/multicloud-controller-manager", tag: "v0.0.0-f424e96f",
			want: "image:\n  registry: \"localhost\"\n  repository: \"multicloud-controller-manager\"\n  tag: \"v0.0.0-f424e96f\"\n",
		},
		"Registry": {
			reason: "a registry with a port and a path", repository: "registry.example.com:5000/team/ccm", tag: "v1.2.3",
			want: "image:\n  registry: \"registry.example.com:5000/team\"\n  repository: \"ccm\"\n  tag: \"v1.2.3\"\n",
		},
		"NoRegistry": {
			reason: "the runtime chooses one", repository: "ccm", tag: "1",
			want: "image:\n  registry: \"\"\n  repository: \"ccm\"\n  tag: \"1\"\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			module := t.TempDir()
			if err := os.Mkdir(filepath.Join(module, "bin"), 0o755); err != nil {
				t.Fatal(err)
			}
			var printed bytes.Buffer
			o := options{repository: tc.repository, tag: tc.tag, module: module, values: filepath.Join(module, "bin", "image.yaml")}
			if err := writeValues(&printed, o); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(readFile(t, o.values))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			want := "bin/image.yaml:\n" + tc.want + "Push the image, or import it on each control plane node, and install it with values of your own:\n" +
				"  helm install ccm charts/multicloud-controller-manager --namespace kube-system --values bin/image.yaml --values values.yaml --wait\n" +
				"  kubectl --namespace kube-system rollout status daemonset/ccm-multicloud-controller-manager --timeout 5m\n"
			if diff := cmp.Diff(want, printed.String()); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
		})
	}
}
