package aws

import (
	"fmt"
	"os"
	"testing"
)

// report prints what ran, also if the test passes and -v is not given.
func report(t *testing.T, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	if raceDetector {
		seed, _ := sampleSeed()
		text += fmt.Sprintf("; a sample, repeat it with %s=%d", seedVariable, seed)
	}
	fmt.Fprintf(os.Stdout, "%s: %s\n", t.Name(), text)
}
