package aws

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// namedBuilder records the names of clients.
type namedBuilder struct {
	cloudprovider.ControllerClientBuilder

	client *kubetest.Clientset
	err    error
	mu     sync.Mutex
	names  []string
}

func (b *namedBuilder) Client(name string) (kubernetes.Interface, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names = append(b.names, name)

	return b.client, b.err
}

// TestInitialize covers AWS-AUTH-6: the source of Events is aws-cloud-provider,
// and a second call, as with leader migration, does nothing. Events are written
// by an account that may.
func TestInitialize(t *testing.T) {
	t.Parallel()
	c := newRegion(t, sim.Options{}).connectOnly(cloudTuning{})
	b := &namedBuilder{client: kubetest.NewClientset()}
	written, err := b.client.CoreV1().Events("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer written.Stop()
	stop := make(chan struct{})
	c.Initialize(b, stop)
	c.Initialize(b, stop)
	if !slices.Equal(b.names, []string{eventClientName}) {
		t.Errorf("clients %v", b.names)
	}
	c.recorder.Event(kubetest.Node("node-1"), v1.EventTypeWarning, "Test", "text")
	select {
	case got := <-written.ResultChan():
		if event, ok := got.Object.(*v1.Event); !ok || event.Source.Component != "aws-cloud-provider" {
			t.Errorf("event %+v", got.Object)
		}
	case <-time.After(5 * time.Minute):
		t.Error("no Event was written")
	}
	stopped := make(chan struct{})
	c.background.Go(func(ctx context.Context) {
		<-ctx.Done()
		close(stopped)
	})
	close(stop)
	<-stopped
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestInitializeWithoutClient checks that only Events are missing then.
func TestInitializeWithoutClient(t *testing.T) {
	t.Parallel()
	c := newRegion(t, sim.Options{}).connectOnly(cloudTuning{})
	c.Initialize(&namedBuilder{err: errors.New("no")}, make(chan struct{}))
	if _, ok := c.InstancesV2(); !ok {
		t.Error("nodes must be served")
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCloseEndsWithItsContext checks that what does not end is reported.
func TestCloseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c := newRegion(t, sim.Options{}).connectOnly(cloudTuning{})
	block := make(chan struct{})
	c.background.Go(func(context.Context) { <-block })
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Close(late); !errors.Is(err, context.Canceled) {
		t.Errorf("a goroutine still runs, and Close returns %v", err)
	}
	close(block)
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// connectOnly makes the provider and does not start it.
func (r *region) connectOnly(t cloudTuning, lines ...string) *cloud {
	r.t.Helper()
	cfg, problems := decode(parseConfig(r.t, r.file(lines...)))
	if err := problems.Err(); err != nil {
		r.t.Fatal(err)
	}
	t.client = impatient
	c, err := newCloudFrom(context.Background(), cfg, t)
	if err != nil {
		r.t.Fatal(err)
	}

	return c
}
