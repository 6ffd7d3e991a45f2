package main

import (
	"bytes"
	"fmt"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/package-url/packageurl-go"
)

// newSBOM returns the software bill of materials of a program in the JSON form of
// CycloneDX: Go, and all modules, with their versions, checksums and licenses. The same
// program has the same one, so it has no serial number.
func newSBOM(p program, made time.Time, licenses map[string][]string) ([]byte, error) {
	root := component(cyclonedx.ComponentTypeApplication, &p.info.Main, licenses)
	root.Licenses = licensesOf([]string{"Apache-2.0"})
	standard := component(cyclonedx.ComponentTypeLibrary, &debug.Module{Path: standardLibrary, Version: strings.TrimPrefix(p.info.GoVersion, "go")}, licenses)
	components, direct := []cyclonedx.Component{standard}, []string{standard.BOMRef}
	for _, m := range p.modules() {
		c := component(cyclonedx.ComponentTypeLibrary, m, licenses)
		components, direct = append(components, c), append(direct, c.BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp:  made.UTC().Format(time.RFC3339),
		Component:  &root,
		Properties: &[]cyclonedx.Property{{Name: "cdx:gomod:build:env:GOARCH", Value: p.architecture}, {Name: "cdx:gomod:build:env:GOOS", Value: targetOS}},
	}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: root.BOMRef, Dependencies: &direct}}
	var text bytes.Buffer
	encoder := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(bom, cyclonedx.SpecVersion1_6); err != nil { // many scanners cannot read a newer one
		return nil, fmt.Errorf("write SBOM: %w", err)
	}

	return text.Bytes(), nil
}

// component describes a module. Scanners match it by its package URL
// (https://github.com/package-url/purl-spec, type golang). A main module that Go did not
// stamp has no version.
func component(kind cyclonedx.ComponentType, m *debug.Module, licenses map[string][]string) cyclonedx.Component {
	version := m.Version
	if version == unknownVersion {
		version = ""
	}
	namespace, name := path.Split(m.Path)
	purl := packageurl.NewPackageURL(packageurl.TypeGolang, strings.TrimSuffix(namespace, "/"), name, version, nil, "").ToString()
	c := cyclonedx.Component{
		BOMRef: purl, PackageURL: purl, Type: kind, Name: m.Path, Version: version, Licenses: licensesOf(licenses[m.Path]),
	}
	if m.Sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "cdx:gomod:sum", Value: m.Sum}}
	}

	return c
}

func licensesOf(ids []string) *cyclonedx.Licenses {
	if len(ids) == 0 {
		return nil
	}
	var all cyclonedx.Licenses
	for _, id := range ids {
		all = append(all, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}

	return &all
}
