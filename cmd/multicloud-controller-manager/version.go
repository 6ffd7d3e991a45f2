package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/component-base/version"
	"k8s.io/component-base/version/verflag"
)

// exitIfVersionRequested prints the version and ends the process if --version is set.
// The framework would print it as that of Kubernetes.
func exitIfVersionRequested(out io.Writer, flags *pflag.FlagSet) {
	if requested := flags.Lookup("version"); requested != nil && requested.Value.String() == "true" {
		build, _ := debug.ReadBuildInfo()
		if _, err := fmt.Fprintln(out, commandName, productVersion(version.Get().GitVersion, build)); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	verflag.PrintAndExitIfRequested() // --version=raw
}

// productVersion returns the version that the linker was given or, without one, that
// of the main module, which Go sets. A build may be nil.
func productVersion(linked string, build *debug.BuildInfo) string {
	const placeholder = "$Format" // in component-base, for git archive
	if !strings.Contains(linked, placeholder) || build == nil {
		return linked
	}

	return build.Main.Version
}
