package aws

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// defaultSecurityPolicy is what a listener gets that terminates TLS and names no
// policy, in both APIs.
const defaultSecurityPolicy = "ELBSecurityPolicy-2016-08"

// createClassicListeners implements CreateLoadBalancerListeners.
func (c *Cloud) createClassicListeners(p params) (any, error) {
	b, err := c.classicOf(p)
	if err != nil {
		return nil, err
	}
	listeners := p.structs("Listeners.member")
	if len(listeners) == 0 {
		return nil, invalid("Listeners must not be empty")
	}

	return nil, c.listen(&b.ClassicLoadBalancer, listeners)
}

// deleteClassicListeners implements DeleteLoadBalancerListeners. Ports without a
// listener are ignored.
func (c *Cloud) deleteClassicListeners(p params) (any, error) {
	b, err := c.classicOf(p)
	if err != nil {
		return nil, err
	}
	ports := p.list("LoadBalancerPorts.member")
	if len(ports) == 0 {
		return nil, invalid("LoadBalancerPorts must not be empty")
	}
	b.Listeners = slices.DeleteFunc(b.Listeners, func(l ClassicListener) bool { return slices.Contains(ports, strconv.Itoa(int(l.Port))) })

	return nil, nil
}

// setClassicCertificate implements SetLoadBalancerListenerSSLCertificate.
func (c *Cloud) setClassicCertificate(p params) (any, error) {
	b, err := c.classicOf(p)
	if err != nil {
		return nil, err
	}
	if err := p.require("SSLCertificateId"); err != nil {
		return nil, err
	}
	l, err := b.listenerOf(p)
	if err != nil {
		return nil, err
	}
	changed := *l
	changed.Certificate = p.str("SSLCertificateId")
	if err := c.checkListener(changed); err != nil {
		return nil, err
	}
	l.Certificate = changed.Certificate

	return nil, nil
}

// listenerOf returns the listener that the request is about.
func (b *classicBalancer) listenerOf(p params) (*ClassicListener, error) {
	port, err := portOf(p, "LoadBalancerPort")
	if err != nil {
		return nil, err
	}
	if l := b.listener(port); l != nil {
		return l, nil
	}

	return nil, fail("ListenerNotFound", "There is no listener with port %d for load balancer '%s'", port, b.Name)
}

// portOf returns a port that has to be there.
func portOf(p params, name string) (int32, error) {
	if err := p.require(name); err != nil {
		return 0, err
	}

	return number(p, name, 0, 1, 65535)
}

// listen adds listeners: all of them or, when one cannot be, none. One that
// already exists in this form stays.
func (c *Cloud) listen(b *ClassicLoadBalancer, requests []params) error {
	listeners := cloneListeners(b.Listeners)
	for _, request := range requests {
		l, err := c.readListener(request)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(listeners, func(other ClassicListener) bool { return other.Port == l.Port })
		if i >= 0 {
			if !listeners[i].sameAs(l) {
				return fail("DuplicateListener", "A listener already exists for %s with LoadBalancerPort %d, but with a different InstancePort, Protocol, or SSLCertificateId", b.Name, l.Port)
			}

			continue
		}
		for _, other := range listeners {
			if other.InstancePort == l.InstancePort && encrypted(other.InstanceProtocol) != encrypted(l.InstanceProtocol) {
				return conflict("Listeners with InstancePort %d must agree on whether the InstanceProtocol is secure", l.InstancePort)
			}
		}
		if encrypted(l.Protocol) {
			l.Policies = []string{defaultSecurityPolicy}
		}
		listeners = append(listeners, l)
	}
	if most := c.balancers.quotas.ClassicListeners; len(listeners) > most {
		return conflict("A load balancer cannot have more than %d listeners", most)
	}
	slices.SortFunc(listeners, func(a, b ClassicListener) int { return cmp.Compare(a.Port, b.Port) })
	b.Listeners = listeners
	if slices.ContainsFunc(listeners, func(l ClassicListener) bool { return slices.Contains(l.Policies, defaultSecurityPolicy) }) {
		b.Policies[defaultSecurityPolicy] = samplePolicy(defaultSecurityPolicy)
	}

	return nil
}

func (c *Cloud) readListener(p params) (ClassicListener, error) {
	l := ClassicListener{Protocol: strings.ToUpper(p.str("Protocol")), Certificate: p.str("SSLCertificateId")}
	l.InstanceProtocol = strings.ToUpper(cmp.Or(p.str("InstanceProtocol"), l.Protocol))
	var err error
	if l.Port, err = portOf(p, "LoadBalancerPort"); err != nil {
		return l, err
	}
	if l.InstancePort, err = portOf(p, "InstancePort"); err != nil {
		return l, err
	}

	return l, c.checkListener(l)
}

// checkListener returns an error for a listener that is invalid by itself.
func (c *Cloud) checkListener(l ClassicListener) error {
	for _, protocol := range []string{l.Protocol, l.InstanceProtocol} {
		if !slices.Contains([]string{"HTTP", "HTTPS", "TCP", "SSL"}, protocol) {
			return fail("UnsupportedProtocol", "Protocol %s is not supported; it must be one of HTTP, HTTPS, TCP and SSL", protocol)
		}
	}
	if strings.HasPrefix(l.Protocol, "HTTP") != strings.HasPrefix(l.InstanceProtocol, "HTTP") {
		return conflict("Protocol %s and InstanceProtocol %s must both be at the application layer or both at the transport layer", l.Protocol, l.InstanceProtocol)
	}
	switch {
	case encrypted(l.Protocol) && !c.certified(l.Certificate):
		return fail("CertificateNotFound", "Server Certificate not found for the key: %s", l.Certificate)
	case !encrypted(l.Protocol) && l.Certificate != "":
		return conflict("SSLCertificateId cannot be specified for a listener with Protocol %s", l.Protocol)
	}

	return nil
}

// sameAs compares the settings of a listener that a request can have.
func (l ClassicListener) sameAs(other ClassicListener) bool {
	return l.Port == other.Port && l.Protocol == other.Protocol && l.InstancePort == other.InstancePort &&
		l.InstanceProtocol == other.InstanceProtocol && l.Certificate == other.Certificate
}

// encrypted reports whether a protocol of the classic API is secure.
func encrypted(protocol string) bool { return protocol == "HTTPS" || protocol == "SSL" }
