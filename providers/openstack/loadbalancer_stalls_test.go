package openstack

import (
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// TestStalls (OS-LB-35): a load balancer that cannot be changed is looked at ever less often,
// whatever the state of another one of the Service is.
func TestStalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s state
		for _, step := range []struct {
			after     time.Duration
			id, state string
			want      time.Duration
		}{
			{0, "lb-1", "pending", 5 * time.Second},
			{20 * time.Second, "lb-1", "pending", 5 * time.Second},
			{40 * time.Second, "lb-1", "pending", 15 * time.Second},
			{time.Hour, "lb-1", "pending", 5 * time.Minute},
			{0, "lb-2", "pending", 5 * time.Second},
			{0, "lb-1", "pending", 5 * time.Minute},
			{0, "lb-1", "failed", 5 * time.Second},
			{time.Minute, "lb-1", "failed", 15 * time.Second},
		} {
			time.Sleep(step.after)
			if _, again := s.stallOf(step.id, step.state); again != step.want {
				t.Errorf("%s %s after another %s: again after %s, want %s", step.id, step.state, step.after, again, step.want)
			}
		}
		s.endStall("lb-1")
		if elapsed, _ := s.stallOf("lb-1", "failed"); elapsed != 0 {
			t.Errorf("it had ended: %s", elapsed)
		}
		if elapsed, _ := s.stallOf("lb-2", "pending"); elapsed == 0 {
			t.Error("that of the other load balancer has not ended")
		}
	})
}

// TestAnnotate (OS-LB-32): annotations are written if they differ, and only then.
func TestAnnotate(t *testing.T) {
	t.Parallel()
	svc := kubetest.Service("default", "web", kubetest.ServiceAnnotated("other", "x"), annotate(request.AnnotationLoadBalancerID, "old"))
	kube := kubetest.NewClientset(svc.DeepCopy())
	p := &publisher{}
	set := func(values map[annotation.Name]string) *v1.Service {
		must(t, p.annotate(t.Context(), serviceNow(t, kube, svc), values))

		return serviceNow(t, kube, svc)
	}
	wanted := map[annotation.Name]string{request.AnnotationLoadBalancerID: "new"}
	if now := set(wanted); now.Annotations[string(request.AnnotationLoadBalancerID)] != "old" {
		t.Error("nothing is written without a client")
	}
	p.builder = builder{client: kube}
	if now := set(wanted); now.Annotations[string(request.AnnotationLoadBalancerID)] != "new" || now.Annotations["other"] != "x" {
		t.Errorf("annotations: %v", now.Annotations)
	}
	writes := func() int {
		n := 0
		for _, action := range kube.Actions() {
			if action.GetVerb() == "patch" {
				n++
			}
		}

		return n
	}
	if before := writes(); before != 1 || set(wanted) == nil || writes() != before {
		t.Errorf("%d writes of the same", writes())
	}
	now := set(map[annotation.Name]string{request.AnnotationLoadBalancerID: ""})
	if _, ok := now.Annotations[string(request.AnnotationLoadBalancerID)]; ok {
		t.Errorf("annotations: %v", now.Annotations)
	}
	must(t, kube.CoreV1().Services("default").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	if err := p.annotate(t.Context(), now, wanted); !apierrors.IsNotFound(err) {
		t.Errorf("a Service that was deleted: %v", err)
	}
}
