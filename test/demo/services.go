package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

// services shows a Service with each kind of load balancer from its beginning to
// its end, where the cloud has any.
func (s *demo) services(ctx context.Context) error {
	cloud, ok := s.Cloud.(scenario.ServiceCloud)
	if !ok {
		return nil
	}
	kinds := s.provider.LoadBalancers
	var services []*v1.Service
	for _, kind := range kinds {
		services = append(services, kind.Service(kind.Name))
	}

	s.out.Title("Load balancers for Services")
	served, err := s.create(ctx, kinds, services)
	if err != nil {
		return err
	}
	s.out.Line("\n%s", serviceTable(kinds, served))
	s.out.Line("Resources in the cloud:")
	s.out.Text(strings.Join(cloud.Made(), "\n"))

	err = s.out.Step("Deleting the Services, until their finalizers are removed", func() error {
		return s.DeleteServices(ctx, s.process, services)
	})
	if err != nil {
		return err
	}
	if left := cloud.Made(); len(left) > 0 {
		return fmt.Errorf("the Services are deleted, but the cloud still has:\n%s", strings.Join(left, "\n"))
	}
	s.out.Note("no resources are left in the cloud, besides %d machines; %s since the start",
		len(s.Cloud.Machines()), howMany(s.Cloud.Calls()))

	return nil
}

// create makes the Services, those that share a load balancer last, and returns them once
// each has an address.
func (s *demo) create(ctx context.Context, kinds []scenario.LoadBalancer, services []*v1.Service) ([]*v1.Service, error) {
	own := len(scenario.Own(kinds))
	var served []*v1.Service
	step := func(what string, now []*v1.Service) error {
		return s.out.Step(fmt.Sprintf("Creating %d %s, until each has an address", len(now), what), func() error {
			if err := s.CreateServices(ctx, now); err != nil {
				return err
			}
			found, err := s.served(ctx, now)
			served = append(served, found...)

			return err
		})
	}
	if err := step("Services", services[:own]); err != nil || own == len(services) {
		return served, err
	}
	for i, service := range services[own:] {
		kind := kinds[own+i]
		owner := slices.IndexFunc(kinds, func(k scenario.LoadBalancer) bool { return k.Name == kind.Shares })
		kind.Share(service, served[owner])
	}
	err := step("Service that uses the load balancer of another one", services[own:])

	return served, err
}

// served waits until the Services have addresses and returns them as they are
// then.
func (s *demo) served(ctx context.Context, services []*v1.Service) ([]*v1.Service, error) {
	var served []*v1.Service
	err := s.AwaitServices(ctx, s.process, func(found scenario.Services) error {
		served = nil
		for _, service := range services {
			now := found[service.Name]
			if now == nil || scenario.Address(now) == "" {
				return fmt.Errorf("service %s has no address", service.Name)
			}
			served = append(served, now)
		}

		return nil
	})

	return served, err
}

// serviceTable shows Services with the kinds of their load balancers.
func serviceTable(kinds []scenario.LoadBalancer, services []*v1.Service) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tPORTS\tLOAD BALANCER\tADDRESS") //nolint:errcheck // into memory
	for i, service := range services {
		var ports []string
		for _, port := range service.Spec.Ports {
			ports = append(ports, fmt.Sprintf("%d:%d/%s", port.Port, port.NodePort, port.Protocol))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", service.Name, strings.Join(ports, ","), kinds[i].Name, scenario.Address(service)) //nolint:errcheck // into memory
	}
	_ = table.Flush() // into memory

	return b.String()
}
