package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
	"github.com/multicloud-ccm/multicloud-ccm/test/inventory"
)

// release is a release of Helm in kube-system.
type release struct {
	*cluster

	helm helm.Installation
}

// newRelease returns a release that is not installed.
func (c *cluster) newRelease(t *testing.T, program, name, chart string) *release {
	t.Helper()

	return &release{cluster: c, helm: helm.Installation{
		Program: program, Name: name, Namespace: systemNamespace, Chart: chart, Kubeconfig: c.Kubeconfig(), Home: t.TempDir(),
	}}
}

// ours is the path of the project's chart.
func ours(t *testing.T) string {
	t.Helper()
	chart, err := helm.Path()
	if err != nil {
		t.Fatal(err)
	}

	return chart
}

// install and upgrade return the notes of the chart.
func (r *release) install(t *testing.T, values map[string]any, set ...string) string {
	t.Helper()
	notes, err := r.helm.Install(within(t), values, set...)
	if err != nil {
		t.Fatal(err)
	}

	return notes
}

func (r *release) upgrade(t *testing.T, values map[string]any, set ...string) string {
	t.Helper()
	notes, err := r.tryUpgrade(t, values, set...)
	if err != nil {
		t.Fatal(err)
	}

	return notes
}

// tryUpgrade upgrades the release, and runs the Jobs of its hooks meanwhile.
func (r *release) tryUpgrade(t *testing.T, values map[string]any, set ...string) (notes string, err error) {
	t.Helper()
	ctx, ended := within(t), make(chan struct{})
	go func() {
		defer close(ended)
		notes, err = r.helm.Upgrade(ctx, values, set...)
	}()
	r.runHooks(t, ended)

	return notes, err
}

func (r *release) rollback(t *testing.T, revision int) {
	t.Helper()
	if err := r.helm.Rollback(within(t), revision); err != nil {
		t.Fatal(err)
	}
}

func (r *release) uninstall(t *testing.T) {
	t.Helper()
	if err := r.helm.Uninstall(within(t)); err != nil {
		t.Fatal(err)
	}
}

// everything lists all objects that Helm and the process make.
func (c *cluster) everything(t *testing.T) inventory.Objects {
	t.Helper()
	found, err := inventory.List(t.Context(), c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}

	return found
}

// wantNoSharedFields checks that no field has two owners: two programs that write the same field
// undo each other's changes. Helm is to be one of the owners, by this operation.
func wantNoSharedFields(t *testing.T, operation string, objects []*unstructured.Unstructured) {
	t.Helper()
	all := map[string]string{}
	for _, object := range objects {
		owners := map[string]string{}
		for _, entry := range object.GetManagedFields() {
			var fields map[string]any
			if err := yaml.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
				t.Fatal(err)
			}
			owner := fmt.Sprintf("%s %s", entry.Manager, entry.Operation)
			for _, field := range leaves("", fields) {
				if other, found := owners[field]; found {
					t.Errorf("%s %s: %s has the owners %q and %q", object.GetKind(), object.GetName(), field, other, owner)
				}
				owners[field] = owner
			}
		}
		maps.Copy(all, owners)
	}
	byHelm := slices.DeleteFunc(slices.Collect(maps.Values(all)), func(owner string) bool { return !strings.HasPrefix(owner, "helm") })
	if len(byHelm) == 0 || slices.ContainsFunc(byHelm, func(owner string) bool { return !strings.HasSuffix(owner, " "+operation) }) {
		t.Errorf("the operations of Helm on %d fields are not all %s", len(byHelm), operation)
	}
}

// leaves are the paths of fields without fields of their own.
func leaves(path string, fields map[string]any) []string {
	var all []string
	for name, value := range fields {
		below, _ := value.(map[string]any)
		if len(below) == 0 {
			all = append(all, path+"/"+name)
		}
		all = append(all, leaves(path+"/"+name, below)...)
	}

	return all
}
