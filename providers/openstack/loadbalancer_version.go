package openstack

import (
	"context"
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
)

// reasonVersionHidden is a gateway that does not forward the version document of Octavia.
const reasonVersionHidden service.Reason = "LoadBalancerVersionUnknown"

// featuresOf returns what a load balancer can have: that of an existing one is decided by
// its provider, which need not be the configured one.
func (r *run) featuresOf(ctx context.Context, info *client.LoadBalancerInfo) (features.Features, error) {
	version, err := r.Octavia.Version(ctx)
	if err != nil {
		return features.Features{}, fmt.Errorf("read the version of the load balancer API: %w", err)
	}
	provider := r.Config.LoadBalancer.LBProvider
	if info != nil {
		provider = info.Provider
	}
	if version != (features.Version{}) {
		return features.For(version, provider), nil
	}
	r.warn(service.Warn(reasonVersionHidden, "The load balancer API does not return its version document, perhaps because of a gateway: "+
		"the version is inferred from the load balancer, and the API refuses an option that it does not have"))
	inferred := features.For(inferVersion(info), provider)
	if info == nil || !inferred.Version().AtLeast(zonesSince) {
		return inferred.Without(features.AdditiveMembers), nil // an older API ignores it, and removes the other members
	}

	return inferred, nil
}

// zonesSince is the version from which on load balancers have an availability zone.
var zonesSince = features.Version{Major: 2, Minor: 14}

// inferVersion returns the latest version of the API that can have returned a load balancer, which
// is nil if there is none yet: each version has all fields of those before
// (https://docs.openstack.org/api-ref/load-balancer/v2/#load-balancers).
//
//	additional_vips        from 2.26 on
//	availability_zone      from 2.14 on
//	tags                   from 2.5 on
func inferVersion(info *client.LoadBalancerInfo) features.Version {
	switch {
	case info == nil, info.AdditionalVIPs != nil:
		return features.Newest
	case info.Zone.Known:
		return features.Version{Major: 2, Minor: 25}
	case info.Tags != nil:
		return features.Version{Major: 2, Minor: 13}
	default:
		return features.Version{Major: 2, Minor: 4}
	}
}
