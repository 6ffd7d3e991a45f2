package all_test

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/all"
)

// folders returns the names of the folders that hold a provider each.
func folders(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && !slices.Contains([]string{"all", "common"}, entry.Name()) {
			names = append(names, entry.Name())
		}
	}

	return names
}

func TestDescriptorsListEachFolder(t *testing.T) {
	t.Parallel()
	var names []string
	for _, d := range all.Descriptors() {
		names = append(names, d.Name)
		if !cloudprovider.IsCloudProvider(d.Name) {
			t.Errorf("importing the package of provider %s registers no factory of this name", d.Name)
		}
	}
	if diff := cmp.Diff(folders(t), names); diff != "" {
		t.Errorf("folders of providers, and their descriptors (-folders +descriptors):\n%s", diff)
	}
}

// Each provider has an import rule, which allows its own packages only.
func TestImportRules(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	type rule struct {
		Mode         string `yaml:"list-mode"`
		Files, Allow []string
		Deny         []map[string]string
	}
	var lint struct {
		Linters struct {
			Settings struct {
				Depguard struct{ Rules map[string]rule }
			}
		}
	}
	if err := yaml.Unmarshal(text, &lint); err != nil {
		t.Fatal(err)
	}
	const module = "github.com/multicloud-ccm/multicloud-ccm"
	for _, name := range folders(t) {
		got := lint.Linters.Settings.Depguard.Rules[name]
		want := rule{
			Mode:  "lax",
			Files: []string{"**/providers/" + name + "/**", "!**/internal/*test/**", "!$test"},
			Allow: []string{module + "/config", module + "/providers/common", module + "/providers/" + name},
			Deny: []map[string]string{
				{"pkg": module, "desc": "a provider imports providers/common and config only"},
				{"pkg": module + "/providers/" + name + "/internal/" + name + "test", "desc": "test fixtures are for tests"},
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("depguard rule %s of .golangci.yml (-want +got):\n%s", name, diff)
		}
	}
}
