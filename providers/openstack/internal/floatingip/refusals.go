package floatingip

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// Refused is the reason for a floating IP that Neutron refuses. The load balancer then works
// under its VIP.
const Refused service.Reason = "LoadBalancerFloatingIPRefused"

// The types of errors of Neutron:
// https://opendev.org/openstack/neutron-lib/src/branch/master/neutron_lib/exceptions.
const (
	typeNoRouter     = "ExternalGatewayForFloatingIPNotFound"
	typeNoNetwork    = "NetworkNotFound"
	typeNoSubnet     = "SubnetNotFound"
	typeNoPort       = "PortNotFound"
	typeNoAddress    = "IpAddressGenerationFailure"
	typeNoAddressOld = "ExternalIpAddressExhausted"
	typeAddressUsed  = "IpAddressAlreadyAllocated"
	typeNotInNetwork = "InvalidIpForNetwork"
	typeNotInSubnet  = "InvalidIpForSubnet"
	typeAssociated   = "FloatingIPPortAlreadyAssociated"
	typeNotAllowed   = "PolicyNotAuthorized"
	typeInvalid      = "InvalidInput"
)

// subnetTypes are about the subnet alone: another one may have an address.
var subnetTypes = []string{typeNoAddress, typeNoAddressOld, typeNoSubnet, typeInvalid}

// typeOf returns the type of a refusal of Neutron, empty for other errors: a lost
// response, an outage, a login that failed.
func typeOf(err error) string {
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Service != client.Network || !apierr.IsRefusal(err) || errors.Is(err, apierr.ErrThrottled) {
		return ""
	}

	return e.Type
}

// attempt is a floating IP that a load balancer is to get.
type attempt struct {
	observed *Observed
	desired  *Desired
	// network is the external network.
	network string
}

// create creates it, in the first of the subnets that has a free address.
func (a attempt) create(ctx context.Context, env *change.Env) (*client.FloatingIP, error) {
	subnets := a.desired.Place.SubnetIDs
	if len(subnets) == 0 {
		subnets = []string{""}
	}
	var failures []error
	for _, subnet := range subnets {
		made, err := env.Network.CreateFloatingIP(ctx, a.body(subnet))
		if err == nil {
			return made, nil
		}
		failures = append(failures, err)
		if !slices.Contains(subnetTypes, typeOf(err)) {
			break
		}
	}
	last := len(failures) - 1
	failures[last] = a.explain(ctx, env, failures[last])

	return nil, errors.Join(failures...)
}

func (a attempt) body(subnet string) client.FloatingIPCreate {
	body := client.FloatingIPCreate{
		NetworkID: a.network, SubnetID: subnet, PortID: a.observed.PortID, FixedAddress: a.observed.VIP.String(),
		Description: a.desired.Request.Names.FloatingIPDescription(),
	}
	if wanted := a.desired.Request.FloatingIP.Address; wanted.IsValid() {
		body.Address = wanted.String()
	}

	return body
}

// explain adds to a refusal of Neutron what it means for the user, and warns of it. Other
// errors are returned as they are.
func (a attempt) explain(ctx context.Context, env *change.Env, err error) error {
	reason, text := Refused, ""
	switch {
	case typeOf(err) == typeAssociated: // the load balancer has one after all
		return fmt.Errorf("the VIP just got a floating IP, which the next sync uses: %w", err)
	case errors.Is(err, apierr.ErrQuota):
		reason, text = change.QuotaExceeded, "the quota of floating IPs of the project is used up"
	case typeOf(err) == typeNoRouter:
		text = a.noRouter(ctx, env)
	default:
		text = a.meaning(err)
	}
	if text == "" {
		return err
	}
	env.Warn(service.Warn(reason, "The load balancer has no floating IP, its address is %s: %s (%s)", a.observed.VIP, text, change.Message(err)))

	return fmt.Errorf("%s: %w", text, err)
}

// meaning returns what a refusal means, empty for other errors.
func (a attempt) meaning(err error) string {
	wanted := a.desired.Request.FloatingIP.Address
	switch typeOf(err) {
	case "":
		return ""
	case typeNoNetwork:
		return fmt.Sprintf("external network %s does not exist, or the project cannot see it", a.network)
	case typeNoSubnet:
		return fmt.Sprintf("external network %s has no such subnet", a.network)
	case typeNoAddress, typeNoAddressOld:
		return fmt.Sprintf("external network %s, or the selected subnet, has no free address", a.network)
	case typeAddressUsed:
		return fmt.Sprintf("address %s of spec.loadBalancerIP is in use, maybe in another project", wanted)
	case typeNotInNetwork, typeNotInSubnet:
		return fmt.Sprintf("address %s of spec.loadBalancerIP is not one of external network %s", wanted, a.network)
	case typeNoPort:
		return fmt.Sprintf("VIP port %s was deleted, which Octavia does not repair. Delete the load balancer", a.observed.PortID)
	case typeNotAllowed:
		if wanted.IsValid() {
			return fmt.Sprintf("the project may not choose the address of a floating IP. Have an administrator create a floating IP %s in the project", wanted)
		}

		return "the project may not have floating IPs"
	default:
		return "Neutron refuses it"
	}
}

// noRouter returns why a floating IP cannot reach the VIP. If the VIP is itself in an
// external network, it needs none.
func (a attempt) noRouter(ctx context.Context, env *change.Env) string {
	o := a.observed
	networks, err := env.Network.ExternalNetworks(ctx)
	isVIP := func(n *client.NetworkInfo) bool { return n.ID == o.NetworkID }
	if err == nil && slices.ContainsFunc(networks, isVIP) {
		return fmt.Sprintf("VIP %s is in external network %s itself. Set annotation %s=true", o.VIP, o.NetworkID, request.AnnotationInternal)
	}

	return fmt.Sprintf("no router connects the subnet of VIP %s with external network %s", o.VIP, a.network)
}
