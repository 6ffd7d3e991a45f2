package main

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/all"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

const root = "../../.."

var update = flag.Bool("update", false, "rewrite the golden files")

// withFixtures is a library that also holds the comments of fixture_test.go.
func withFixtures(t *testing.T) *library {
	t.Helper()
	l, here := newLibrary(root), comments{}
	if err := here.read("fixture_test.go"); err != nil {
		t.Fatal(err)
	}
	l.packages[reflect.TypeFor[fixture]().PkgPath()] = here

	return l
}

func TestProviderPart(t *testing.T) {
	t.Parallel()
	p, err := newConfigWriter(withFixtures(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, yaml := range []bool{true, false} {
		err := p.provider(provider.Descriptor{Summary: "Test cloud", Reference: provider.Reference{
			Config: new(fixture), YAML: yaml,
			Schema: config.Schema{
				Aliases: map[string]string{"vm": "Machine"},
				Foreign: map[config.Name]string{{Section: "Disk"}: "another program reads it", {Section: "Global", Key: "zone"}: "another program reads it"},
			},
			Environment: []provider.Variable{
				{Name: "CLOUD_PROVIDER", Sets: config.Name{Section: "Global", Key: "provider"}},
				{Name: "CLOUD_<id>", Help: "Adds a machine."},
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	const golden = "testdata/provider.golden.md"
	if *update {
		if err := os.WriteFile(golden, []byte(p.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), p.String()); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

func TestNothingWithoutDescription(t *testing.T) {
	t.Parallel()
	_, err := withFixtures(t).sections(new(undocumented))
	if err == nil || !strings.Contains(err.Error(), "[Global] silent: undocumented.Global.Silent has no comment") {
		t.Errorf("want an error that names the key and the field, got %v", err)
	}
	if _, err := newLibrary(root).of(reflect.TypeFor[cmp.Option]().PkgPath()); err == nil || !strings.Contains(err.Error(), "not a package of this module") {
		t.Errorf("want an error that names the package, got %v", err)
	}
}

// TestPages checks that every page can be generated, and is the same twice.
func TestPages(t *testing.T) {
	t.Parallel()
	var pages [2]map[string]string
	for i := range pages {
		dir := t.TempDir()
		if err := run(root, dir); err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		pages[i] = map[string]string{}
		for _, file := range files {
			text, err := os.ReadFile(filepath.Join(dir, file.Name()))
			if err != nil {
				t.Fatal(err)
			}
			pages[i][file.Name()] = string(text)
		}
	}
	if diff := cmp.Diff(pages[0], pages[1]); diff != "" {
		t.Errorf("second time (-want +got):\n%s", diff)
	}
	for name, line := range map[string]string{
		"config.md":       "| `concurrent-node-syncs` | `concurrentNodeSyncs` | number | 20 |",
		"metrics.md":      "| `multicloud_ccm_connected` | gauge | `provider`, `endpoint` |",
		"command-line.md": "| `--concurrent-node-syncs` | 20 | 1 | `[Controllers] concurrent-node-syncs` |",
	} {
		if !strings.HasPrefix(pages[0][name], notice+"# ") {
			t.Errorf("%s must begin with the notice and a title", name)
		}
		if !strings.Contains(pages[0][name], "\n"+line) {
			t.Errorf("%s lacks a line that begins with %q", name, line)
		}
	}
}

// TestReferences checks that the pages cover every provider.
func TestReferences(t *testing.T) {
	t.Parallel()
	for _, d := range all.Descriptors() {
		if d.Reference.Config == nil {
			t.Errorf("provider %s has no reference", d.Name)
		}
	}
}

// plain matches a default that is a value, not a sentence.
var plain = regexp.MustCompile(`^[\w.:/,-]+$`)

// TestDefaults checks that the documented defaults are the effective ones.
func TestDefaults(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"aws":       "[Global]\n[ServiceOverride \"name\"]\nService = EC2\nRegion = r\nURL = https://ec2.example.com\nSigningRegion = r\n",
		"openstack": "[Global]\nauth-url = https://keystone.example.com\nusername = u\npassword = p\ndomain-id = d\ntenant-id = t\n[LoadBalancerClass \"name\"]\n",
		"vsphere":   "[Global]\nuser = u\npassword = p\n[VirtualCenter \"name\"]\n[LoadBalancerClass \"name\"]\n",
	}
	l := newLibrary(root)
	for _, d := range all.Descriptors() {
		t.Run(d.Name, func(t *testing.T) {
			file, err := config.Parse("cloud-config", []byte(files[d.Name]))
			if err != nil {
				t.Fatal(err)
			}
			effective := map[config.Name]config.Setting{}
			for _, s := range d.Explain(file) {
				effective[s.Name] = s
			}
			for _, target := range []any{config.NewSettings(), d.Reference.Config} {
				sections, err := l.sections(target)
				if err != nil {
					t.Fatal(err)
				}
				checkDefaults(t, sections, effective)
			}
		})
	}
}

func checkDefaults(t *testing.T, sections []section, effective map[config.Name]config.Setting) {
	t.Helper()
	for _, s := range sections {
		for _, k := range s.keys {
			setting, ok := effective[k.name]
			if !ok {
				t.Errorf("%s is documented, but not in the output of explain", k.name)
			}
			if setting.Source != "default" || k.fallback != "" && !plain.MatchString(k.fallback) {
				continue
			}
			if diff := cmp.Diff(k.fallback, setting.Value); diff != "" {
				t.Errorf("default of %s (-documented +effective):\n%s", k.name, diff)
			}
		}
	}
}
