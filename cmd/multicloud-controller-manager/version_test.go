package main

import (
	"runtime/debug"
	"testing"
)

func TestProductVersion(t *testing.T) {
	t.Parallel()
	const unset = "v0.0.0-master+$Format:%H$"
	build := func(version string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}}
	}
	for name, tc := range map[string]struct {
		reason string
		linked string
		build  *debug.BuildInfo
		want   string
	}{
		"Linked":    {reason: "make build names the version", linked: "v1.2.3", build: build("(devel)"), want: "v1.2.3"},
		"Installed": {reason: "go install stamps the version of the module", linked: unset, build: build("v1.2.3"), want: "v1.2.3"},
		"Plain":     {reason: "go build without versions of git", linked: unset, build: build("(devel)"), want: "(devel)"},
		"NoBuild":   {reason: "a binary without build information", linked: unset, want: unset},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := productVersion(tc.linked, tc.build); got != tc.want {
				t.Errorf("%s: want %s, got %s", tc.reason, tc.want, got)
			}
		})
	}
}
