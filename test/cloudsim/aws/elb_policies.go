package aws

import (
	"maps"
	"slices"
	"strings"
)

// Types of policies of the classic API.
const (
	policyNegotiation = "SSLNegotiationPolicyType"
	policyProxy       = "ProxyProtocolPolicyType"
	policyPublicKey   = "PublicKeyPolicyType"
	policyBackendAuth = "BackendServerAuthenticationPolicyType"

	attributeReference = "Reference-Security-Policy"
)

// samplePolicies are the policies that every load balancer has.
var samplePolicies = []string{
	"ELBSample-ELBDefaultCipherPolicy",
	"ELBSample-OpenSSLDefaultCipherPolicy",
	"ELBSecurityPolicy-2011-08",
	"ELBSecurityPolicy-2014-01",
	"ELBSecurityPolicy-2014-10",
	"ELBSecurityPolicy-2015-02",
	"ELBSecurityPolicy-2015-03",
	"ELBSecurityPolicy-2015-05",
	"ELBSecurityPolicy-2016-08",
	"ELBSecurityPolicy-TLS-1-1-2017-01",
	"ELBSecurityPolicy-TLS-1-2-2017-01",
}

// samplePolicy returns one of samplePolicies.
func samplePolicy(name string) ClassicPolicy {
	return ClassicPolicy{Type: policyNegotiation, Attributes: map[string]string{attributeReference: name}}
}

func noPolicy(name string) error {
	return fail("PolicyNotFound", "There is no policy with name '%s'", name)
}

// createClassicPolicy implements CreateLoadBalancerPolicy.
func (c *Cloud) createClassicPolicy(p params) (any, error) {
	b, err := c.classicOf(p)
	if err != nil {
		return nil, err
	}
	if err := p.require("PolicyName", "PolicyTypeName"); err != nil {
		return nil, err
	}
	name := p.str("PolicyName")
	if _, exists := b.Policies[name]; exists {
		return nil, fail("DuplicatePolicyName", "Policy with name '%s' already exists for load balancer '%s'", name, b.Name)
	}
	policy := ClassicPolicy{Type: p.str("PolicyTypeName"), Attributes: make(map[string]string)}
	for _, attribute := range p.structs("PolicyAttributes.member") {
		policy.Attributes[attribute.str("AttributeName")] = attribute.str("AttributeValue")
	}
	if err := policy.check(); err != nil {
		return nil, err
	}
	b.Policies[name] = policy

	return nil, nil
}

// check returns an error for a policy that is invalid by itself.
func (p ClassicPolicy) check() error {
	switch p.Type {
	case policyNegotiation:
		return p.checkNegotiation()
	case policyProxy:
		if v := p.Attributes["ProxyProtocol"]; len(p.Attributes) != 1 || (v != "true" && v != "false") {
			return conflict("A policy of type %s needs exactly the attribute ProxyProtocol, either true or false", p.Type)
		}
	case policyPublicKey:
		if p.Attributes["PublicKey"] == "" {
			return conflict("A policy of type %s needs the attribute PublicKey", p.Type)
		}
	case policyBackendAuth:
		if p.Attributes["PublicKeyPolicyName"] == "" {
			return conflict("A policy of type %s needs the attribute PublicKeyPolicyName", p.Type)
		}
	default:
		return fail("PolicyTypeNotFound", "There is no policy type with name '%s'", p.Type)
	}

	return nil
}

func (p ClassicPolicy) checkNegotiation() error {
	reference, referring := p.Attributes[attributeReference]
	if referring {
		if !slices.Contains(samplePolicies, reference) {
			return conflict("'%s' is not a valid value for the attribute %s", reference, attributeReference)
		}
		if len(p.Attributes) > 1 {
			return conflict("The attribute %s cannot be combined with others", attributeReference)
		}

		return nil
	}
	for name, value := range p.Attributes {
		if value != "true" && value != "false" {
			return conflict("'%s' is not a valid value for the attribute %s", value, name)
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(p.Attributes)), func(name string) bool { return strings.HasPrefix(name, "Protocol-") }) {
		return conflict("A policy of type %s needs at least one protocol", p.Type)
	}

	return nil
}

// policiesOf returns the wanted policies, which must be of the load balancer and
// of one of the types.
func (b *classicBalancer) policiesOf(p params, types ...string) ([]string, error) {
	names := p.list("PolicyNames.member")
	for _, name := range names {
		policy, found := b.Policies[name]
		if !found {
			return nil, noPolicy(name)
		}
		if !slices.Contains(types, policy.Type) {
			return nil, conflict("%s cannot be enabled", name)
		}
	}

	return names, nil
}

// setListenerPolicies implements SetLoadBalancerPoliciesOfListener.
func (c *Cloud) setListenerPolicies(p params) (any, error) {
	b, err := c.classicOf(p)
	if err != nil {
		return nil, err
	}
	l, err := b.listenerOf(p)
	if err != nil {
		return nil, err
	}
	names, err := b.policiesOf(p, policyNegotiation)
	if err != nil {
		return nil, err
	}
	if len(names) > 1 || (len(names) == 1 && !encrypted(l.Protocol)) {
		return nil, conflict("Only one policy of type %s can be enabled, and only for a listener with SSL or HTTPS", policyNegotiation)
	}
	l.Policies = names

	return nil, nil
}

// setBackendPolicies implements SetLoadBalancerPoliciesForBackendServer.
// Policies of a port whose listener went away can still be taken off.
func (c *Cloud) setBackendPolicies(p params) (any, error) {
	b, err := c.classicOf(p)
	if err != nil {
		return nil, err
	}
	port, err := portOf(p, "InstancePort")
	if err != nil {
		return nil, err
	}
	names, err := b.policiesOf(p, policyProxy, policyBackendAuth)
	if err != nil {
		return nil, err
	}
	if _, known := b.BackendPolicies[port]; !known && !b.backs(port) {
		return nil, conflict("Load balancer '%s' has no listener with InstancePort %d", b.Name, port)
	}
	if len(names) == 0 {
		delete(b.BackendPolicies, port)
	} else {
		b.BackendPolicies[port] = names
	}

	return nil, nil
}
