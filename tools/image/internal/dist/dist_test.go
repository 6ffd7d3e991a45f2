package dist_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/tools/image/internal/dist"
)

func TestSourceDate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, epoch string
		want          time.Time
		fails         bool
	}{
		"Unset":    {reason: "no time is the same everywhere", want: time.Unix(0, 0).UTC()},
		"Seconds":  {reason: "the convention of reproducible builds", epoch: "1700000000", want: time.Unix(1700000000, 0).UTC()},
		"Nonsense": {reason: "a date is not what others take", epoch: "2023-11-14", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := dist.SourceDate(tc.epoch)
			if (err != nil) != tc.fails {
				t.Fatalf("%s: error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestWrite: a file that cannot be written whole does not replace a former one.
func TestWrite(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := dist.Write(folder, "a", dist.Bytes([]byte("whole"))); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	err := dist.Write(folder, "a", func(w io.Writer) error {
		_, err := io.WriteString(w, "ha")

		return errors.Join(err, full)
	})
	if !errors.Is(err, full) {
		t.Errorf("want %v, got %v", full, err)
	}
	data, err := os.ReadFile(filepath.Join(folder, "a"))
	if err != nil || string(data) != "whole" {
		t.Errorf("want the former file, got %q, error %v", data, err)
	}
	info, err := os.Stat(filepath.Join(folder, "a"))
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("want a file for all to read, got %v, error %v", info, err)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("want one file, got %v, error %v", entries, err)
	}
}
