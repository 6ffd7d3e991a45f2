package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	cmconfig "k8s.io/controller-manager/config"
	"k8s.io/klog/v2"
)

// leasesPath is in the path of every request for Leases.
const leasesPath = "/apis/coordination.k8s.io/v1/"

// leases are the Leases of leader election. The framework does not release them and does
// not return the identity that it made up, with which it holds them: so the identity is
// read from the requests that it sends.
type leases struct {
	client coordinationclient.LeasesGetter
	names  map[string]bool // as namespace/name

	mu sync.Mutex
	// holders are the identities that this process holds its Leases by, or has tried to.
	holders map[string]string
}

// newLeases returns the Leases that the settings name, which are released with a client
// of this config.
func newLeases(kubeconfig *rest.Config, settings cmconfig.GenericControllerManagerConfiguration) (*leases, error) {
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(kubeconfig), "leader-election"))
	if err != nil {
		return nil, fmt.Errorf("make the client that releases the lease: %w", err)
	}
	election := settings.LeaderElection
	names := map[string]bool{election.ResourceNamespace + "/" + election.ResourceName: true}
	if settings.LeaderMigrationEnabled {
		names[election.ResourceNamespace+"/"+settings.LeaderMigration.LeaderName] = true
	}

	return &leases{client: client.CoordinationV1(), names: names, holders: map[string]string{}}, nil
}

// observe returns a transport that notes which Leases this process writes.
func (l *leases) observe(next http.RoundTripper) http.RoundTripper {
	return &leaseTransport{RoundTripper: next, leases: l}
}

// leaseTransport passes requests on.
type leaseTransport struct {
	http.RoundTripper
	leases *leases
}

// RoundTrip implements [http.RoundTripper].
func (t *leaseTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.GetBody != nil && strings.Contains(r.URL.Path, leasesPath) {
		if lease, err := bodyOf(r); err == nil {
			t.leases.note(lease)
		}
	}

	return t.RoundTripper.RoundTrip(r)
}

// WrappedRoundTripper implements the interface with which client-go finds the transport
// that others wrap.
func (t *leaseTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// bodyOf returns the Lease that a request has as its body.
func bodyOf(r *http.Request) (*coordinationv1.Lease, error) {
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(body)
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, err
	}
	lease := &coordinationv1.Lease{}
	_, _, err = scheme.Codecs.UniversalDeserializer().Decode(data, nil, lease)

	return lease, err
}

// note keeps the identity that a Lease is written with. Whether it was written is not
// known, but only its holder has this identity.
func (l *leases) note(lease *coordinationv1.Lease) {
	name := lease.Namespace + "/" + lease.Name
	if !l.names[name] || lease.Spec.HolderIdentity == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holders[name] = *lease.Spec.HolderIdentity
}

// release gives up the Leases that this process holds, as leader election of client-go
// does with ReleaseOnCancel: without a holder, and expiring at once. Other processes try
// to take a Lease every --leader-elect-retry-period.
func (l *leases) release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var failed []error
	for name, identity := range l.holders {
		if err := l.releaseOne(ctx, name, identity); err != nil {
			failed = append(failed, fmt.Errorf("release lease %s: %w", name, err))
		}
	}

	return errors.Join(failed...)
}

func (l *leases) releaseOne(ctx context.Context, name, identity string) error {
	namespace, name, _ := strings.Cut(name, "/")
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name},
		Client:     l.client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
	held, _, err := lock.Get(ctx)
	if err != nil || held.HolderIdentity != identity {
		return err
	}
	now := metav1.NewTime(time.Now())
	err = lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now, LeaderTransitions: held.LeaderTransitions,
	})
	if err == nil {
		klog.InfoS("Lease released", "lease", klog.KRef(namespace, name))
	}

	return err
}
