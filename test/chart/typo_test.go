package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

// free are the values whose keys the chart does not define: those of Kubernetes, which
// checks them itself, and those that umbrella charts share.
var free = []string{"global", "nodeSelector", "podSecurityContext", "securityContext", "resources", "updateStrategy", "metrics.dashboard.labels"}

// The schema refuses every misspelled key, at any depth. Each key of values.yaml is
// misspelled beside the right one: the errors of one run have all of them.
func TestTypos(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(top, helm.Chart, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	refused := misspell(values, "")
	if len(refused) < 150 {
		t.Fatalf("values.yaml has only %d keys: %q", len(refused), refused)
	}
	values["provider"] = "aws"
	misspelled, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		_, err := helm.Release{Program: program, Values: string(misspelled)}.Template(t.Context())
		if err == nil {
			t.Fatalf("%s takes misspelled values", program)
		}
		for _, fault := range refused {
			if !slices.ContainsFunc(strings.Split(err.Error(), "\n"), fault.in) {
				t.Errorf("%s does not refuse %s in %q:\n%v", program, fault.key, fault.parent, err)
			}
		}
	}
}

// typo is a misspelled key of a value.
type typo struct{ parent, key string }

// in reports whether a line of the errors is about the key.
func (f typo) in(line string) bool {
	place := "at '/" + strings.ReplaceAll(f.parent, ".", "/") + "':"
	if f.parent == "" {
		place = "at '':"
	}

	return strings.Contains(line, place) && strings.Contains(line, fmt.Sprintf("'%s'", f.key))
}

// misspell adds a misspelled key for each key of the values, at any depth, and returns
// what must be refused.
func misspell(values map[string]any, parent string) []typo {
	var refused []typo
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		path := strings.TrimPrefix(parent+"."+key, ".")
		if below, ok := value.(map[string]any); ok && len(below) > 0 {
			refused = append(refused, misspell(below, path)...)
		}
		if slices.Contains(free, parent) || slices.ContainsFunc(free, func(name string) bool { return strings.HasPrefix(parent, name+".") }) {
			continue
		}
		wrong := key[:len(key)-1] + "q"
		values[wrong] = value
		refused = append(refused, typo{parent: parent, key: wrong})
	}

	return refused
}
