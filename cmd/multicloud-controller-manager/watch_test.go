package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// watched is a cloud-config that is watched in a synctest bubble.
type watched struct {
	path     string
	life     *lifetime
	registry kmetrics.KubeRegistry
	log      bytes.Buffer
}

const (
	goodText    = "[Place]\ncity = Ulm\n"
	changedText = "[Place]\ncity = Bonn\n"
	wrongText   = "[Place]\ncity = Atlantis\n"
)

func watch(t *testing.T) *watched {
	t.Helper()
	w := &watched{path: filepath.Join(t.TempDir(), "cloud.conf"), life: &lifetime{}, registry: kmetrics.NewKubeRegistry()}
	w.life.ctx, w.life.stop = context.WithCancel(t.Context())
	replace(t, w.path, goodText)
	inUse, err := config.Read(w.path)
	if err != nil {
		t.Fatal(err)
	}
	w.captureLog(t)
	recorder := metrics.NewSet(w.registry, clock.RealClock{}).Recorder(plainName)
	go watchConfig(w.life, inUse, recorder, func(path string) error {
		_, err := choose(testProviders(), path, config.Flag{Value: plainName, Set: true})

		return err
	})

	return w
}

// captureLog redirects the log to a buffer.
func (w *watched) captureLog(t *testing.T) {
	t.Helper()
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"}); err != nil {
		t.Fatal(err)
	}
	klog.SetOutputBySeverity("INFO", &w.log) // higher severities are included
	for _, severity := range []string{"WARNING", "ERROR"} {
		klog.SetOutputBySeverity(severity, io.Discard)
	}
}

// replace writes the content, or removes the file if it is empty, and waits for
// several periods of the watch.
func (w *watched) replace(t *testing.T, text string) {
	t.Helper()
	if text == "" {
		if err := os.Remove(w.path); err != nil {
			t.Fatal(err)
		}
	} else {
		replace(t, w.path, text)
	}
	time.Sleep(3 * watchPeriod)
	synctest.Wait()
}

func (w *watched) invalid(t *testing.T) float64 {
	t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "multicloud_ccm_config_file_invalid" {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("there is no metric")

	return 0
}

func (w *watched) stopped() bool { return errors.Is(w.life.ctx.Err(), context.Canceled) }

// FW-CONFIG-11. The log is the process's, so these tests are not parallel.
func TestWatchConfig(t *testing.T) {
	type step struct {
		text    string
		invalid float64
		stopped bool
	}
	cases := map[string]struct {
		reason string
		steps  []step
		// logged counts the texts of the log.
		logged map[string]int
	}{
		"Same":    {reason: "rewritten with the same content", steps: []step{{text: goodText}}},
		"Changed": {reason: "valid content causes a restart", steps: []step{{text: changedText, stopped: true}}, logged: map[string]int{"stopping so that it takes effect": 1}},
		"Wrong": {
			reason: "invalid content is reported once; the original content is valid again",
			steps:  []step{{text: wrongText, invalid: 1}, {text: wrongText, invalid: 1}, {text: goodText}},
			logged: map[string]int{"keeping the one in use": 1, "cloud.conf:2:1": 1},
		},
		"WrongAgain": {
			reason: "content that is fixed and then invalid again is reported again",
			steps:  []step{{text: wrongText, invalid: 1}, {text: goodText}, {text: wrongText, invalid: 1}},
			logged: map[string]int{"keeping the one in use": 2},
		},
		"WrongOtherwise": {
			reason: "another cause is reported",
			steps:  []step{{text: wrongText, invalid: 1}, {text: "[", invalid: 1}},
			logged: map[string]int{"keeping the one in use": 2},
		},
		"Gone": {
			reason: "a missing file is invalid and does not end the process",
			steps:  []step{{text: "", invalid: 1}, {text: goodText}},
			logged: map[string]int{"no such file or directory": 1},
		},
		"Fixed": {
			reason: "any valid content ends the invalid state",
			steps:  []step{{text: wrongText, invalid: 1}, {text: changedText, invalid: 1, stopped: true}},
			logged: map[string]int{"keeping the one in use": 1, "stopping so that it takes effect": 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			defer klog.CaptureState().Restore()
			synctest.Test(t, func(t *testing.T) {
				w := watch(t)
				defer w.life.stop()
				synctest.Wait()
				for i, s := range tc.steps {
					w.replace(t, s.text)
					if invalid := w.invalid(t); invalid != s.invalid || w.stopped() != s.stopped {
						t.Errorf("%s: step %d: metric is %v, stopped %t; want %+v", tc.reason, i, invalid, w.stopped(), s)
					}
				}
				klog.Flush()
				for text, want := range tc.logged {
					if n := strings.Count(w.log.String(), text); n != want {
						t.Errorf("%s: %q is %d times in the log, want %d:\n%s", tc.reason, text, n, want, &w.log)
					}
				}
			})
		})
	}
}
