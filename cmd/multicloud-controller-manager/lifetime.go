package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

const (
	// closeTimeout bounds logging out of the cloud.
	closeTimeout = 8 * time.Second
	// kubeTimeout bounds the end of writes to the Kubernetes API, and the release of
	// the lease.
	kubeTimeout = 4 * time.Second
	// stopTimeout bounds how long startup may continue after a stop.
	stopTimeout = 20 * time.Second
)

// lifetime logs out of the cloud before the process exits, for every cause: a
// signal, a changed cloud-config, a lost lease, a fatal error. After a signal and
// a changed cloud-config it releases the lease, too.
type lifetime struct {
	ctx  context.Context //nolint:containedctx // it is the lifetime of the process
	stop context.CancelFunc

	mu       sync.Mutex
	cloud    provider.Closer
	handover *handover
	// endWatch ends the watcher of the cloud-config, nil if there is none.
	endWatch func(context.Context) error
	// closed is created by the first call of closeCloud, which closes it at its end.
	closed chan struct{}
}

// newLifetime handles SIGTERM, SIGINT and the exit of klog. A second signal
// ends the process at once.
func newLifetime() *lifetime {
	l := &lifetime{}
	signaled, unregister := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	l.ctx, l.stop = context.WithCancel(signaled)
	// klog exits with this function on a lost lease and on every fatal error.
	klog.OsExit = l.exit
	context.AfterFunc(signaled, unregister)
	context.AfterFunc(l.ctx, func() {
		time.AfterFunc(stopTimeout, func() {
			klog.ErrorS(nil, "Stopping took too long", "timeout", stopTimeout)
			l.exit(1)
		})
	})

	return l
}

// done is closed when the process is to end.
func (l *lifetime) done() <-chan struct{} {
	return l.ctx.Done()
}

// track registers a cloud whose sessions closeCloud ends.
func (l *lifetime) track(cloud any) {
	closer, ok := cloud.(provider.Closer)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cloud = closer
}

// watch runs the watcher of the cloud-config until closeCloud, which waits for the end of a proof: it
// has a session of its own.
func (l *lifetime) watch(run func(context.Context)) {
	ctx, cancel := context.WithCancel(l.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endWatch = func(within context.Context) error {
		cancel()
		select {
		case <-ended:
			return nil
		case <-within.Done():
			return errors.New("the proof of a changed cloud-config has not ended")
		}
	}
}

// prepareHandover makes handOver release the lease.
func (l *lifetime) prepareHandover(completed *ccmconfig.CompletedConfig) error {
	h, err := newHandover(completed)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handover = h

	return nil
}

// handOver ends the writes of this process, logs out of the cloud and then releases
// the lease. It returns why the lease was not released: another process must not lead
// as long as this one may write, or the cloud may return what was before its writes.
func (l *lifetime) handOver() error {
	l.mu.Lock()
	h := l.handover
	l.mu.Unlock()
	if h == nil {
		l.closeCloud()

		return nil
	}
	drained := bounded(h.drainWrites)
	if closed := l.closeCloud(); drained != nil || !closed {
		return cmp.Or(drained, errors.New("the cloud provider was not closed"))
	}
	if writer, ok := l.cloud.(provider.Writer); ok {
		if age := time.Since(writer.LastWrite()); age < h.settle {
			return fmt.Errorf("the cloud was changed %s ago", age.Round(time.Millisecond))
		}
	}

	return bounded(h.leases.release)
}

// bounded calls the Kubernetes API for a bounded time.
func bounded(call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), kubeTimeout)
	defer cancel()

	return call(ctx)
}

// exit ends the process after logging out. It does not return.
func (l *lifetime) exit(code int) {
	l.closeCloud()
	os.Exit(code)
}

// closeCloud logs out of the cloud, once, and reports whether nothing was left. A second
// call waits for the first, or the process would end before the logout has.
func (l *lifetime) closeCloud() bool {
	l.mu.Lock()
	cloud, endWatch, closed := l.cloud, l.endWatch, l.closed
	first := closed == nil
	if first {
		closed = make(chan struct{})
		l.closed = closed
	}
	l.mu.Unlock()
	if !first {
		select {
		case <-closed:
		case <-time.After(closeTimeout):
		}

		return false
	}
	defer close(closed)

	return logOut(cloud, endWatch)
}

// logOut ends the sessions of the cloud and of a proof at the same time.
func logOut(cloud provider.Closer, endWatch func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var proof, session error
	var all sync.WaitGroup
	if endWatch != nil {
		all.Go(func() { proof = endWatch(ctx) })
	}
	if cloud != nil {
		session = cloud.Close(ctx)
	}
	all.Wait()
	if err := errors.Join(session, proof); err != nil {
		klog.ErrorS(err, "Closing the cloud provider left something behind")

		return false
	}
	if cloud != nil {
		klog.InfoS("Cloud provider closed")
	}

	return true
}
