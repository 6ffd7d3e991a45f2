package loadbalancers

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
)

// familyCases are about Services with two IP families.
func familyCases() []testCase {
	oneFamily := func(a Adapter) bool { return a.Without.DualStack }

	return []testCase{
		{Name: "a Service of two IP families has an address of each", LeftOut: oneFamily, Run: hasBothFamilies},
		{Name: "an IP family more or less leaves the other address", LeftOut: oneFamily, Run: followsFamilies},
	}
}

// createDual makes instances with an address of each family.
func (f *fixture) createDual(n int) []machine {
	f.T.Helper()
	var machines []machine
	for i := range n {
		machines = append(machines, f.CreateFrom(conformance.Machine{Name: fmt.Sprintf("dual-%d", i+1), IPv6: []string{fmt.Sprintf("fd00:9::%d", i+10)}}))
	}

	return machines
}

// ensureFamilies ensures the load balancer of a Service with other families.
func (f *fixture) ensureFamilies(service *v1.Service, machines []machine, families ...v1.IPFamily) {
	f.T.Helper()
	policy := v1.IPFamilyPolicyRequireDualStack
	if len(families) == 1 {
		policy = v1.IPFamilyPolicySingleStack
	}
	service.Spec.IPFamilies, service.Spec.IPFamilyPolicy = families, &policy
	f.mustEnsure(service, machines...)
	if n := len(service.Status.LoadBalancer.Ingress); n != len(families) {
		f.T.Errorf("with the families %v, the status has %d addresses: %v", families, n, service.Status.LoadBalancer.Ingress)
	}
	f.resync(service, machines...)
}

func hasBothFamilies(f *fixture) {
	f.start()
	m := f.createDual(3)
	for _, families := range [][]v1.IPFamily{{v1.IPv4Protocol, v1.IPv6Protocol}, {v1.IPv6Protocol, v1.IPv4Protocol}} {
		service := f.service("web")
		f.ensureFamilies(service, m[:2], families...)
		f.mustUpdate(service, m...)
		f.mustRemove(service)
		f.CheckNothingLeft()
	}
}

// followsFamilies: clients use the address that stays.
func followsFamilies(f *fixture) {
	f.start()
	m := f.createDual(2)
	service := f.service("web")
	f.ensureFamilies(service, m, v1.IPv4Protocol)
	before, original := f.Cloud.Resources(), service.DeepCopy()
	f.ensureFamilies(service, m, v1.IPv4Protocol, v1.IPv6Protocol)
	if diff := addressDiff(original, service); diff != "" { // the first family is the same
		f.T.Error(diff)
	}
	f.ensureFamilies(service, m, v1.IPv4Protocol)
	f.CheckUnchanged("the cloud", before, f.Cloud.Resources())
	f.mustRemove(service)
	f.CheckNothingLeft()
}
