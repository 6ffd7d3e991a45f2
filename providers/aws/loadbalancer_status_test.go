package aws

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// clientsOf returns one client for all.
type clientsOf struct {
	cloudprovider.ControllerClientBuilder
	kube kubernetes.Interface
}

func (c clientsOf) Client(string) (kubernetes.Interface, error) { return c.kube, nil }

// hostnameOf returns the hostname in the status of the Service of an API server.
func hostnameOf(t testing.TB, kube kubernetes.Interface, name string) string {
	t.Helper()
	svc, err := kube.CoreV1().Services("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(svc.Status.LoadBalancer.Ingress) == 0 {
		return ""
	}

	return svc.Status.LoadBalancer.Ingress[0].Hostname
}

// The status of a Service is written before the service controller is told to
// retry, and not if it has the hostname.
func TestStatusOfAnIncompleteLoadBalancer(t *testing.T) {
	t.Parallel()
	b := balance(t)
	b.fill(b.seed.NodeGroup, quota)
	svc := web(nlb())
	b.lb.services.SetClients(nil)
	status, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes)
	if err != nil || len(status.Ingress) != 1 {
		t.Errorf("without a client the service controller writes the status: got %v, %v", status, err)
	}

	kube := kubetest.NewClientset(svc.DeepCopy())
	patches := func() int {
		return len(slices.DeleteFunc(kube.Actions(), func(a clienttesting.Action) bool { return !a.Matches("patch", "services/status") }))
	}
	failure := errors.New("rejected")
	reject := true
	kube.PrependReactor("patch", "services", func(clienttesting.Action) (bool, runtime.Object, error) { return reject, nil, failure })
	b.lb.services.SetClients(clientsOf{kube: kube})
	_, err = b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes)
	if _, later := errors.AsType[*api.RetryError](err); later || !errors.Is(err, failure) {
		t.Errorf("a status that cannot be written is tried again soon: got %v", err)
	}
	reject = false
	before := patches()
	b.retried(b.sync(svc))
	if got := hostnameOf(t, kube, svc.Name); !strings.HasPrefix(got, webName) {
		t.Errorf("the hostname is %q", got)
	}
	svc.Status.LoadBalancer = v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{Hostname: hostnameOf(t, kube, svc.Name)}}}
	b.retried(b.sync(svc))
	if n := patches() - before; n != 1 {
		t.Errorf("%d writes of the status", n)
	}
}

// AWS-NLB-6: a new load balancer with a listener gets its hostname into the status of the
// Service although a setting is refused, and the error stays.
func TestHostnameInSpiteOfARefusedSetting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason  string
		options []kubetest.ServiceOption
		op      string
		serves  bool
	}{
		"attributes of a network load balancer": {"it has listeners", []kubetest.ServiceOption{nlb(), annotate(request.AnnotationCrossZone, "true")}, "elbv2.ModifyLoadBalancerAttributes", true},
		"attributes of a classic load balancer": {"it has listeners", []kubetest.ServiceOption{annotate(request.AnnotationCrossZone, "true")}, "elb.ModifyLoadBalancerAttributes", true},
		"listeners":                             {"it has none", []kubetest.ServiceOption{nlb()}, "elbv2.CreateListener", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			svc := web(test.options...)
			kube := kubetest.NewClientset(svc.DeepCopy())
			b.lb.services.SetClients(clientsOf{kube: kube})
			b.Interceptor().Inject(test.op, simserver.Always(), sim.Error(400, "InvalidConfigurationRequest", "Access Denied for bucket"))
			if err := b.sync(svc); err == nil || !strings.Contains(err.Error(), "Access Denied for bucket") {
				t.Errorf("%s: the error is %v", test.reason, err)
			}
			if got := hostnameOf(t, kube, svc.Name); (got != "") != test.serves {
				t.Errorf("%s: the hostname is %q", test.reason, got)
			}
		})
	}
}

// AWS-NLB-3: with the annotation for balancing across zones, a load balancer gets the
// attribute before its targets, of which there are more than the quota allows then; also
// if the first try has ended before that.
func TestCrossZoneAboveTheQuotaOfTargets(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]bool{"new": false, "not new": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			b.SetQuotas(sim.Quotas{ZoneTargets: 10})
			b.nodes = nodesOf(b.seed.AddNodes(24)...)
			svc := web(nlb(), annotate(request.AnnotationCrossZone, "true"))
			if ends {
				ctx, cancel := context.WithCancel(t.Context())
				rule := b.Interceptor().Inject("elbv2.ModifyLoadBalancerAttributes", simserver.Always(), func(http.ResponseWriter, *http.Request, http.Handler) {
					cancel()
					panic(http.ErrAbortHandler)
				})
				if _, err := b.lb.EnsureLoadBalancer(ctx, flagged, svc, b.nodes); len(b.registered(webName)) > 0 {
					t.Fatalf("the first try did not end: %v", err)
				}
				rule.Remove()
			}
			b.retried(b.sync(svc), "exceed a quota")
			if n, _ := b.Network(webName); n.Attributes["load_balancing.cross_zone.enabled"] != "true" {
				t.Errorf("the attributes are %v", n.Attributes)
			}
		})
	}
}
