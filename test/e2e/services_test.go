package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
)

// The annotations in use, and the kinds of load balancers that one of them
// requests for.
const (
	typeAnnotation     = "service.beta.kubernetes.io/aws-load-balancer-type"
	internalAnnotation = "service.beta.kubernetes.io/aws-load-balancer-internal"

	classic = ""
	network = "nlb"
)

// newService returns a Service with a load balancer of a kind.
func newService(name, kind string, ports ...int32) *v1.Service {
	service := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": name}},
	}
	if kind != classic {
		service.Annotations[typeAnnotation] = kind
	}
	for _, port := range ports {
		service.Spec.Ports = append(service.Spec.Ports, servicePort(port))
	}

	return service
}

func servicePort(port int32) v1.ServicePort {
	return v1.ServicePort{Name: fmt.Sprintf("port-%d", port), Port: port}
}

func (c *cluster) services() corev1.ServiceInterface {
	return c.Client().CoreV1().Services(v1.NamespaceDefault)
}

// create makes Services and returns them as the API server completes them.
func (c *cluster) create(t *testing.T, services ...*v1.Service) []*v1.Service {
	t.Helper()
	for i, service := range services {
		created, err := c.services().Create(t.Context(), service, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		services[i] = created
	}

	return services
}

// service returns a Service as it is now.
func (c *cluster) service(t *testing.T, name string) *v1.Service {
	t.Helper()
	service, err := c.services().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	return service
}

// change updates Services.
func (c *cluster) change(t *testing.T, change func(*v1.Service), names ...string) {
	t.Helper()
	for _, name := range names {
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			service := c.service(t, name)
			change(service)
			_, err := c.services().Update(t.Context(), service, metav1.UpdateOptions{})

			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// annotate is a change of an annotation.
func annotate(key, value string) func(*v1.Service) {
	return func(service *v1.Service) { metav1.SetMetaDataAnnotation(&service.ObjectMeta, key, value) }
}

// remove deletes Services, without waiting for what that takes.
func (c *cluster) remove(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := c.services().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitRemoved waits until Services have lost their finalizers.
func (c *cluster) awaitRemoved(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		await(t, "service "+name+" to be gone", func(ctx context.Context) error {
			service, err := c.services().Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			if err == nil {
				err = fmt.Errorf("it has the finalizers %q", service.Finalizers)
			}

			return err
		})
	}
}

// balancerName is what a load balancer is called (AWS-LB-3).
func balancerName(service *v1.Service) string {
	return ("a" + strings.ReplaceAll(string(service.UID), "-", ""))[:32]
}

func isNetwork(service *v1.Service) bool { return service.Annotations[typeAnnotation] == network }

// balancer is what matters of a load balancer of either kind.
type balancer struct {
	Ports   []int32
	Targets []string // instances
	Checks  []string // what is probed
}

// wanted is what a Service specifies (AWS-CLB-1, AWS-NLB-1).
func wanted(service *v1.Service, targets []machine) balancer {
	want := balancer{Targets: slices.Sorted(slices.Values(ids(targets)))}
	for _, port := range service.Spec.Ports {
		want.Ports = append(want.Ports, port.Port)
	}
	slices.Sort(want.Ports)
	switch {
	case service.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal:
		want.Checks = []string{fmt.Sprintf("HTTP:%d/healthz", service.Spec.HealthCheckNodePort)}
	case isNetwork(service):
		want.Checks = []string{"TCP:traffic-port"}
	default:
		want.Checks = []string{fmt.Sprintf("TCP:%d", service.Spec.Ports[0].NodePort)}
	}

	return want
}

// find returns the load balancer of a Service and its hostname.
func (r *region) find(service *v1.Service) (got balancer, hostname string, err error) {
	name := balancerName(service)
	if isNetwork(service) {
		return r.findNetwork(name)
	}
	found, ok := r.Classic(name)
	if !ok {
		return got, "", errors.New("there is no classic load balancer " + name)
	}
	for _, listener := range found.Listeners {
		got.Ports = append(got.Ports, listener.Port)
	}
	got.Targets, got.Checks = found.Instances, []string{found.HealthCheck.Target}

	return got, found.DNSName, nil
}

func (r *region) findNetwork(name string) (got balancer, hostname string, err error) {
	found, ok := r.Network(name)
	if !ok {
		return got, "", errors.New("there is no network load balancer " + name)
	}
	for _, listener := range found.Listeners {
		got.Ports = append(got.Ports, listener.Port)
	}
	targets, checks := sets.New[string](), sets.New[string]()
	for _, group := range found.TargetGroups {
		for _, target := range group.Targets {
			targets.Insert(target.ID)
		}
		if len(group.Targets) != targets.Len() {
			return got, "", fmt.Errorf("target group %s has %d of %d targets", group.Name, len(group.Targets), targets.Len())
		}
		checks.Insert(group.HealthCheck.Protocol + ":" + group.HealthCheck.Port + group.HealthCheck.Path)
	}
	got.Targets, got.Checks = sets.List(targets), sets.List(checks)

	return got, found.DNSName, nil
}

// served returns an error for everything that a Service does not have as
// specified it, with those targets: the load balancer, its hostname in the
// status, and the way through all security groups.
func (r *region) served(service *v1.Service, targets []machine) error {
	got, hostname, err := r.find(service)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(wanted(service, targets), got); diff != "" {
		return fmt.Errorf("its load balancer is not as it should be (-want +got):\n%s", diff)
	}
	if blocked := r.BlockedTraffic(balancerName(service), "0.0.0.0/0"); len(blocked) > 0 {
		return fmt.Errorf("kept out by security groups: %q", blocked)
	}
	want := v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{Hostname: hostname}}}
	if diff := cmp.Diff(want, service.Status.LoadBalancer); diff != "" {
		return fmt.Errorf("its status is not as it should be (-want +got):\n%s", diff)
	}

	return nil
}

// awaitServed waits until Services have what they specify.
func (c *cluster) awaitServed(t *testing.T, r *region, targets []machine, names ...string) {
	t.Helper()
	for _, name := range names {
		await(t, "service "+name+" to be served", func(ctx context.Context) error {
			service, err := c.services().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}

			return r.served(service, targets)
		})
	}
}

// awaitEvent waits for an Event of the provider about an object.
func (c *cluster) awaitEvent(t *testing.T, kind, name, reason string) {
	t.Helper()
	const source = "aws-cloud-provider" // AWS-AUTH-6
	await(t, fmt.Sprintf("an Event %s about %s %s", reason, kind, name), func(ctx context.Context) error {
		events, err := c.Client().CoreV1().Events(v1.NamespaceDefault).List(ctx, metav1.ListOptions{
			FieldSelector: "involvedObject.kind=" + kind + ",involvedObject.name=" + name,
		})
		if err != nil {
			return err
		}
		var reasons []string
		for _, event := range events.Items {
			if event.Reason == reason && event.Source.Component == source {
				return nil
			}
			reasons = append(reasons, event.Source.Component+": "+event.Reason)
		}

		return fmt.Errorf("there are %q", reasons)
	})
}
