package request

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// ForEnsure returns the request of a Service. All mistakes in it are one error that
// means apierr.ErrInvalid; values that are not used are warnings. That there are no
// Nodes at all is an error, that none has the labels is not.
func ForEnsure(svc *v1.Service, nodes []*v1.Node, settings Settings) (*Request, []service.Warning, error) {
	p := newParser(svc, settings)
	if len(nodes) == 0 {
		p.reject("there are no nodes for the load balancer")
	}

	return p.parse(nodes)
}

// ForUpdate returns the request of a Service whose Nodes have changed. Other than for
// ForEnsure, there may be no Nodes.
func ForUpdate(svc *v1.Service, nodes []*v1.Node, settings Settings) (*Request, []service.Warning, error) {
	return newParser(svc, settings).parse(nodes)
}

// parser reads a Service.
type parser struct {
	svc      *v1.Service
	settings Settings
	class    Networks
	request  *Request
	strict   *annotation.Reader
	errs     []error
	warnings []service.Warning
}

func newParser(svc *v1.Service, settings Settings) *parser {
	return &parser{svc: svc, settings: settings, request: new(Request), strict: annotation.NewReader(svc)}
}

// reject adds a mistake that is not in the value of one annotation.
func (p *parser) reject(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

func (p *parser) warn(reason service.Reason, format string, args ...any) {
	p.warnings = append(p.warnings, service.Warn(reason, format, args...))
}

func (p *parser) parse(nodes []*v1.Node) (*Request, []service.Warning, error) {
	r := p.request
	r.Names = NewNames(p.settings.ClusterName, p.svc)
	r.LoadBalancerID = p.id(AnnotationLoadBalancerID)
	r.Published = AnnotationLoadBalancerAddress.Value(p.svc)
	r.ManageSecurityGroups = p.settings.ManageSecurityGroups
	p.readPlace()
	p.readNetworks()
	p.readPorts()
	p.readTraffic()
	p.readMonitor()
	p.readClientRanges()
	p.readStatus()
	p.readMembers(nodes)
	p.warnIgnored()
	if err := errors.Join(append(p.errs, p.strict.Err())...); err != nil {
		return nil, p.warnings, apierr.Mark(apierr.ErrInvalid, err)
	}

	return r, p.warnings, nil
}

// readPlace reads whether the load balancer is internal, its family and its class.
func (p *parser) readPlace() {
	r := p.request
	r.Internal = p.boolean(AnnotationInternal, false) || p.settings.InternalOnly
	if families := p.svc.Spec.IPFamilies; len(families) > 0 {
		r.Family = familyOf(families[0])
		p.warnFamilies(families)
	}
	if name := AnnotationClass.Value(p.svc); name != "" {
		class, ok := p.settings.Classes[name]
		if !ok {
			p.strict.Reject(AnnotationClass, "a class of the cloud-config")
		}
		p.class = class
	}
}

// warnFamilies reports that only the first family is served. Only a Service that requires two lacks
// one.
func (p *parser) warnFamilies(families []v1.IPFamily) {
	if len(families) < 2 {
		return
	}
	text := fmt.Sprintf("The load balancer serves %s only: %s of spec.ipFamilies is not served", families[0], families[1])
	if policy := p.svc.Spec.IPFamilyPolicy; policy != nil && *policy == v1.IPFamilyPolicyRequireDualStack {
		p.warn(FamilyIgnored, "%s, although spec.ipFamilyPolicy is %s", text, *policy)

		return
	}
	p.warnings = append(p.warnings, service.Warning{Reason: FamilyIgnored, Message: text, Normal: true})
}

// familyOf returns the family of a Service, empty for one that is not known.
func familyOf(family v1.IPFamily) address.Family {
	switch family {
	case v1.IPv4Protocol:
		return address.IPv4
	case v1.IPv6Protocol:
		return address.IPv6
	default:
		return ""
	}
}

// readTraffic reads what applies to all listeners and pools.
func (p *parser) readTraffic() {
	r := p.request
	r.KeepsAffinity = p.svc.Spec.SessionAffinity == v1.ServiceAffinityClientIP
	r.Method = p.text(AnnotationLBMethod, p.settings.Method)
	const noLimit = -1
	r.ConnectionLimit = p.number(AnnotationConnectionLimit, noLimit, between{noLimit, maxInt32})
	milliseconds := between{0, maxTimeout}
	r.Timeouts = Timeouts{
		ClientData:    p.number(AnnotationTimeoutClientData, defaultTimeoutClientData, milliseconds),
		MemberConnect: p.number(AnnotationTimeoutMemberConnect, defaultTimeoutMemberConnect, milliseconds),
		MemberData:    p.number(AnnotationTimeoutMemberData, defaultTimeoutMemberData, milliseconds),
		TCPInspect:    p.number(AnnotationTimeoutTCPInspect, 0, milliseconds),
	}
	r.FlavorID = p.textOrEmpty(AnnotationFlavorID, p.settings.FlavorID)
	r.AvailabilityZone = p.textOrEmpty(AnnotationAvailabilityZone, p.settings.AvailabilityZone)
}

// The defaults and limits of listeners (octavia: common/constants.py
// MIN_TIMEOUT, MAX_TIMEOUT, MIN_CONNECTION_LIMIT).
const (
	defaultTimeoutClientData    = 50000
	defaultTimeoutMemberConnect = 5000
	defaultTimeoutMemberData    = 50000
	maxTimeout                  = 24 * 24 * 60 * 60 * 1000
	maxInt32                    = 1<<31 - 1
)
