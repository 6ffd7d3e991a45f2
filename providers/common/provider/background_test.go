package provider_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

func TestBackgroundEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		end    func(b *provider.Background, stopped chan struct{})
	}{
		"Stop":    {"Stop ends the work", func(b *provider.Background, _ chan struct{}) { b.Stop() }},
		"Stopped": {"the channel of Initialize ends the work", func(_ *provider.Background, stopped chan struct{}) { close(stopped) }},
		"Close":   {"Close alone ends the work and what waits for the channel", func(*provider.Background, chan struct{}) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A bubble fails if a goroutine is left.
			synctest.Test(t, func(t *testing.T) {
				b, stopped := provider.NewBackground(), make(chan struct{})
				var starts, ended atomic.Int32
				start := func() {
					starts.Add(1)
					b.Go(func(ctx context.Context) {
						<-ctx.Done()
						ended.Add(1)
					})
				}
				b.Start(stopped, start)
				b.Start(stopped, start)
				synctest.Wait()
				if starts.Load() != 1 || ended.Load() != 0 {
					t.Fatalf("%s: started %d times, ended %d", tc.reason, starts.Load(), ended.Load())
				}
				tc.end(b, stopped)
				synctest.Wait()
				if err := b.Close(t.Context()); err != nil || ended.Load() != 1 {
					t.Errorf("%s: Close returned %v with %d ended", tc.reason, err, ended.Load())
				}
				b.Go(func(context.Context) { t.Errorf("%s: work started after Close", tc.reason) })
				if err := b.Close(t.Context()); err != nil {
					t.Errorf("%s: the second Close returned %v", tc.reason, err)
				}
			})
		})
	}
}

// Work may start more work until Close, and none after it.
func TestBackgroundWorkStartsWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := provider.NewBackground()
		var inner atomic.Bool
		b.Go(func(ctx context.Context) {
			b.Go(func(ctx context.Context) {
				<-ctx.Done()
				inner.Store(true)
			})
			<-ctx.Done()
			b.Go(func(context.Context) { t.Error("work started after Close") })
		})
		synctest.Wait()
		if err := b.Close(t.Context()); err != nil || !inner.Load() {
			t.Errorf("Close returned %v, with the inner work ended %t", err, inner.Load())
		}
	})
}

func TestBackgroundCloseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, stuck := provider.NewBackground(), make(chan struct{})
		b.Go(func(context.Context) { <-stuck })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Close(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("work is still running and Close returned %v", err)
		}
		close(stuck)
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestBackgroundRecorder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, kube := provider.NewBackground(), kubetest.NewClientset()
		events := func() []v1.Event {
			synctest.Wait()
			list, err := kube.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}

			return list.Items
		}
		recorder := b.Recorder(kube, "provider")
		recorder.Event(kubetest.Node("node-1"), v1.EventTypeWarning, "Test", "text")
		if all := events(); len(all) != 1 || all[0].Source.Component != "provider" || all[0].Reason != "Test" {
			t.Errorf("Events %+v", all)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		recorder.Event(kubetest.Node("node-1"), v1.EventTypeWarning, "Late", "text")
		b.Recorder(kube, "provider").Event(kubetest.Node("node-1"), v1.EventTypeWarning, "Late", "text")
		if all := events(); len(all) != 1 {
			t.Errorf("an Event was written after Close: %+v", all)
		}
	})
}
