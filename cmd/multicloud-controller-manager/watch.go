package main

import (
	"context"
	"math/rand/v2"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

const (
	// watchPeriod is how often the cloud-config is read. Reading the file works for every way
	// of mounting it, where file events do not.
	watchPeriod = 2 * time.Second
	// standbyJitter is the longest time after which a standby restarts with a changed file,
	// so that standbys do not restart at once.
	standbyJitter = 10 * time.Second
)

// watcher makes a changed cloud-config take effect: the provider replaces its credentials, or the
// process ends and starts again with the file, even for another provider. The leader proves the
// file before. With one that cannot be used the process keeps running.
type watcher struct {
	life     *lifetime
	recorder *metrics.Recorder
	inUse    choice
	// choose checks the file offline.
	choose func(path string) (choice, error)
	// leads reports whether this process leads: no other one logs in to the cloud.
	leads func() bool
	// prove proves a file, and warn tells users that the cloud has refused it.
	prove func(context.Context, choice) (provider.Proof, error)
	warn  func(refusal error)
	// rotator is the running cloud if it replaces its credentials while it runs, otherwise nil.
	rotator provider.Rotator

	// changed is the valid file that is not in use, nil if there is none.
	changed *changedFile
	// reported is the last problem in the log.
	reported string
}

// changedFile is a valid file that is not in use.
type changedFile struct {
	file    *config.File
	next    time.Time // when something is done about it
	backoff wait.Backoff
	refusal error
	// loggedIn reports whether the refusal is not about the login: it has another cause, or the
	// running cloud had logged in with the same credentials.
	loggedIn bool
}

// run watches the file until ctx ends.
func (w *watcher) run(ctx context.Context) { wait.UntilWithContext(ctx, w.check, watchPeriod) }

// check reads the file once.
func (w *watcher) check(ctx context.Context) {
	path := w.inUse.file.Path
	data, err := config.ReadFile(path)
	if err == nil && w.inUse.file.Same(data) {
		if w.changed != nil {
			w.loggedIn(ctx, w.inUse.file) // the credentials of the other file are no longer tried
		}
		w.changed = nil
		w.report(metrics.ConfigOK, nil)

		return
	}
	if err == nil && w.changed != nil && w.changed.file.Same(data) && w.waits(ctx) {
		return
	}
	var chosen choice
	if err == nil {
		chosen, err = w.choose(path)
	}
	switch {
	case err != nil:
		w.report(metrics.ConfigInvalid, err)
	case !chosen.file.Same(data): // it is being changed
	case w.changed == nil || !w.changed.file.Same(data):
		w.begin(ctx, chosen)
	default:
		w.apply(ctx, chosen)
	}
}

// waits reports whether nothing is done about the changed file now. Refused content is not proven
// again before the running cloud has logged in with its credentials: they were changed in the cloud
// after the file.
func (w *watcher) waits(ctx context.Context) bool {
	c := w.changed
	switch {
	case c.refusal == nil:
		return time.Now().Before(c.next)
	case !c.loggedIn && w.loggedIn(ctx, c.file):
		c.refusal = nil

		return false
	}
	w.report(metrics.ConfigRefused, c.refusal)

	return true
}

// loggedIn reports whether the running cloud has logged in with the credentials of a file.
func (w *watcher) loggedIn(ctx context.Context, file *config.File) bool {
	return w.rotator != nil && w.rotator.LoggedIn(ctx, file)
}

// takes reports whether the running cloud replaces its credentials with those of a file that was
// proven.
func (w *watcher) takes(ctx context.Context, file *config.File, proof provider.Proof) bool {
	return w.rotator != nil && w.rotator.Takes(ctx, file, proof)
}

// begin applies a new file: the leader does so at once, and a standby at another time than others.
func (w *watcher) begin(ctx context.Context, chosen choice) {
	w.changed = &changedFile{
		file: chosen.file, backoff: wait.Backoff{Duration: 5 * time.Second, Factor: 2, Jitter: 0.1, Steps: 7, Cap: 5 * time.Minute},
	}
	w.report(metrics.ConfigOK, nil)
	if w.leads() {
		w.apply(ctx, chosen)

		return
	}
	w.changed.next = time.Now().Add(rand.N(standbyJitter))
}

// apply makes a valid file take effect, which a leader proves before.
func (w *watcher) apply(ctx context.Context, chosen choice) {
	if !w.leads() {
		w.restart()

		return
	}
	proof, err := w.prove(ctx, chosen)
	switch {
	case ctx.Err() != nil:
	case provider.Unanswered(err):
		w.changed.next = time.Now().Add(w.changed.backoff.Step())
		w.report(metrics.ConfigUnproven, err)
	case err != nil:
		w.changed.refusal, w.changed.loggedIn = err, !proof.LoginRefused || w.loggedIn(ctx, chosen.file)
		if w.report(metrics.ConfigRefused, err) {
			w.warn(err)
		}
	case !isContent(chosen.file): // another one is to be proven
	case reflect.DeepEqual(w.inUse.settings, chosen.settings) && w.takes(ctx, chosen.file, proof):
		klog.InfoS("Cloud-config changed, its credentials replace those in use", "cloudConfig", chosen.file.Path, "identity", proof.Identity)
		w.inUse, w.changed = chosen, nil
		w.report(metrics.ConfigOK, nil)
	default:
		w.restart()
	}
}

// restart ends the process, which then starts again with the file.
func (w *watcher) restart() {
	klog.InfoS("Cloud-config changed, stopping so that it takes effect", "cloudConfig", w.inUse.file.Path)
	w.life.stop()
}

// isContent reports whether a file still has the content that was parsed.
func isContent(file *config.File) bool {
	data, err := config.ReadFile(file.Path)

	return err == nil && file.Same(data)
}

// report sets the metric, and logs a problem unless it is the last one. It reports whether it has
// logged one.
func (w *watcher) report(problem metrics.ConfigProblem, err error) bool {
	w.recorder.ConfigFile(problem)
	text := ""
	if err != nil {
		text = err.Error()
	}
	isNew := err != nil && text != w.reported
	w.reported = text
	if isNew {
		klog.ErrorS(err, "Cloud-config changed but cannot be used, keeping the one in use", "cloudConfig", w.inUse.file.Path, "problem", problem)
	}

	return isNew
}
