package main

import (
	"debug/elf"
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
)

func TestSBOM(t *testing.T) {
	t.Parallel()
	binary, err := readBinary(put(t, "ccm", executable(t, elf.EM_AARCH64, buildOf(t, "v1.2.3"))))
	if err != nil {
		t.Fatal(err)
	}
	text, err := newSBOM(binary, time.Unix(1700000000, 0), map[string][]string{packageURL: {"BSD-3-Clause", "MIT"}})
	if err != nil {
		t.Fatal(err)
	}
	var bom cyclonedx.BOM
	if err := json.Unmarshal(text, &bom); err != nil {
		t.Fatal(err)
	}
	if want := "2023-11-14T22:13:20Z"; bom.Metadata.Timestamp != want || bom.SerialNumber != "" {
		t.Errorf("want time %s and no serial number, got %s, %q", want, bom.Metadata.Timestamp, bom.SerialNumber)
	}
	if want := "pkg:golang/example.com/ccm@v1.2.3"; bom.Metadata.Component.PackageURL != want {
		t.Errorf("want %s, got %s", want, bom.Metadata.Component.PackageURL)
	}
	var urls, referenced []string
	for _, c := range *bom.Components {
		urls, referenced = append(urls, c.PackageURL), append(referenced, c.BOMRef)
		if c.Name == packageURL {
			if c.Licenses == nil || len(*c.Licenses) != 2 || c.Properties == nil || !strings.HasPrefix((*c.Properties)[0].Value, "h1:") {
				t.Errorf("want licenses and a checksum of %s, got %v, %v", c.Name, c.Licenses, c.Properties)
			}
		}
	}
	want := []string{"pkg:golang/stdlib@1.26.8"}
	for _, m := range binary.info.Deps {
		want = append(want, "pkg:golang/"+m.Path+"@"+m.Version)
	}
	if diff := cmp.Diff(want, urls); diff != "" {
		t.Errorf("package URLs (-want +got):\n%s", diff)
	}
	dependencies := *bom.Dependencies
	if len(dependencies) != 1 || dependencies[0].Ref != bom.Metadata.Component.BOMRef || cmp.Diff(referenced, *dependencies[0].Dependencies) != "" {
		t.Errorf("want all components as dependencies of the program, got %v", dependencies)
	}
}

// TestPackageURL: signs that mean something in a package URL are encoded, and there is no
// version that no scanner could match.
func TestPackageURL(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ path, version, want string }{
		"Plain":        {"golang.org/x/net", "v0.57.0", "pkg:golang/golang.org/x/net@v0.57.0"},
		"Incompatible": {"example.com/old", "v2.0.0+incompatible", "pkg:golang/example.com/old@v2.0.0%2Bincompatible"},
		"Unstamped":    {"example.com/ccm", "(devel)", "pkg:golang/example.com/ccm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := component(cyclonedx.ComponentTypeLibrary, &debug.Module{Path: tc.path, Version: tc.version}, nil)
			if c.PackageURL != tc.want {
				t.Errorf("want %s, got %s", tc.want, c.PackageURL)
			}
		})
	}
}
