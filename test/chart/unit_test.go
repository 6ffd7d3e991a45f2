package chart

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

// command prepares a program.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()

	return exec.CommandContext(t.Context(), name, args...)
}

// The suites of the chart itself.
func TestUnit(t *testing.T) {
	t.Parallel()
	output, err := helm.Run(t.Context(), "helm-unittest", "", "--strict", filepath.Join(top, helm.Chart))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(output), "Tests:") || strings.Contains(string(output), "Tests:       0 ") {
		t.Errorf("no test ran:\n%s", output)
	}
}
