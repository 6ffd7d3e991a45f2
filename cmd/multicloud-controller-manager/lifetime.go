package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

const (
	// closeTimeout bounds logging out of the cloud.
	closeTimeout = 8 * time.Second
	// stopTimeout bounds how long a stopped process may go on starting up.
	stopTimeout = 20 * time.Second
)

// lifetime ends the process in an orderly way, whatever ends it: a signal, a
// changed cloud-config, a lost lease, a fatal error. Cloud sessions are logged
// out of in every case.
type lifetime struct {
	ctx  context.Context //nolint:containedctx // it is the lifetime of the process
	stop context.CancelFunc

	mu    sync.Mutex
	cloud provider.Closer
	// closed is made by the first who closes the cloud, and closed by it.
	closed chan struct{}
}

// newLifetime takes over SIGTERM, SIGINT and klog's way out. A second signal
// kills.
func newLifetime() *lifetime {
	l := &lifetime{}
	signaled, unregister := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	l.ctx, l.stop = context.WithCancel(signaled)
	// klog leaves through here on a lost lease and on every fatal error.
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

// holds remembers a cloud that has sessions to end.
func (l *lifetime) holds(cloud any) {
	closer, ok := cloud.(provider.Closer)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cloud = closer
}

// exit leaves the process after logging out. It does not return.
func (l *lifetime) exit(code int) {
	l.closeCloud()
	os.Exit(code)
}

// closeCloud logs out of the cloud, once. Whoever comes second waits for the
// first, or the process would be gone before it is logged out.
func (l *lifetime) closeCloud() {
	l.mu.Lock()
	cloud, closed := l.cloud, l.closed
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
		return
	}
	defer close(closed)
	if cloud != nil {
		logOut(cloud)
	}
}

func logOut(cloud provider.Closer) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := cloud.Close(ctx); err != nil {
		klog.ErrorS(err, "Closing the cloud provider left something behind")
		return
	}
	klog.InfoS("Cloud provider closed")
}
