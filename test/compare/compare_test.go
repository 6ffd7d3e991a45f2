package main

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

var update = flag.Bool("update", false, "write the golden files")

// sample has every kind of row.
func sample() *results {
	r := &results{}
	theirs, ours := r.recorder(0), r.recorder(1)
	for _, round := range []float64{0, 1, 2} {
		theirs(calls("calls to initialize 300 Nodes").charted(), 600)
		ours(calls("calls to initialize 300 Nodes").charted(), 7+round)
		theirs(seconds("time to initialize 300 Nodes").charted(), 60.5-round)
		ours(seconds("time to initialize 300 Nodes").charted(), 5.51)
		theirs(memory("peak memory").charted(), 74)
		ours(memory("peak memory").charted(), 83)
		ours(calls("calls <of> nothing").charted(), 0)
		theirs(calls("calls <of> nothing").charted(), 0)
	}
	theirs(calls("measured once"), 5)
	ours(calls("measured once"), 6)

	return r
}

func TestReports(t *testing.T) {
	t.Parallel()
	names := [2]string{"upstream v1.2.3", "ours & others"}
	table := sample().table(names)
	chart, err := sample().chart("aws, 300 Nodes", names)
	if err != nil {
		t.Fatal(err)
	}
	for file, got := range map[string]string{"table.golden": table.Text() + "\n" + table.Markdown(), "chart.svg": string(chart)} {
		golden := filepath.Join("testdata", file)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
	for decoder := xml.NewDecoder(strings.NewReader(string(chart))); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the chart is no XML: %v", err)
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for want, values := range map[float64][]float64{0: nil, 1: {1}, 2: {3, 1, 2}, 2.5: {4, 1, 3, 2}} {
		if got := median(values); got != want {
			t.Errorf("median of %v: %v, want %v", values, got, want)
		}
	}
}

// An upstream controller has the settings of ours, without the provider, and the arguments of its
// chart; ours has the arguments of neither.
func TestControllers(t *testing.T) {
	t.Parallel()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, provider := range scenario.Providers() {
		both, err := controllers(plan{provider: provider, theirs: binary, ours: binary})
		if err != nil {
			t.Fatal(err)
		}
		config := "[Global]\nprovider = " + provider.Name + "\nregion = east\n"
		if got := both[0].config(config); !strings.HasPrefix(got, "[Global]\nregion = east\n") {
			t.Errorf("%s: the upstream cloud-config is:\n%s", provider.Name, got)
		}
		if !slices.Contains(both[0].args, "--cloud-provider="+provider.Name) {
			t.Errorf("%s: the upstream arguments are %v", provider.Name, both[0].args)
		}
		if got := both[1].config(config); got != config || len(both[1].args) != 0 {
			t.Errorf("%s: ours has the arguments %v and the cloud-config:\n%s", provider.Name, both[1].args, got)
		}
	}
}
