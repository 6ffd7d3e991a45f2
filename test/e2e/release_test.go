package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

// release is a release of Helm in kube-system.
type release struct {
	*cluster

	program, name, chart, home string
}

// newRelease returns a release that is not installed.
func (c *cluster) newRelease(t *testing.T, program, name, chart string) *release {
	t.Helper()

	return &release{cluster: c, program: program, name: name, chart: chart, home: t.TempDir()}
}

// ours is the path of the project's chart. The go command notes the directories that a test lists, and
// runs it again when they have changed.
func ours(t *testing.T) string {
	t.Helper()
	top, err := ccm.Top()
	if err != nil {
		t.Fatal(err)
	}

	chart := filepath.Join(top, helm.Chart)
	if err := filepath.WalkDir(chart, func(_ string, _ os.DirEntry, err error) error { return err }); err != nil {
		t.Fatal(err)
	}

	return chart
}

// run runs a command of Helm as the administrator, without any settings of the user, and returns
// its output.
func (r *release) run(t *testing.T, values map[string]any, args ...string) string {
	t.Helper()
	binary, err := helm.Locate(t.Context(), r.program)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	args = append(slices.Clone(args), "--namespace="+systemNamespace, "--kubeconfig="+r.Kubeconfig())
	command := exec.CommandContext(within(t), binary, args...)
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(text), &output, &output
	command.Env = []string{"HOME=" + r.home, "KUBECACHEDIR=" + r.home, "GOGC=400"}
	if err := command.Run(); err != nil {
		t.Fatalf("%s %q: %v:\n%s", r.program, args, err, &output)
	}

	return output.String()
}

// install and upgrade return the notes of the chart.
func (r *release) install(t *testing.T, values map[string]any, set ...string) string {
	t.Helper()

	return r.run(t, values, r.settings("install", set)...)
}

func (r *release) upgrade(t *testing.T, values map[string]any, set ...string) string {
	t.Helper()

	return r.run(t, values, r.settings("upgrade", set)...)
}

func (r *release) settings(command string, set []string) []string {
	args := []string{command, r.name, r.chart, "--values=-"}
	for _, value := range set {
		args = append(args, "--set="+value)
	}

	return args
}

func (r *release) uninstall(t *testing.T) {
	t.Helper()
	r.run(t, nil, "uninstall", r.name)
}

// everything lists all objects of all kinds that the API server has, but for those that Helm and
// the test itself do not make: Events, and Nodes with their Pods.
func (c *cluster) everything(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	lists, err := c.Client().Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*unstructured.Unstructured{}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			if slices.Contains([]string{"events", "nodes", "pods"}, resource.Name) {
				continue
			}
			objects, err := client.Resource(version.WithResource(resource.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range objects.Items {
				found[fmt.Sprintf("%s %s/%s", resource.Kind, object.GetNamespace(), object.GetName())] = &object
			}
		}
	}

	return found
}

// added are the objects that were not there before.
func (c *cluster) added(t *testing.T, before map[string]*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	var fresh []*unstructured.Unstructured
	for key, object := range c.everything(t) {
		if before[key] == nil {
			fresh = append(fresh, object)
		}
	}

	return fresh
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
	helm := slices.DeleteFunc(slices.Collect(maps.Values(all)), func(owner string) bool { return !strings.HasPrefix(owner, "helm") })
	if len(helm) == 0 || slices.ContainsFunc(helm, func(owner string) bool { return !strings.HasSuffix(owner, " "+operation) }) {
		t.Errorf("the operations of Helm on %d fields are not all %s", len(helm), operation)
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

// wantNoted checks that the notes of the revisions of a release name all objects that stay after
// an uninstallation, which can only be Leases and ServiceAccounts.
func wantNoted(t *testing.T, notes string, left []*unstructured.Unstructured) {
	t.Helper()
	var stay string
	for _, note := range strings.Split(notes, "these objects stay")[1:] {
		list, _, _ := strings.Cut(note, "To remove load balancers")
		stay += list
	}
	for _, object := range left {
		if !strings.Contains(stay, object.GetKind()) || !strings.Contains(stay, object.GetName()) || object.GetKind() != "Lease" && object.GetKind() != "ServiceAccount" {
			t.Errorf("%s %s/%s is left, and the notes do not name it: %s", object.GetKind(), object.GetNamespace(), object.GetName(), stay)
		}
	}
}
