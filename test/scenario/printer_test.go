package scenario

import (
	"context"
	"errors"
	"fmt"
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

func TestPrinterUsesColorInATerminal(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	p := &Printer{w: &b, color: true}
	p.Note("plain")
	if want := "  \x1b[2mplain\x1b[0m\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
