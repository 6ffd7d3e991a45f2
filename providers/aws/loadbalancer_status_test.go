package aws

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clienttesting "k8s.io/client-go/testing"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	servicecontroller "k8s.io/cloud-provider/controllers/service"
	"k8s.io/component-base/featuregate"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// clientsOf returns one client for all.
type clientsOf struct {
	cloudprovider.ControllerClientBuilder
	kube kubernetes.Interface
}

func (c clientsOf) Client(string) (kubernetes.Interface, error) { return c.kube, nil }

// balancers is a cloud with load balancers.
type balancers struct {
	cloudprovider.Interface
	lb cloudprovider.LoadBalancer
}

func (c balancers) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c.lb, true }

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

// A new Service behind a full security group gets its hostname from the service
// controller, and its rules some minutes after the quota was raised, without any event.
// Meanwhile it makes few calls.
func TestServiceControllerBehindAFullSecurityGroup(t *testing.T) {
	t.Parallel()
	for kind, options := range map[string][]kubetest.ServiceOption{"classic": nil, "network": {nlb()}} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			inSlowRegion(t, func(b *balanced) {
				b.fill(b.seed.NodeGroup, quota)
				kube := kubetest.NewClientset()
				stop := b.runServiceController(kube)
				defer stop()
				svc := web(options...)
				if _, err := kube.CoreV1().Services(svc.Namespace).Create(b.t.Context(), svc, metav1.CreateOptions{}); err != nil {
					b.t.Fatal(err)
				}
				time.Sleep(20 * time.Second)
				if hostnameOf(b.t, kube, svc.Name) == "" {
					b.t.Error("the status has no hostname")
				}
				if len(b.BlockedTraffic(webName)) == 0 {
					b.t.Fatal("the rules fit")
				}
				time.Sleep(30 * time.Minute)
				calls := b.calls(func() { time.Sleep(5 * time.Minute) })
				sum := 0
				for _, n := range calls {
					sum += n
				}
				if sum > 12 {
					b.t.Errorf("%d calls in five minutes: %v", sum, calls)
				}

				b.SetRuleQuota(2 * quota)
				time.Sleep(2 * service.MaxRetryAfter)
				b.reachable(webName)
				if calls := b.calls(func() { time.Sleep(time.Hour) }); len(calls) > 0 {
					b.t.Errorf("the load balancer is complete, and costs %v", calls)
				}
			})
		})
	}
}

// runServiceController runs the service controller with the Nodes until it is
// stopped.
func (b *balanced) runServiceController(kube *kubetest.Clientset) (stop func()) {
	b.t.Helper()
	for _, n := range b.nodes {
		if err := kube.Tracker().Add(n); err != nil {
			b.t.Fatal(err)
		}
	}
	b.lb.services.SetClients(clientsOf{kube: kube})
	factory := informers.NewSharedInformerFactory(kube, 0)
	controller, err := servicecontroller.New(balancers{lb: b.lb}, kube,
		factory.Core().V1().Services(), factory.Core().V1().Nodes(), flagged, featuregate.NewFeatureGate())
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	var all sync.WaitGroup
	all.Go(func() { controller.Run(ctx, 1, controllersmetrics.NewControllerManagerMetrics("test")) })
	factory.Start(ctx.Done())
	time.Sleep(time.Minute) // the Nodes are synced, so that no Service is while they are

	return func() {
		cancel()
		all.Wait()
		factory.Shutdown()
		time.Sleep(time.Hour) // let delayed items and tickers of the queues end
	}
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
