package provider

import (
	"context"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// Background is the work of a cloud that no call waits for, such as change feeds
// and Events. All of it has ended once Close returns nil, and none starts after
// that. It is safe for concurrent use.
//
// It is not for what a single call waits for: that ends with the context of the
// call.
type Background struct {
	start   sync.Once
	running context.Context //nolint:containedctx // Initialize has none to pass on
	stop    context.CancelFunc
	// adding keeps Close from waiting while work is added.
	adding sync.Mutex
	work   sync.WaitGroup
}

// NewBackground returns a Background without work.
func NewBackground() *Background {
	b := &Background{}
	b.running, b.stop = context.WithCancel(context.Background())

	return b
}

// Start calls start, which starts the work of a cloud, and ends the work once
// stopped is closed. Only the first call counts: with leader migration the
// framework initializes a cloud twice.
func (b *Background) Start(stopped <-chan struct{}, start func()) {
	b.start.Do(func() {
		b.Go(func(ctx context.Context) {
			select {
			case <-stopped:
				b.Stop()
			case <-ctx.Done():
			}
		})
		start()
	})
}

// Go runs a function in a goroutine of its own, unless Stop or Close was called
// before. The function must return soon after its context ends.
func (b *Background) Go(run func(ctx context.Context)) {
	b.adding.Lock()
	defer b.adding.Unlock()
	if b.running.Err() == nil {
		b.work.Go(func() { run(b.running) })
	}
}

// Recorder returns a recorder that writes Events until Stop or Close is called.
// Source is the component that Events name as their source.
func (b *Background) Recorder(client kubernetes.Interface, source string) record.EventRecorder {
	broadcaster := record.NewBroadcaster(record.WithContext(b.running))
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	b.Go(func(ctx context.Context) {
		<-ctx.Done()
		broadcaster.Shutdown()
	})

	return broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: source})
}

// Stop ends the context of all work, without waiting for it.
func (b *Background) Stop() {
	b.adding.Lock()
	defer b.adding.Unlock()
	b.stop()
}

// Close stops all work and waits for its end. If ctx ends first, Close returns why.
func (b *Background) Close(ctx context.Context) error {
	b.Stop()
	done := make(chan struct{})
	go func() {
		b.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
