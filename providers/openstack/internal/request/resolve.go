package request

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
)

// Given is what a Request is resolved with: facts about the load balancer that exists,
// or that is to be created.
type Given struct {
	Features features.Features
	// Families are those of all VIPs, empty as long as they are not known.
	Families []address.Family
	// VIPSecurityGroups means that a user gave security groups to the VIP. Octavia then
	// refuses ranges of clients.
	VIPSecurityGroups bool
}

// families are those of the VIPs, or else the preferred one.
func (g Given) families(preferred address.Family) []address.Family {
	if len(g.Families) == 0 && preferred != "" {
		return []address.Family{preferred}
	}

	return g.Families
}

// Resolved is what a Request means for one load balancer.
type Resolved struct {
	Algorithm string
	// FlavorID and AvailabilityZone are those of a new load balancer, empty if they are
	// not sent.
	FlavorID, AvailabilityZone string
	// Timeouts are nil if they are not sent.
	Timeouts *Timeouts
	// AllowedCIDRs are sorted, and nil if they are not sent.
	AllowedCIDRs []netip.Prefix
	// MemberSources are the ranges that security groups of members must allow, nil if it is
	// the subnet of the members.
	MemberSources []netip.Prefix
	Ports         []ResolvedPort
}

// ResolvedPort is a port with its health monitor and members.
type ResolvedPort struct {
	Port
	// Monitor is nil without one.
	Monitor *Monitor
	// Members are sorted by the name of the Node.
	Members []Member
}

// Member is a member of a pool.
type Member struct {
	Target
	Port int32
	// MonitorPort is 0 if health checks go to Port.
	MonitorPort int32
}

// Name is the name of the member; serial is that of one that is written alone.
func (m Member) Name(serial bool) string {
	if serial {
		return SerialMember(m.Node, m.Address, m.Port)
	}

	return cut(m.Node)
}

// Resolve returns what the Request means for a load balancer. All mistakes are one
// error that means apierr.ErrInvalid. What the provider does not support is left out:
// silently if the result is the same for users, else with a warning.
func (r *Request) Resolve(given Given) (*Resolved, []service.Warning, error) {
	resolved := &Resolved{Algorithm: r.Method}
	if resolved.Algorithm == "" {
		resolved.Algorithm = given.Features.DefaultAlgorithm()
	}
	if given.Features.Has(features.Flavors) {
		resolved.FlavorID = r.FlavorID
	}
	if given.Features.Has(features.Timeouts) {
		resolved.Timeouts = new(r.Timeouts)
	}
	var warnings []service.Warning
	switch {
	case given.Features.Has(features.AvailabilityZones):
		resolved.AvailabilityZone = r.AvailabilityZone
	case r.AvailabilityZone != "":
		warnings = append(warnings, service.Warn(AvailabilityZonesIgnored,
			"Availability zone %s is ignored: the load balancer API %s or the provider has none", r.AvailabilityZone, given.Features.Version()))
	}
	ranges, ignored, inRanges := r.clientsOf(given)
	resolved.AllowedCIDRs, resolved.MemberSources = ranges.allowed, ranges.sources
	members, skipped := r.membersOf(given)
	inPorts := r.checkPorts(given.Features)
	for _, port := range r.Ports {
		resolved.Ports = append(resolved.Ports, r.resolvePort(port, members, given.Features))
	}
	inMonitors := resolved.checkMonitors()
	warnings = slices.Concat(warnings, ignored, skipped, r.warnMonitors(resolved.Ports))
	if err := errors.Join(inRanges, inPorts, inMonitors); err != nil {
		return nil, warnings, apierr.Mark(apierr.ErrInvalid, err)
	}

	return resolved, warnings, nil
}

// resolvePort returns a port with its members. A port without a node port has none.
func (r *Request) resolvePort(port Port, members []Target, available features.Features) ResolvedPort {
	resolved := ResolvedPort{Port: port, Monitor: r.monitorOf(port, available)}
	if port.NodePort == 0 {
		return resolved
	}
	resolved.Members = slices.Grow(resolved.Members, len(members))
	for _, target := range members {
		member := Member{Target: target, Port: port.NodePort}
		if resolved.Monitor != nil && resolved.Monitor.Type == features.MonitorHTTP {
			member.MonitorPort = r.HealthCheckNodePort
		}
		resolved.Members = append(resolved.Members, member)
	}

	return resolved
}

// membersOf returns the Nodes that can be members.
func (r *Request) membersOf(given Given) ([]Target, []service.Warning) {
	families := given.families(r.Family)
	if given.Features.Has(features.MixedFamilies) || len(families) == 0 {
		return r.Members, nil
	}
	var kept []Target
	var skipped []string
	for _, target := range r.Members {
		if slices.Contains(families, address.FamilyOf(target.Address)) {
			kept = append(kept, target)
		} else {
			skipped = append(skipped, target.Node)
		}
	}

	return kept, service.SkippedNodes(skipped, "the provider "+given.Features.Provider()+" needs addresses of the IP family of the load balancer")
}

// checkPorts returns an error for each protocol that the provider is known to refuse:
// it would refuse the whole load balancer.
func (r *Request) checkPorts(available features.Features) error {
	var errs []error
	for _, port := range r.Ports {
		if port.Protocol == v1.ProtocolSCTP && !available.Has(features.SCTP) {
			errs = append(errs, fmt.Errorf("port %d: the load balancer API %s has no SCTP", port.Number, available.Version()))
		}
		for _, protocol := range []struct {
			what string
			name features.Protocol
			has  bool
		}{
			{"listeners", port.Listener, available.Listener(port.Listener)},
			{"pools", port.Pool, available.Pool(port.Pool)},
		} {
			if !protocol.has {
				errs = append(errs, fmt.Errorf("port %d: the provider %s has no %s of the protocol %s",
					port.Number, available.Provider(), protocol.what, protocol.name))
			}
		}
	}

	return errors.Join(errs...)
}

// checkMonitors returns an error if Octavia refuses a health monitor.
func (r *Resolved) checkMonitors() error {
	for _, port := range r.Ports {
		if m := port.Monitor; m != nil && m.Type == features.MonitorUDPConnect && m.Delay < leastUDPDelay {
			return fmt.Errorf("port %d: the delay of health monitors is %d seconds, UDP ports need at least %d", port.Number, m.Delay, leastUDPDelay)
		}
	}

	return nil
}

// warnMonitors warns of ports whose Nodes are not checked, and of Nodes without
// endpoints that get traffic. A UDP port that drops what it gets passes the check.
func (r *Request) warnMonitors(ports []ResolvedPort) []service.Warning {
	var warnings []service.Warning
	var reasons []string
	unmonitored := map[string][]string{}
	for _, port := range ports {
		if port.NodePort == 0 {
			continue
		}
		if r.Monitor != nil && port.Monitor == nil {
			warnings = append(warnings, service.Warn(HealthMonitorMissing,
				"Port %d has no health monitor: the provider has none for %s", port.Number, port.Protocol))
		}
		if !r.LocalTraffic || port.Monitor != nil && port.Monitor.Type != features.MonitorUDPConnect {
			continue
		}
		why := r.whyNotMonitored(port)
		if unmonitored[why] == nil {
			reasons = append(reasons, why)
		}
		unmonitored[why] = append(unmonitored[why], fmt.Sprint(port.Number))
	}
	for _, why := range reasons {
		warnings = append(warnings, service.Warn(LocalTrafficNotMonitored,
			"Nodes without endpoints also get traffic of ports %s, and drop it: externalTrafficPolicy is Local, and %s", plan.FewCommas(unmonitored[why]), why))
	}

	return warnings
}

func (r *Request) whyNotMonitored(port ResolvedPort) string {
	switch {
	case r.Monitor == nil:
		return "there are no health monitors without " + string(AnnotationEnableHealthMonitor) + "=true"
	case r.HealthCheckNodePort == 0:
		return "the service has no health check node port"
	case port.Protocol == v1.ProtocolUDP:
		return "the load balancer API or the provider has no HTTP health monitors of UDP ports"
	default:
		return "the provider has no health monitor for " + string(port.Protocol)
	}
}

// invalid returns an error of the Service, which persists until its user changes it.
func invalid(format string, args ...any) error {
	return apierr.Mark(apierr.ErrInvalid, fmt.Errorf(format, args...))
}
