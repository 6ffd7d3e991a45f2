package network

import (
	"slices"
	"strings"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// Reasons of warnings about settings that AWS does not change in a load
// balancer.
const (
	SchemeFixed         service.Reason = "LoadBalancerSchemeFixed"
	SubnetsFixed        service.Reason = "LoadBalancerSubnetsFixed"
	AddressesFixed      service.Reason = "LoadBalancerAddressesFixed"
	SecurityGroupsFixed service.Reason = "LoadBalancerSecurityGroupsFixed"
)

// Fixed warns of settings of the Service that cannot be applied to an existing
// load balancer.
func Fixed(m *Model, o *Observed) []service.Warning {
	if m == nil || o.LoadBalancer == nil || o.NotOwned() != nil {
		return nil
	}
	seen := o.LoadBalancer
	var warnings []service.Warning
	if internal := seen.Scheme == elbv2types.LoadBalancerSchemeEnumInternal; seen.Scheme != "" && internal != m.Internal {
		warnings = append(warnings, service.Warn(SchemeFixed,
			"Load balancer %s stays %s: AWS does not change the scheme of a load balancer; for annotation %s to take effect, delete and create the Service",
			o.Name, seen.Scheme, request.AnnotationInternal))
	}
	for _, fixed := range []struct {
		annotated bool
		reason    service.Reason
		text      string
		of        func(Mapping) string
	}{
		{m.Annotated.Subnets, SubnetsFixed, "stays in subnets %s", func(mapping Mapping) string { return mapping.Subnet }},
		{m.Annotated.EIPAllocations, AddressesFixed, "keeps its elastic IP allocations (%s)", func(mapping Mapping) string { return mapping.Allocation }},
		{m.Annotated.PrivateIPv4Addresses, AddressesFixed, "keeps its private IPv4 addresses (%s)", func(mapping Mapping) string { return mapping.PrivateIPv4 }},
	} {
		if have, differ := compare(m.Mappings, seen.Mappings, fixed.of); fixed.annotated && differ {
			warnings = append(warnings, service.Warn(fixed.reason,
				"Load balancer %s "+fixed.text+"; to change that, delete and create the Service", o.Name, have))
		}
	}
	if m.Annotated.SecurityGroups && len(seen.SecurityGroups) == 0 {
		warnings = append(warnings, service.Warn(SecurityGroupsFixed,
			"Load balancer %s was made without security groups and cannot get any; "+
				"to change that, delete and create the Service", o.Name))
	}

	return warnings
}

// compare compares one part of the mappings. It returns the present values, and
// whether they differ from the wanted ones.
func compare(want, have []Mapping, part func(Mapping) string) (text string, differ bool) {
	wanted, seen := parts(want, part), parts(have, part)
	if len(wanted) == 0 {
		return "", false
	}
	text = strings.Join(seen, ", ")
	if text == "" {
		text = "none"
	}

	return text, !slices.Equal(wanted, seen) || moved(want, have, part)
}

// moved reports whether a wanted part differs from the present one in its
// subnet.
func moved(want, have []Mapping, part func(Mapping) string) bool {
	wanted := make(map[string]string, len(want))
	for _, mapping := range want {
		wanted[mapping.Subnet] = part(mapping)
	}

	return slices.ContainsFunc(have, func(mapping Mapping) bool {
		value, ok := wanted[mapping.Subnet]

		return ok && mapping.Subnet != "" && value != part(mapping)
	})
}

// parts returns the values of one part of the mappings, sorted.
func parts(mappings []Mapping, part func(Mapping) string) []string {
	return plan.Sorted(lists.Filter(lists.Map(mappings, part), func(value string) bool { return value != "" }))
}

// PermissionMissing is the reason of the warning about a permission without
// which the state of a load balancer is unknown.
const PermissionMissing service.Reason = "PermissionMissing"

// WithoutAttributes warns that attributes of target groups cannot be read.
func WithoutAttributes(r *request.Request) service.Warning {
	return service.Warn(PermissionMissing,
		"Load balancer %s is taken to preserve client IP addresses, which is not known: "+
			"allow elasticloadbalancing:DescribeTargetGroupAttributes", r.Name)
}
