package main

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cmconfig "k8s.io/controller-manager/config"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

const (
	lockNamespace = "kube-system"
	lockName      = "cloud-controller-manager"
)

// election are the default settings of leader election.
func election() cmconfig.GenericControllerManagerConfiguration {
	var settings cmconfig.GenericControllerManagerConfiguration
	settings.LeaderElection.ResourceNamespace, settings.LeaderElection.ResourceName = lockNamespace, lockName

	return settings
}

func lease(namespace, name, holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseTransitions: new(int32(7)), LeaseDurationSeconds: new(int32(15))},
	}
}

// unreachable fails every request.
type unreachable struct{}

var errUnreachable = errors.New("unreachable")

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) { return nil, errUnreachable }

// FW-START-5: a Lease is known by the requests for it, in every encoding, even if the
// response was lost. Leases of providers and of Nodes are not those of leader election.
func TestLeasesAreNoted(t *testing.T) {
	t.Parallel()
	migration := election()
	migration.LeaderMigrationEnabled, migration.LeaderMigration.LeaderName = true, "migration"
	main := map[string]string{lockNamespace + "/" + lockName: "me"}
	cases := map[string]struct {
		reason   string
		settings cmconfig.GenericControllerManagerConfiguration
		lease    *coordinationv1.Lease
		create   bool
		want     map[string]string
	}{
		"renewed":   {"a PUT renews it", election(), lease(lockNamespace, lockName, "me"), false, main},
		"created":   {"a POST creates it", election(), lease(lockNamespace, lockName, "me"), true, main},
		"migration": {"leader migration has a second one", migration, lease(lockNamespace, "migration", "me"), false, map[string]string{lockNamespace + "/migration": "me"}},
		"name":      {"it is a Lease of something else", election(), lease(lockNamespace, "multicloud-ccm-logins-openstack", "me"), false, nil},
		"namespace": {"it is that of a Node", election(), lease("kube-node-lease", lockName, "me"), false, nil},
	}
	for name, tc := range cases {
		for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
			t.Run(name+"/"+contentType, func(t *testing.T) {
				t.Parallel()
				config := &rest.Config{
					Host: "http://localhost", Transport: unreachable{},
					ContentConfig: rest.ContentConfig{ContentType: contentType},
				}
				locks, err := newLeases(config, tc.settings)
				if err != nil {
					t.Fatal(err)
				}
				config.Wrap(locks.observe)
				client, err := kubernetes.NewForConfig(config)
				if err != nil {
					t.Fatal(err)
				}
				write := client.CoordinationV1().Leases(tc.lease.Namespace)
				if tc.create {
					_, err = write.Create(t.Context(), tc.lease.DeepCopy(), metav1.CreateOptions{})
				} else {
					_, err = write.Update(t.Context(), tc.lease.DeepCopy(), metav1.UpdateOptions{})
				}
				if !errors.Is(err, errUnreachable) {
					t.Fatalf("want the error of the transport, got %v", err)
				}
				if len(locks.holders) != len(tc.want) {
					t.Errorf("%s: holders %v, want %v", tc.reason, locks.holders, tc.want)
				}
				for lock, identity := range tc.want {
					if locks.holders[lock] != identity {
						t.Errorf("%s: holders %v, want %v", tc.reason, locks.holders, tc.want)
					}
				}
			})
		}
	}
}

// writer is a cloud that was changed last at a time.
type writer struct {
	closer
	last time.Time
}

func (w *writer) LastWrite() time.Time { return w.last }

// FW-START-5, FW-START-11: the lease is released last, and only by its holder.
func TestHandOver(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		holder   string
		writing  bool          // a write does not end
		logout   error         // of Close
		wrote    time.Duration // since the last write to the cloud
		released bool
		err      bool
	}{
		"leader":   {"everything has ended", "me", false, nil, time.Minute, true, false},
		"reader":   {"nothing was written to the cloud", "me", false, nil, 0, true, false},
		"writer":   {"the cloud may return what was before the write", "me", false, nil, 14 * time.Second, false, true},
		"standby":  {"another process holds it", "another", false, nil, time.Minute, false, false},
		"writing":  {"a write may still change something", "me", true, nil, time.Minute, false, true},
		"sessions": {"the cloud provider may still change something", "me", false, errUnreachable, time.Minute, false, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				kube := kubetest.NewClientset(lease(lockNamespace, lockName, tc.holder))
				h := &handover{settle: 15 * time.Second, leases: &leases{
					client: kube.CoordinationV1(), holders: map[string]string{lockNamespace + "/" + lockName: "me"},
				}}
				cloud := &writer{closer: closer{release: make(chan struct{}), err: tc.logout}}
				close(cloud.release)
				if tc.wrote > 0 {
					cloud.last = time.Now().Add(-tc.wrote)
				}
				life := &lifetime{handover: h, cloud: cloud}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tc.writing {
					startWrite(ctx, t, h)
				}
				if err := life.handOver(); (err != nil) != tc.err {
					t.Errorf("%s: handOver returned %v", tc.reason, err)
				}
				if n := cloud.ended.Load(); n != 1 {
					t.Errorf("the cloud was closed %d times", n)
				}
				wantReleased(t, kube, tc.reason, tc.released)
			})
		})
	}
}

// stuck responds when the context of the request ends.
type stuck struct{}

func (stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()

	return nil, r.Context().Err()
}

// startWrite starts a write that ends with ctx.
func startWrite(ctx context.Context, t *testing.T, h *handover) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPatch, "http://localhost/node", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if res, err := h.writes.Wrap(stuck{}).RoundTrip(r); err == nil {
			t.Error("the write has succeeded", res.Body.Close())
		}
	}()
	synctest.Wait()
}

func wantReleased(t *testing.T, kube *kubetest.Clientset, reason string, want bool) {
	t.Helper()
	now, err := kube.CoordinationV1().Leases(lockNamespace).Get(t.Context(), lockName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	released := now.Spec.HolderIdentity == nil || *now.Spec.HolderIdentity == ""
	if released != want || *now.Spec.LeaseTransitions != 7 {
		t.Errorf("%s: want the lease released: %t, got %+v", reason, want, now.Spec)
	}
}

// FW-START-5: a Lease that cannot be released is reported, as another process may lead
// only once it has expired.
func TestReleaseFails(t *testing.T) {
	t.Parallel()
	kube := kubetest.NewClientset()
	locks := &leases{client: kube.CoordinationV1(), holders: map[string]string{lockNamespace + "/" + lockName: "me"}}
	if err := locks.release(t.Context()); err == nil {
		t.Error("the lease does not exist, want an error")
	}
	life := &lifetime{}
	if err := life.handOver(); err != nil {
		t.Errorf("there is nothing to hand over, got %v", err)
	}
}
