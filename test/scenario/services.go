package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
)

// namespace is where all Services are.
const namespace = metav1.NamespaceDefault

// atOnce is how many calls to the API server are under way.
const atOnce = 16

// Service returns a Service with a load balancer of the kind and two ports, which are
// others if it is that of another Service.
func (l LoadBalancer) Service(name string) *v1.Service {
	ports := []v1.ServicePort{
		{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)},
		{Name: "https", Port: 443, TargetPort: intstr.FromInt32(8443)},
	}
	if l.Shares != "" {
		ports[0].Port, ports[1].Port = 8080, 8443
	}

	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: maps.Clone(l.Annotations)},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": name}, Ports: ports},
	}
}

// Share has a Service use the load balancer of another one, which is served.
func (l LoadBalancer) Share(service, owner *v1.Service) {
	metav1.SetMetaDataAnnotation(&service.ObjectMeta, l.SharedBy, owner.Annotations[l.SharedBy])
}

// Own returns the kinds that have a load balancer of their own.
func Own(kinds []LoadBalancer) []LoadBalancer {
	return slices.DeleteFunc(slices.Clone(kinds), func(l LoadBalancer) bool { return l.Shares != "" })
}

// Services are Services by name.
type Services = map[string]*v1.Service

// AwaitServices is for Services what [Environment.Await] is for nodes.
func (s *Environment) AwaitServices(ctx context.Context, process *ccm.CCM, wrong func(Services) error) error {
	services := watched[*v1.Service]{stage: s, resource: "services", namespace: namespace, example: &v1.Service{}}

	return services.until(ctx, process, wrong)
}

// CreateServices creates them all at once.
func (s *Environment) CreateServices(ctx context.Context, services []*v1.Service) error {
	return each(ctx, services, func(ctx context.Context, service *v1.Service) error {
		_, err := s.ControlPlane.Client().CoreV1().Services(namespace).Create(ctx, service, metav1.CreateOptions{})

		return err
	})
}

// AwaitServed returns when each of the Services has an address.
func (s *Environment) AwaitServed(ctx context.Context, process *ccm.CCM, services []*v1.Service) error {
	rest := services

	return s.AwaitServices(ctx, process, func(found Services) error {
		for ; len(rest) > 0; rest = rest[1:] {
			switch service := found[rest[0].Name]; {
			case service == nil:
				return fmt.Errorf("service %s is not there", rest[0].Name)
			case Address(service) == "":
				return fmt.Errorf("service %s has no address", service.Name)
			}
		}

		return nil
	})
}

// DeleteServices deletes all Services and returns when they are gone, which is
// when their load balancers are.
func (s *Environment) DeleteServices(ctx context.Context, process *ccm.CCM, services []*v1.Service) error {
	err := each(ctx, services, func(ctx context.Context, service *v1.Service) error {
		return s.ControlPlane.Client().CoreV1().Services(namespace).Delete(ctx, service.Name, metav1.DeleteOptions{})
	})
	if err != nil {
		return err
	}

	return s.AwaitServices(ctx, process, func(found Services) error {
		var errs []error
		for _, service := range services {
			if found[service.Name] != nil {
				errs = append(errs, fmt.Errorf("service %s is still there", service.Name))
			}
		}

		return errors.Join(errs...)
	})
}

// Address is what the load balancer of a Service is reached by, empty as long as
// there is none.
func Address(service *v1.Service) string {
	if len(service.Status.LoadBalancer.Ingress) == 0 {
		return ""
	}
	first := service.Status.LoadBalancer.Ingress[0]

	return cmp.Or(first.Hostname, first.IP)
}

// each calls f for every Service, several at once, and stops at an error.
func each(ctx context.Context, services []*v1.Service, f func(context.Context, *v1.Service) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, service := range services {
		group.Go(func() error {
			if err := f(ctx, service); err != nil {
				return fmt.Errorf("service %s: %w", service.Name, err)
			}

			return nil
		})
	}

	return group.Wait()
}
