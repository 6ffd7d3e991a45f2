package service

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// clients returns one client for every account, or an error.
type clients struct {
	cloudprovider.ControllerClientBuilder
	kube kubernetes.Interface
	err  error
}

func (c clients) Client(string) (kubernetes.Interface, error) { return c.kube, c.err }

func TestPublish(t *testing.T) {
	t.Parallel()
	failure, refused := errors.New("failed"), errors.New("refused")
	incomplete := NewReconciler[int](time.Minute).Incomplete(
		Operation{Service: kubetest.Service("default", "x"), Ensures: true}, []Gap{{Key: "a", Text: "no a"}}, failure)
	byName := v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{Hostname: "web.example.com"}}}
	byIP := v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: "192.0.2.1"}}}
	for name, test := range map[string]struct {
		reason string
		status v1.LoadBalancerStatus
		before v1.LoadBalancerStatus
		err    error
		refuse bool
		// missing is a Service that was deleted, offline a process without clients.
		missing, offline bool
		written          bool
		returned         bool
		want             string
	}{
		"complete":        {reason: "the service controller writes the status", status: byName, returned: true},
		"failed":          {reason: "the load balancer may not work", status: byName, err: failure, want: "failed"},
		"incomplete":      {reason: "the service controller writes no status", status: byName, err: incomplete, written: true, want: incomplete.Error()},
		"no address":      {reason: "there is nothing to write", err: incomplete, want: incomplete.Error()},
		"known":           {reason: "the status has the address", status: byName, before: byName, err: incomplete, want: incomplete.Error()},
		"without clients": {reason: "the address matters more", status: byName, err: incomplete, offline: true, returned: true},
		"deleted":         {reason: "a Service that was deleted needs no status", status: byName, err: incomplete, missing: true, want: incomplete.Error()},
		"refused":         {reason: "tried again soon", status: byName, err: incomplete, refuse: true, want: "write hostname web.example.com to the status: refused"},
		"refused IP":      {reason: "tried again soon", status: byIP, err: incomplete, refuse: true, want: "write IP 192.0.2.1 to the status: refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			svc := kubetest.Service("default", "web")
			svc.Status.LoadBalancer = test.before
			kube := kubetest.NewClientset(svc.DeepCopy())
			if test.missing {
				kube = kubetest.NewClientset()
			}
			kube.PrependReactor("patch", "services", func(clienttesting.Action) (bool, runtime.Object, error) { return test.refuse, nil, refused })
			r := NewReconciler[int](time.Minute)
			if !test.offline {
				r.SetClients(clients{kube: kube})
			}
			status, err := r.Publish(svc, &test.status, test.err)
			if (status != nil) != test.returned || test.returned && cmp.Diff(test.status, *status) != "" {
				t.Errorf("%s: returned %v", test.reason, status)
			}
			if err == nil && test.want != "" || err != nil && err.Error() != test.want {
				t.Errorf("%s: got %v, want %s", test.reason, err, test.want)
			}
			after, _ := kube.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
			if written := after != nil && len(after.Status.LoadBalancer.Ingress) > 0 && len(test.before.Ingress) == 0; written != test.written {
				t.Errorf("%s: written: %t", test.reason, written)
			}
		})
	}
	r := NewReconciler[int](time.Minute)
	r.SetClients(clients{err: refused})
	if _, err := r.Publish(kubetest.Service("default", "web"), &byName, incomplete); err == nil || err.Error() != "make the client that writes the status: refused" {
		t.Errorf("no client: got %v", err)
	}
}
