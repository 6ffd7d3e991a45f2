package chart

import (
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

// providerLabel is the label that names the provider.
const providerLabel = "multicloud-ccm.io/provider"

var providers = []string{"aws", "openstack", "vsphere"}

// fleet has the settings of every provider, and what could depend on one.
const fleet = `
clusterCIDR: 10.0.0.0/16
aws:
  config: {Global: {Region: eu-central-1}}
  tagging: {enabled: true, tags: {team: blue}}
openstack:
  config: {Global: {auth-url: "https://keystone.example.com/v3"}}
vsphere:
  config: {VirtualCenter: {vc.example.com: {datacenters: [dc-1]}}}
  nodeLabels: {example.com/site: north}
metrics: {enabled: true, serviceMonitor: {enabled: true}}
`

// cloudConfigIn returns the cloud-config in a Secret, which encodes it, or in a ConfigMap.
func cloudConfigIn(t *testing.T, object *unstructured.Unstructured) (text string, ok bool) {
	t.Helper()
	text, ok, _ = unstructured.NestedString(object.Object, "data", "cloud.conf")
	if !ok || object.GetKind() != "Secret" {
		return text, ok
	}
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}

	return string(content), true
}

// hashedName is the name of a generated cloud-config, which ends with a hash of its content.
var hashedName = regexp.MustCompile(`-config-[0-9a-f]{8}$`)

// With one values file for a fleet, --set provider= switches: the cloud-config, its
// name, the label and the permissions differ, and nothing else.
func TestSwitch(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]string{
		"Defaults":   fleet,
		"Deployment": fleet + "kind: Deployment\nhostNetwork: false\nuseServiceAccountCredentials: true\n",
		"Existing":   "cloudConfig: {existingSecret: {name: 'ccm-{{ .Values.provider }}'}}\nvsphere: {credentials: {existingSecret: {name: vcenter}}}\n",
	} {
		for _, program := range programs {
			t.Run(name+"/"+program, func(t *testing.T) {
				t.Parallel()
				var first map[string]*unstructured.Unstructured
				for _, provider := range providers {
					all := objects(t, template(t, helm.Release{Program: program, Values: values, Set: []string{"provider=" + provider}}))
					if made := wantSelected(t, provider, all); made == (name == "Existing") {
						t.Errorf("%s: the rendering has a cloud-config: %t", provider, made)
					}
					same := withoutProvider(t, provider, all)
					if first == nil {
						first = same
					}
					if diff := cmp.Diff(first, same); diff != "" {
						t.Errorf("from %s to %s more differs:\n%s", providers[0], provider, diff)
					}
				}
			})
		}
	}
}

// wantSelected checks that a rendering is that of the provider, and reports whether it
// has a cloud-config.
func wantSelected(t *testing.T, provider string, all map[string]*unstructured.Unstructured) (made bool) {
	t.Helper()
	for key, object := range all {
		if got := object.GetLabels()[providerLabel]; got != provider {
			t.Errorf("%s has the provider %q in its label, want %q", key, got, provider)
		}
		text, ok := cloudConfigIn(t, object)
		if !ok {
			continue
		}
		made = true
		file, err := config.Parse(key, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := file.Provider(); err != nil || got != provider {
			t.Errorf("the cloud-config names the provider %q, %v, want %q", got, err, provider)
		}
	}

	return made
}

// withoutProvider removes what may depend on the provider, and fails if there is none
// of it.
func withoutProvider(t *testing.T, provider string, all map[string]*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	t.Helper()
	same, names := map[string]*unstructured.Unstructured{}, []string{"ccm-" + provider}
	for _, object := range all {
		if hashedName.MatchString(object.GetName()) {
			names = append(names, object.GetName())
		}
	}
	for key, object := range all {
		if strings.HasPrefix(object.GetAPIVersion(), "rbac.authorization.k8s.io/") {
			continue
		}
		unstructured.RemoveNestedField(object.Object, "data", "cloud.conf")
		removeLabel(object.Object, "metadata")
		removeLabel(object.Object, "spec", "template", "metadata")
		if hashedName.MatchString(key) {
			key = hashedName.ReplaceAllString(key, "-config")
			object.SetName(hashedName.ReplaceAllString(object.GetName(), "-config"))
		}
		for _, name := range names {
			renameVolumes(t, object, name)
		}
		same[key] = object
	}
	if len(same) == len(all) || len(same) < 2 {
		t.Errorf("%s: of %d objects, %d are permissions: %q", provider, len(all), len(all)-len(same), slices.Sorted(maps.Keys(all)))
	}

	return same
}

func removeLabel(object map[string]any, path ...string) {
	labels, ok, _ := unstructured.NestedStringMap(object, append(path, "labels")...)
	if !ok {
		return
	}
	delete(labels, providerLabel)
	_ = unstructured.SetNestedStringMap(object, labels, append(path, "labels")...) // it was one
}

// renameVolumes replaces the name of the Secret that the cloud-config comes from, which
// follows from the provider.
func renameVolumes(t *testing.T, object *unstructured.Unstructured, name string) {
	t.Helper()
	for _, path := range [][]string{{"spec", "template", "spec", "volumes"}, {"spec", "volumes"}} {
		volumes, _, _ := unstructured.NestedSlice(object.Object, path...)
		for _, volume := range volumes {
			replaceString(volume, name, "ccm-provider")
		}
		if len(volumes) == 0 {
			continue
		}
		if err := unstructured.SetNestedSlice(object.Object, volumes, path...); err != nil {
			t.Fatal(err)
		}
	}
}

// replaceString replaces a string wherever it is a value.
func replaceString(node any, from, to string) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			if value == from {
				node[key] = to
			}
			replaceString(value, from, to)
		}
	case []any:
		for _, value := range node {
			replaceString(value, from, to)
		}
	}
}
