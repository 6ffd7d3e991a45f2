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
	// stopTimeout bounds how long startup may continue after a stop.
	stopTimeout = 20 * time.Second
)

// lifetime logs out of the cloud before the process exits, for every cause: a
// signal, a changed cloud-config, a lost lease, a fatal error.
type lifetime struct {
	ctx  context.Context //nolint:containedctx // it is the lifetime of the process
	stop context.CancelFunc

	mu    sync.Mutex
	cloud provider.Closer
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

// exit ends the process after logging out. It does not return.
func (l *lifetime) exit(code int) {
	l.closeCloud()
	os.Exit(code)
}

// closeCloud logs out of the cloud, once. A second call waits for the first, or
// the process would end before the logout has.
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
