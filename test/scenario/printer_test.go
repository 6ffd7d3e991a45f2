package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// duration is the part of the output that differs from run to run.
var duration = regexp.MustCompile(`[ 0-9]{3}\.\d s`)

func TestPrinterIsReadableInALog(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	p := PlainPrinter(&b)
	p.Title("A part of %d", 1)
	errs := []error{nil, errors.New("no"), fmt.Errorf("wait: %w", context.Canceled)}
	for _, want := range errs {
		if got := p.Step("Doing it", func() error { return want }); !errors.Is(got, want) {
			t.Errorf("Step returned %v, want %v", got, want)
		}
	}
	p.Note("it was %s", "good")
	p.Note("%s", strings.TrimSpace(strings.Repeat("three ", 16)))
	p.Text("[a]\n\nb = 100%\n")
	p.Failure(errors.New("no"))

	dots := strings.Repeat(".", stepWidth-len("Doing it"))
	want := "\nA part of 1\n\n" +
		"Doing it " + dots + " TIME\n" +
		"Doing it " + dots + " TIME failed\n" +
		"Doing it " + dots + " TIME interrupted\n" +
		"  it was good\n" +
		"  three three three three three three three three three three three three three three three\n  three\n" +
		"\n    [a]\n\n    b = 100%\n\n" +
		"\nerror: no\n"
	if diff := cmp.Diff(want, duration.ReplaceAllString(b.String(), "TIME")); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestPrinterWritesNoColorToAFile(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p := NewPrinter(file)
	p.Title("A part")
	p.Failure(errors.New("no"))
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if want := "\nA part\n\n\nerror: no\n"; string(text) != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

func TestPrinterUsesColorInATerminal(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	p := &Printer{w: &b, color: true}
	p.Note("plain")
	if want := "  \x1b[2mplain\x1b[0m\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
