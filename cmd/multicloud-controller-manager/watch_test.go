package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

// watched is a cloud-config that is watched in a synctest bubble.
type watched struct {
	path     string
	life     *lifetime
	registry kmetrics.KubeRegistry
	log      bytes.Buffer

	leads atomic.Bool
	// mu guards what follows.
	mu       sync.Mutex
	proofs   []string // the cities that were proven
	warnings []string
	taken    int
	failure  error // of all proofs
	loggedIn bool  // the running cloud has logged in with the credentials of the file
}

const (
	goodText    = "[Place]\ncity = Ulm\n"
	changedText = "[Place]\ncity = Bonn\n"
	secretText  = "[Place]\ncity = Ulm\npassword = new\n"
	tunedText   = secretText + "[Controllers]\nkube-api-qps = 7\n"
	refusedText = "[Place]\ncity = Rome\n"
	wrongText   = "[Place]\ncity = Atlantis\n"
)

func watch(t *testing.T, leads bool) *watched {
	t.Helper()
	w := &watched{path: filepath.Join(t.TempDir(), "cloud.conf"), life: &lifetime{}, registry: kmetrics.NewKubeRegistry()}
	w.life.ctx, w.life.stop = context.WithCancel(t.Context())
	w.leads.Store(leads)
	replace(t, w.path, goodText)
	choose := func(path string) (choice, error) {
		return choose(testProviders(), path, config.Flag{Value: plainName, Set: true}, config.WithFiles)
	}
	inUse, err := choose(w.path)
	if err != nil {
		t.Fatal(err)
	}
	w.captureLog(t)
	watcher := &watcher{
		life: w.life, recorder: metrics.NewSet(w.registry, clock.RealClock{}).Recorder(plainName), inUse: inUse,
		choose: choose, leads: w.leads.Load, prove: w.prove, rotator: w,
		warn: func(refusal error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.warnings = append(w.warnings, refusal.Error())
		},
	}
	go watcher.run(w.life.ctx)

	return w
}

// prove is a proof in a cloud that refuses Rome.
func (w *watched) prove(_ context.Context, chosen choice) (provider.Proof, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	city := cityOf(chosen.file)
	w.proofs = append(w.proofs, city)
	switch {
	case w.failure != nil:
		return provider.Proof{LoginRefused: errors.Is(w.failure, apierr.ErrDenied)}, w.failure
	case city == "Rome":
		return provider.Proof{LoginRefused: true}, apierr.Mark(apierr.ErrDenied, errors.New("wrong password"))
	}

	return provider.Proof{Scope: city}, nil
}

// LoggedIn implements provider.Rotator.
func (w *watched) LoggedIn(context.Context, *config.File) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.loggedIn
}

// Takes implements provider.Rotator with the credentials of the same city.
func (w *watched) Takes(_ context.Context, file *config.File, proof provider.Proof) bool {
	if cityOf(file) != "Ulm" || proof.Scope != "Ulm" {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken++

	return true
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
	time.Sleep(standbyJitter + 2*watchPeriod)
	synctest.Wait()
}

// problem is the reason whose series is 1, empty if none is.
func (w *watched) problem(t *testing.T) string {
	t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series, reason := 0, ""
	for _, family := range families {
		if family.GetName() != "multicloud_ccm_config_file_invalid" {
			continue
		}
		for _, metric := range family.GetMetric() {
			series++
			if metric.GetGauge().GetValue() == 1 {
				reason += metric.GetLabel()[1].GetValue()
			}
		}
	}
	if series != 3 {
		t.Fatalf("there are %d series", series)
	}

	return reason
}

func (w *watched) stopped() bool { return errors.Is(w.life.ctx.Err(), context.Canceled) }

// step changes the file, and is what follows.
type step struct {
	text    string
	problem string
	stopped bool
}

type watchCase struct {
	reason  string
	standby bool
	steps   []step
	proofs  []string
	// taken is how often the provider took credentials, and warned how many Events there are.
	taken, warned int
	// logged counts the texts of the log.
	logged map[string]int
}

func watchCases() map[string]watchCase {
	const kept, stops = "keeping the one in use", "stopping so that it takes effect"

	return map[string]watchCase{
		"Same": {reason: "rewritten with the same content", steps: []step{{text: goodText}}},
		"Changed": {
			reason: "content that is proven causes a restart", steps: []step{{text: changedText, stopped: true}}, proofs: []string{"Bonn"},
			logged: map[string]int{stops: 1},
		},
		"Standby": {
			reason: "a standby restarts without a login", standby: true, steps: []step{{text: refusedText, stopped: true}},
			logged: map[string]int{stops: 1},
		},
		"StandbyWrong": {reason: "not with invalid content", standby: true, steps: []step{{text: wrongText, problem: "invalid"}}, logged: map[string]int{kept: 1}},
		"Refused": {
			reason: "refused content is proven once, and reported once", steps: []step{{text: refusedText, problem: "refused"}, {text: refusedText, problem: "refused"}},
			proofs: []string{"Rome"}, warned: 1, logged: map[string]int{kept: 1, "wrong password": 1},
		},
		"RefusedAndBack": {
			reason: "the former content is no problem", steps: []step{{text: refusedText, problem: "refused"}, {text: goodText}},
			proofs: []string{"Rome"}, warned: 1, logged: map[string]int{kept: 1},
		},
		"RefusedAndGone": {
			reason: "a file that is missing for a while is not proven again",
			steps:  []step{{text: refusedText, problem: "refused"}, {text: "", problem: "invalid"}, {text: refusedText, problem: "refused"}},
			proofs: []string{"Rome"}, warned: 1, logged: map[string]int{kept: 3},
		},
		"RefusedAndFixed": {
			reason: "other content is proven", steps: []step{{text: refusedText, problem: "refused"}, {text: changedText, stopped: true}},
			proofs: []string{"Rome", "Bonn"}, warned: 1, logged: map[string]int{kept: 1, stops: 1},
		},
		"Credentials": {
			reason: "the provider takes credentials without a restart, and can go back", steps: []step{{text: secretText}, {text: secretText}, {text: goodText}},
			proofs: []string{"Ulm", "Ulm"}, taken: 2, logged: map[string]int{"replace those in use": 2},
		},
		"Settings": {
			reason: "other settings change as well", steps: []step{{text: tunedText, stopped: true}}, proofs: []string{"Ulm"}, logged: map[string]int{stops: 1},
		},
		"Wrong": {
			reason: "invalid content is reported once; the original content is valid again",
			steps:  []step{{text: wrongText, problem: "invalid"}, {text: wrongText, problem: "invalid"}, {text: goodText}},
			logged: map[string]int{kept: 1, "cloud.conf:2:1": 1},
		},
		"WrongAgain": {
			reason: "content that is fixed and then invalid again is reported again",
			steps:  []step{{text: wrongText, problem: "invalid"}, {text: goodText}, {text: wrongText, problem: "invalid"}},
			logged: map[string]int{kept: 2},
		},
		"WrongOtherwise": {
			reason: "another cause is reported", steps: []step{{text: wrongText, problem: "invalid"}, {text: "[", problem: "invalid"}},
			logged: map[string]int{kept: 2},
		},
		"Gone": {
			reason: "a missing file is invalid and does not end the process",
			steps:  []step{{text: "", problem: "invalid"}, {text: goodText}}, logged: map[string]int{"no such file or directory": 1},
		},
		"Fixed": {
			reason: "content that is proven ends the invalid state", steps: []step{{text: wrongText, problem: "invalid"}, {text: changedText, stopped: true}},
			proofs: []string{"Bonn"}, logged: map[string]int{kept: 1, stops: 1},
		},
	}
}

// A file that is larger than a Secret can be is not read: it is invalid.
func TestWatchConfigOfLargeFile(t *testing.T) {
	defer klog.CaptureState().Restore()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, true)
		defer w.life.stop()
		synctest.Wait()
		if err := os.Truncate(w.path, 1<<40); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * watchPeriod)
		synctest.Wait()
		if w.problem(t) != "invalid" || w.stopped() {
			t.Errorf("problem %q, stopped %t", w.problem(t), w.stopped())
		}
		w.wantLogged(t, map[string]int{"larger than": 1})
	})
}

// FW-CONFIG-11, FW-CONFIG-15, FW-CONFIG-16. The log is the process's, so these tests are not parallel.
func TestWatchConfig(t *testing.T) {
	for name, tc := range watchCases() {
		t.Run(name, func(t *testing.T) {
			defer klog.CaptureState().Restore()
			synctest.Test(t, func(t *testing.T) {
				w := watch(t, !tc.standby)
				defer w.life.stop()
				synctest.Wait()
				for i, s := range tc.steps {
					w.replace(t, s.text)
					if problem := w.problem(t); problem != s.problem || w.stopped() != s.stopped {
						t.Errorf("%s: step %d: problem %q, stopped %t; want %+v", tc.reason, i, problem, w.stopped(), s)
					}
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				if diff := cmp.Diff(tc.proofs, w.proofs); diff != "" || w.taken != tc.taken || len(w.warnings) != tc.warned {
					t.Errorf("%s: taken %d times, warnings %q, proofs (-want +got):\n%s", tc.reason, w.taken, w.warnings, diff)
				}
				w.wantLogged(t, tc.logged)
			})
		})
	}
}

// wantLogged counts texts in the log.
func (w *watched) wantLogged(t *testing.T, want map[string]int) {
	t.Helper()
	klog.Flush()
	for text, want := range want {
		if n := strings.Count(w.log.String(), text); n != want {
			t.Errorf("%q is %d times in the log, want %d:\n%s", text, n, want, &w.log)
		}
	}
}

// FW-CONFIG-15: as long as nothing certain is known, a changed file is proven again and again, each
// time after a longer time, and the process keeps running.
func TestWatchConfigUnproven(t *testing.T) {
	for name, failure := range map[string]error{
		"NoResponse":  apierr.Mark(apierr.ErrUnavailable, errors.New("no response")),
		"NoMeaning":   errors.New("no response"),
		"Quota":       apierr.Mark(apierr.ErrQuota, errors.New("no response")),
		"LateRefusal": fmt.Errorf("no response: %w", errors.Join(context.DeadlineExceeded, apierr.ErrDenied)),
	} {
		t.Run(name, func(t *testing.T) {
			defer klog.CaptureState().Restore()
			synctest.Test(t, func(t *testing.T) {
				w := watch(t, true)
				defer w.life.stop()
				synctest.Wait()
				w.fail(failure)
				w.replace(t, changedText)
				time.Sleep(time.Hour)
				synctest.Wait()
				// After 5, 10, 20 … 300 s, with up to 10 percent more and the period of the watch.
				if n := w.fail(nil); n < 14 || n > 20 || w.stopped() || w.problem(t) != "unproven" || len(w.warnings) > 0 {
					t.Errorf("%d proofs in an hour, stopped %t, problem %q, warnings %q", n, w.stopped(), w.problem(t), w.warnings)
				}
				time.Sleep(6 * time.Minute)
				synctest.Wait()
				if !w.stopped() {
					t.Error("the cloud responds, and the file has no effect")
				}
				w.wantLogged(t, map[string]int{"no response": 1})
			})
		})
	}
}

// fail sets the error of all proofs, and returns how many there were.
func (w *watched) fail(failure error) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failure = failure

	return len(w.proofs)
}

// FW-CONFIG-20: credentials that are refused at first, since they reach the file before the cloud, are
// proven again once the running cloud has logged in with them, and only once.
func TestWatchConfigRotated(t *testing.T) {
	denied := apierr.Mark(apierr.ErrDenied, errors.New("wrong password"))
	for name, tc := range map[string]struct {
		reason, text, problem string
		refused               error // of the first proof, denied if it is nil
		before                bool  // the running cloud has logged in with them before
		then                  error // of the proof after the login
		proofs, taken         int
		stopped               bool
	}{
		"Accepted":   {reason: "they are in use", text: secretText, proofs: 2, taken: 1},
		"Settings":   {reason: "a changed setting takes effect as well: the process ends", text: tunedText, problem: "refused", proofs: 2, stopped: true},
		"StillWrong": {reason: "something else is wrong", text: secretText, then: denied, problem: "refused", proofs: 2},
		"Other":      {reason: "the login was not refused", text: secretText, refused: apierr.Mark(apierr.ErrNotFound, errors.New("no region")), problem: "refused", proofs: 1},
		"Same":       {reason: "something else was wrong", text: secretText, before: true, problem: "refused", proofs: 1},
		"Unanswered": {
			reason: "no response is no refusal", text: secretText, then: apierr.Mark(apierr.ErrUnavailable, errors.New("no response")),
			problem: "unproven", proofs: 5,
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer klog.CaptureState().Restore()
			synctest.Test(t, func(t *testing.T) {
				w := watch(t, true)
				defer w.life.stop()
				synctest.Wait()
				w.logIn(tc.before)
				if tc.refused == nil {
					tc.refused = denied
				}
				w.fail(tc.refused)
				w.replace(t, tc.text)
				time.Sleep(time.Hour)
				synctest.Wait()
				if n := w.fail(tc.then); n != 1 || w.problem(t) != "refused" {
					t.Errorf("%s: %d proofs of refused content, problem %q", tc.reason, n, w.problem(t))
				}
				w.logIn(true)
				time.Sleep(time.Minute)
				synctest.Wait()
				if n := w.fail(nil); n != tc.proofs || w.taken != tc.taken || w.stopped() != tc.stopped || w.problem(t) != tc.problem || len(w.warnings) != 1 {
					t.Errorf("%s: %d proofs, taken %d times, stopped %t, problem %q, warnings %q", tc.reason, n, w.taken, w.stopped(), w.problem(t), w.warnings)
				}
			})
		})
	}
}

// logIn sets whether the running cloud has logged in with the credentials of the file.
func (w *watched) logIn(loggedIn bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loggedIn = loggedIn
}

// FW-CONFIG-11: standbys restart at different times, and one that leads by then proves the file.
func TestWatchConfigOfStandbys(t *testing.T) {
	defer klog.CaptureState().Restore()
	synctest.Test(t, func(t *testing.T) {
		late := 0
		for range 20 {
			w := watch(t, false)
			synctest.Wait()
			replace(t, w.path, changedText)
			time.Sleep(watchPeriod + standbyJitter/2)
			synctest.Wait()
			if !w.stopped() {
				late++
				w.leads.Store(true)
			}
			time.Sleep(standbyJitter)
			synctest.Wait()
			if n := w.fail(nil); !w.stopped() || n > 0 != w.leads.Load() {
				t.Errorf("stopped %t, leads %t, %d proofs", w.stopped(), w.leads.Load(), n)
			}
		}
		if late == 0 || late == 20 {
			t.Errorf("%d of 20 standbys restarted later than others", late)
		}
	})
}
