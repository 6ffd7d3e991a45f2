package providertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	cloudprovider "k8s.io/cloud-provider"
	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

// recorder keeps what a test fails with.
type recorder struct {
	testing.TB

	mu     sync.Mutex
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// cloud is a provider with one goroutine and one session.
type cloud struct {
	cloudprovider.Interface

	*provider.Background
	fixture *fixture
	cycle   int32
}

// fixture is what is left of clouds, and how they fail.
type fixture struct {
	mutant   string
	made     atomic.Int32
	sessions atomic.Int32
	leaked   chan struct{}
}

func (w *fixture) newCloud() (Cloud, error) {
	if w.mutant == "factory" {
		return nil, errors.New("no cloud")
	}

	return &cloud{Background: provider.NewBackground(), fixture: w, cycle: w.made.Add(1)}, nil
}

func (c *cloud) Initialize(builder cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	c.Start(stop, func() {
		c.fixture.sessions.Add(1)
		c.Go(func(ctx context.Context) {
			<-ctx.Done()
			if c.fixture.mutant != "session" {
				c.fixture.sessions.Add(-1)
			}
		})
		switch c.fixture.mutant {
		case "goroutine":
			go func() { <-c.fixture.leaked }()
		case "registration":
			legacyregistry.MustRegister(kmetrics.NewCounter(&kmetrics.CounterOpts{Name: fmt.Sprintf("cycle_%d", c.cycle)}))
		case "watch":
			c.watch(context.Background(), builder)
		default:
			c.Go(func(ctx context.Context) { c.watch(ctx, builder) })
		}
	})
}

// watch opens a watch that ends with its context, and closes it only then.
func (c *cloud) watch(ctx context.Context, builder cloudprovider.ControllerClientBuilder) {
	kube, err := builder.Client("test")
	if err != nil {
		return
	}
	opened, err := kube.CoreV1().RESTClient().Get().Namespace("kube-system").Resource("secrets").
		VersionedParams(&metav1.ListOptions{Watch: true}, scheme.ParameterCodec).Stream(ctx)
	if err != nil {
		return
	}
	if c.fixture.mutant != "watch" {
		<-ctx.Done()
		_ = opened.Close()
	}
}

func (w *fixture) left() []string {
	if n := w.sessions.Load(); n != 0 {
		return []string{fmt.Sprintf("%d sessions", n)}
	}

	return nil
}

// A broken provider is found out, and one that works is not. Goroutines count, so
// that nothing here is parallel.
func TestRun(t *testing.T) {
	for mutant, want := range map[string]string{
		"none":         "",
		"factory":      "no cloud",
		"goroutine":    "left in the process",
		"session":      "left at the simulated cloud",
		"watch":        "left at the Kubernetes API: watches of",
		"registration": "series of metrics",
	} {
		t.Run(mutant, func(t *testing.T) {
			w := &fixture{mutant: mutant, leaked: make(chan struct{})}
			defer close(w.leaked)
			r := &recorder{TB: t}
			Run(r, Lifecycle{New: w.newCloud, Use: func(context.Context, Cloud) error { return nil }, Left: w.left})
			found := strings.Join(r.errors, "\n")
			if want == "" && found != "" || !strings.Contains(found, want) {
				t.Errorf("got %q, want %q", found, want)
			}
		})
	}
}

func TestKubernetes(t *testing.T) {
	t.Parallel()
	k := &Kubernetes{Secrets: []v1.Secret{{ObjectMeta: metav1.ObjectMeta{Name: "credentials"}}}}
	kube, err := k.Client("test")
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := kube.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(secrets.Items) != 1 || secrets.Items[0].Name != "credentials" {
		t.Errorf("Secrets %v, %v", secrets, err)
	}
	event, err := kube.CoreV1().Events("default").Create(t.Context(), &v1.Event{ObjectMeta: metav1.ObjectMeta{Name: "event"}}, metav1.CreateOptions{})
	if err != nil || event.Name != "event" {
		t.Errorf("Event %v, %v", event, err)
	}
	if _, err := kube.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{}); err == nil {
		t.Error("a Node was found")
	}
	watch, err := kube.CoreV1().Secrets("kube-system").Watch(t.Context(), metav1.ListOptions{})
	if err != nil || len(k.Watches()) != 1 {
		t.Fatalf("watches %q, %v", k.Watches(), err)
	}
	watch.Stop()
	for range watch.ResultChan() { // until it is closed
	}
	if open := k.Watches(); len(open) != 0 {
		t.Errorf("watches %q after the end", open)
	}
}
