//go:build e2ecluster

package e2ecluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/utils/ptr"
)

const (
	leaseName = "cloud-controller-manager"
	// released is the most that it may take from the release of the Lease to the next leader, whether
	// it tries once more after the retry period of 1 second, to which client-go adds up to 120 percent,
	// or starts meanwhile.
	released = 3 * time.Second
	// expired is the same from the last renewal of a leader that has not released it: until the others
	// have noticed that renewal, the duration of the Lease, and until they try again.
	expired = 21 * time.Second
)

// term is a state of the Lease.
type term struct {
	holder  string // empty when it is released
	began   time.Time
	renewed time.Time
	lasts   time.Duration
	seen    time.Time
}

// election records every change of the Lease.
type election struct {
	mu    sync.Mutex
	terms []term // of which the last one is renewed in place
	done  sync.WaitGroup
}

// follow records the Lease until the test has ended.
func follow(t *testing.T, client kubernetes.Interface) *election {
	t.Helper()
	leases := client.CoordinationV1().Leases(metav1.NamespaceSystem)
	only := func(options metav1.ListOptions) metav1.ListOptions {
		options.FieldSelector = "metadata.name=" + leaseName

		return options
	}
	list, err := leases.List(t.Context(), only(metav1.ListOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(t.Context(), list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return leases.Watch(ctx, only(options))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	e := &election{}
	for i := range list.Items {
		e.add(&list.Items[i])
	}
	e.done.Go(func() {
		for event := range watcher.ResultChan() {
			if lease, ok := event.Object.(*coordinationv1.Lease); ok {
				e.add(lease)
			}
		}
	})
	t.Cleanup(func() {
		watcher.Stop()
		e.done.Wait()
	})

	return e
}

func (e *election) add(lease *coordinationv1.Lease) {
	spec := lease.Spec
	next := term{
		holder: ptr.Deref(spec.HolderIdentity, ""), began: ptr.Deref(spec.AcquireTime, metav1.MicroTime{}).Time,
		renewed: ptr.Deref(spec.RenewTime, metav1.MicroTime{}).Time,
		lasts:   time.Duration(ptr.Deref(spec.LeaseDurationSeconds, 0)) * time.Second, seen: time.Now(),
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if last := len(e.terms) - 1; last >= 0 && e.terms[last].holder == next.holder {
		next.seen, next.began = e.terms[last].seen, e.terms[last].began
		e.terms[last] = next

		return
	}
	e.terms = append(e.terms, next)
}

// now returns all states so far.
func (e *election) now() []term {
	e.mu.Lock()
	defer e.mu.Unlock()

	return append([]term(nil), e.terms...)
}

var errNoLeader = errors.New("there is no leader")

// leader returns the holder of the Lease, or an error if there is none.
func (e *election) leader() (string, error) {
	terms := e.now()
	if len(terms) == 0 || terms[len(terms)-1].holder == "" {
		return "", errNoLeader
	}

	return terms[len(terms)-1].holder, nil
}

// takeover is the change from one leader to another one.
type takeover struct {
	// ended is the last that the first one has written: the release, or a renewal.
	ended    time.Time
	released bool
	began    time.Time
}

func (o takeover) gap() time.Duration { return o.began.Sub(o.ended) }

// after waits for the leader after another one.
func (e *election) after(t *testing.T, old string) takeover {
	t.Helper()
	var found takeover
	await(t, leaderPatience, "a leader after "+old, func(context.Context) error {
		terms := e.now()
		for i := len(terms) - 2; i >= 0; i-- {
			if terms[i].holder != old {
				continue
			}
			found = takeover{ended: terms[i].renewed}
			for _, after := range terms[i+1:] {
				if after.holder != "" {
					found.began = after.seen

					return nil
				}
				found.ended, found.released = after.seen, true
			}
		}

		return errNoLeader
	})

	return found
}

// next is like after, where the next one is there already or is started at once: it must not take longer than
// leader election does.
func (e *election) next(t *testing.T, old string) takeover {
	t.Helper()
	found, limit := e.after(t, old), expired
	if found.released {
		limit = released
	}
	if found.gap() > limit {
		t.Errorf("the next leader had the Lease %s, want %v at most", found, limit)
	}

	return found
}

// wantOne checks that a Lease has never been taken from a leader that had it.
func (e *election) wantOne(t *testing.T) {
	t.Helper()
	terms := e.now()
	for i := 1; i < len(terms); i++ {
		from, to := terms[i-1], terms[i]
		if from.holder == "" || to.holder == "" {
			continue
		}
		if free := from.renewed.Add(from.lasts); to.began.Before(free) {
			t.Errorf("%s led from %v, and %s had the Lease until %v", to.holder, to.began, from.holder, free)
		}
	}
}

func (o takeover) String() string {
	if o.released {
		return fmt.Sprintf("%s after its release", round(o.gap()))
	}

	return fmt.Sprintf("%s after its last renewal", round(o.gap()))
}
