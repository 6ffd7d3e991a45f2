package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/test/loopback"
	"github.com/multicloud-ccm/multicloud-ccm/test/process"
)

// Options adapts a control plane. The zero value suits most callers.
type Options struct {
	// Dir holds data, keys, kubeconfigs, and the logs etcd.log and
	// kube-apiserver.log. It must be empty or missing, and stays after Stop.
	// Default: a temporary directory that Stop removes.
	Dir string

	// ExtraAPIServerArgs come after the control plane's own: the last one of a
	// flag wins, and flags that take lists add up.
	ExtraAPIServerArgs []string
}

// ControlPlane is a running etcd with a running kube-apiserver. All methods may
// be called from many goroutines.
type ControlPlane struct {
	dir        string
	temporary  bool
	port       *loopback.Port
	admin      *rest.Config
	client     kubernetes.Interface
	kubeconfig string

	etcd      *process.Process
	apiServer *process.Process

	stopOnce sync.Once
	stopErr  error
}

// Start runs etcd and kube-apiserver and returns when the API server is ready
// and holds what the package promises, which takes 3 seconds on two idle cores. It
// waits while they make progress and the context has not ended, which bounds the
// start alone: a control plane that has started runs until Stop. After an error
// nothing is left running.
func Start(ctx context.Context, opts Options) (*ControlPlane, error) {
	etcd, etcdErr := Locate("etcd")
	apiServer, apiServerErr := Locate("kube-apiserver")
	if err := errors.Join(etcdErr, apiServerErr); err != nil {
		return nil, fmt.Errorf("start control plane: %w", err)
	}

	began := time.Now()
	cp := &ControlPlane{}
	if err := cp.start(ctx, opts, etcd, apiServer); err != nil {
		err = errors.Join(err, cp.clear(context.WithoutCancel(ctx)))

		return nil, fmt.Errorf("start control plane: %w", err)
	}
	klog.FromContext(ctx).V(2).Info("Started control plane", "server", cp.admin.Host, "took", time.Since(began).Round(time.Millisecond))

	return cp, nil
}

func (cp *ControlPlane) start(ctx context.Context, opts Options, etcd, apiServer string) error {
	if err := cp.prepare(opts.Dir); err != nil {
		return err
	}
	var err error
	if cp.etcd, err = startProcess("etcd", etcd, cp.dir, etcdArgs()); err != nil {
		return err
	}
	if err := cp.await(ctx, cp.etcd, etcdReady(cp.dir)); err != nil {
		return err
	}
	args := append(apiServerArgs(cp.port), opts.ExtraAPIServerArgs...)
	if cp.apiServer, err = startProcess("kube-apiserver", apiServer, cp.dir, args); err != nil {
		return err
	}

	return cp.await(ctx, cp.apiServer, apiServerReady(cp.client))
}

// prepare makes the directory and everything in it that the processes and the
// admin need.
func (cp *ControlPlane) prepare(dir string) error {
	if err := cp.makeDir(dir); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	var err error
	if cp.port, err = loopback.Reserve(loopback.Any); err != nil {
		return err
	}
	creds, err := writeCredentials(cp.dir, cp.port.IP())
	if err != nil {
		return err
	}
	cp.admin = adminConfig(cp.port, creds)
	if cp.client, err = kubernetes.NewForConfig(cp.admin); err != nil {
		return fmt.Errorf("make admin client: %w", err)
	}
	cp.kubeconfig = filepath.Join(cp.dir, "admin.kubeconfig")

	return writeKubeconfig(cp.kubeconfig, cp.admin)
}

func (cp *ControlPlane) makeDir(dir string) error {
	var err error
	if dir == "" {
		cp.temporary = true
		cp.dir, err = os.MkdirTemp("", "controlplane-")

		return err
	}
	if cp.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(cp.dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(cp.dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty", cp.dir)
	}

	return nil
}

// Stop ends both processes and returns when they are gone. They are killed if they make
// no progress, or when the context ends.
// It is an error if one of them had ended before, or had to be killed. A second
// call returns what the first one did.
func (cp *ControlPlane) Stop(ctx context.Context) error {
	cp.stopOnce.Do(func() {
		cp.stopErr = errors.Join(cp.failure(), cp.clear(ctx))
	})
	if cp.stopErr != nil {
		return fmt.Errorf("stop control plane: %w", cp.stopErr)
	}

	return nil
}

// clear releases whatever start acquired.
func (cp *ControlPlane) clear(ctx context.Context) error {
	var errs []error
	for _, p := range cp.processes() {
		errs = append(errs, p.Stop(ctx))
	}
	if cp.port != nil {
		errs = append(errs, cp.port.Release())
	}
	if cp.temporary && cp.dir != "" {
		errs = append(errs, os.RemoveAll(cp.dir))
	}

	return errors.Join(errs...)
}

// processes lists what has been started, in the order to stop it.
func (cp *ControlPlane) processes() []*process.Process {
	started := []*process.Process{cp.apiServer, cp.etcd}

	return slices.DeleteFunc(started, func(p *process.Process) bool { return p == nil })
}

// failure describes the processes that ended without being stopped.
func (cp *ControlPlane) failure() error {
	var errs []error
	for _, p := range cp.processes() {
		errs = append(errs, p.Failure())
	}

	return errors.Join(errs...)
}

// APIServerPID returns the process ID of the API server.
func (cp *ControlPlane) APIServerPID() int { return cp.apiServer.PID() }

// PauseAPIServer suspends the API server: connections stay open and there is no
// response, as in a network partition. ResumeAPIServer ends that.
func (cp *ControlPlane) PauseAPIServer() error {
	return cp.apiServer.Signal(syscall.SIGSTOP)
}

// ResumeAPIServer resumes a paused API server.
func (cp *ControlPlane) ResumeAPIServer() error {
	return cp.apiServer.Signal(syscall.SIGCONT)
}

// Client returns a client for everything, without limits of its own.
func (cp *ControlPlane) Client() kubernetes.Interface {
	return cp.client
}

// RESTConfig returns the admin's configuration: member of system:masters, no
// client-side rate limit. The copy is the caller's.
func (cp *ControlPlane) RESTConfig() *rest.Config {
	return rest.CopyConfig(cp.admin)
}

// Kubeconfig returns the path of the admin's kubeconfig, which Stop removes
// together with a temporary directory.
func (cp *ControlPlane) Kubeconfig() string {
	return cp.kubeconfig
}

// Dir returns the absolute path of the control plane's directory.
func (cp *ControlPlane) Dir() string {
	return cp.dir
}
