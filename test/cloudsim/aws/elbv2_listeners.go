package aws

import (
	"maps"
	"slices"
	"strings"
)

// forwards lists the protocols of target groups that a listener can forward to.
var forwards = map[string][]string{
	"TCP":     {"TCP", "TCP_UDP"},
	"TLS":     {"TCP", "TLS"},
	"UDP":     {"UDP", "TCP_UDP"},
	"TCP_UDP": {"TCP_UDP"},
}

// networkPolicies are the security policies of TLS listeners.
var networkPolicies = []string{
	"ELBSecurityPolicy-2015-05",
	"ELBSecurityPolicy-2016-08",
	"ELBSecurityPolicy-FS-2018-06",
	"ELBSecurityPolicy-FS-1-1-2019-08",
	"ELBSecurityPolicy-FS-1-2-2019-08",
	"ELBSecurityPolicy-FS-1-2-Res-2019-08",
	"ELBSecurityPolicy-FS-1-2-Res-2020-10",
	"ELBSecurityPolicy-TLS-1-0-2015-04",
	"ELBSecurityPolicy-TLS-1-1-2017-01",
	"ELBSecurityPolicy-TLS-1-2-2017-01",
	"ELBSecurityPolicy-TLS-1-2-Ext-2018-06",
	"ELBSecurityPolicy-TLS13-1-0-2021-06",
	"ELBSecurityPolicy-TLS13-1-1-2021-06",
	"ELBSecurityPolicy-TLS13-1-2-2021-06",
	"ELBSecurityPolicy-TLS13-1-2-Ext1-2021-06",
	"ELBSecurityPolicy-TLS13-1-2-Ext2-2021-06",
	"ELBSecurityPolicy-TLS13-1-2-Res-2021-06",
	"ELBSecurityPolicy-TLS13-1-3-2021-06",
}

// createListener implements CreateListener. The same request again returns the
// existing listener.
func (c *Cloud) createListener(p params) (any, error) {
	n, err := c.networkOf(p)
	if err != nil {
		return nil, err
	}
	if err := p.require("Protocol", "Port", "DefaultActions"); err != nil {
		return nil, err
	}
	l := &listener{Created: c.created(), balancer: n.arn}
	if l.tags, err = readTags(p); err != nil {
		return nil, err
	}
	if err := c.readNetworkListener(p, l); err != nil {
		return nil, err
	}
	others := c.listenersOf(n.arn)
	if i := slices.IndexFunc(others, func(o *listener) bool { return o.port == l.port }); i >= 0 {
		if !others[i].isAs(l) {
			return nil, portTaken(n.arn)
		}

		return lbListenersXML{Listeners: []lbNetworkListenerXML{c.listenerWire(others[i])}}, nil
	}
	if err := quota(len(others)+1, c.balancers.quotas.Listeners, "TooManyListeners", "listeners of a load balancer"); err != nil {
		return nil, err
	}
	l.arn = c.balancerARN("listener/" + strings.TrimPrefix(n.arn, c.balancerARN("loadbalancer/")) + "/" + c.ids.Hex("listener", 16))
	c.balancers.listeners[l.arn] = l

	return lbListenersXML{Listeners: []lbNetworkListenerXML{c.listenerWire(l)}}, nil
}

func portTaken(balancer string) error {
	return fail("DuplicateListener", "A listener already exists on this port for this load balancer '%s'", balancer)
}

// isAs reports whether the listener is as the request defines it.
func (l *listener) isAs(want *listener) bool {
	return l.protocol == want.protocol && l.group == want.group && l.policy == want.policy &&
		slices.Equal(l.certificates, want.certificates) && slices.Equal(l.alpn, want.alpn) && maps.Equal(l.tags, want.tags)
}

// modifyListener implements ModifyListener.
func (c *Cloud) modifyListener(p params) (any, error) {
	old, err := c.listenerOf(p)
	if err != nil {
		return nil, err
	}
	l := old.clone()
	// "If you change the protocol from HTTP to HTTPS, or from TCP to TLS, you must add
	// the security policy and default certificate properties."
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_ModifyListener.html
	if p.str("Protocol") == "TLS" && old.protocol != "TLS" && !p.has("SslPolicy") {
		return nil, invalid("A security policy must be specified for TLS listeners")
	}
	if err := c.readNetworkListener(p, l); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(c.listenersOf(l.balancer), func(o *listener) bool { return o.arn != l.arn && o.port == l.port }) {
		return nil, portTaken(l.balancer)
	}
	if old.group != l.group {
		c.release(old.group)
	}
	*old = *l

	return lbListenersXML{Listeners: []lbNetworkListenerXML{c.listenerWire(l)}}, nil
}

// readNetworkListener applies a request to a listener.
func (c *Cloud) readNetworkListener(p params, l *listener) error {
	var err error
	if l.port, err = number(p, "Port", l.port, 1, 65535); err != nil {
		return err
	}
	if protocol := p.str("Protocol"); protocol != "" {
		l.protocol = protocol
	}
	if forwards[l.protocol] == nil {
		return invalid("Listener protocol '%s' must be one of 'UDP, TLS, TCP, TCP_UDP'", l.protocol)
	}
	if p.has("DefaultActions") {
		if l.group, err = readAction(p); err != nil {
			return err
		}
	}
	if err := c.readSecurity(p, l); err != nil {
		return err
	}

	return c.checkForward(l)
}

// readAction returns the target group that the request's only action forwards to.
func readAction(p params) (string, error) {
	actions := p.structs("DefaultActions.member")
	if len(actions) != 1 {
		return "", invalid("Exactly one default action must be specified, not %d", len(actions))
	}
	action := actions[0]
	if kind := action.str("Type"); kind != "forward" {
		return "", fail("InvalidLoadBalancerAction", "The action type '%s' is not valid with network load balancers", kind)
	}
	group := action.str("TargetGroupArn")
	for _, tuple := range action.structs("ForwardConfig.TargetGroups.member") {
		arn := tuple.str("TargetGroupArn")
		if group != "" && group != arn {
			return "", configuration("Forwarding to several target groups is not simulated")
		}
		group = arn
	}
	if group == "" {
		return "", invalid("A target group ARN must be specified")
	}

	return group, nil
}

// readSecurity changes what only TLS listeners have. They have one certificate.
func (c *Cloud) readSecurity(p params, l *listener) error {
	certificates := p.structs("Certificates.member")
	alpn := p.list("AlpnPolicy.member")
	policy := p.str("SslPolicy")
	if l.protocol != "TLS" {
		if len(certificates) > 0 || policy != "" || len(alpn) > 0 {
			return configuration("Certificates, ALPN policies and security policies can only be specified for listeners with the protocol TLS")
		}
		l.certificates, l.alpn, l.policy = nil, nil, ""

		return nil
	}
	if len(certificates) > 1 {
		return fail("TooManyCertificates", "Exactly one certificate must be specified, not %d", len(certificates))
	}
	for _, certificate := range certificates {
		arn := certificate.str("CertificateArn")
		if !c.certified(arn) {
			return fail("CertificateNotFound", "Certificate '%s' not found", arn)
		}
		l.certificates = []string{arn}
	}
	if len(l.certificates) == 0 {
		return invalid("A certificate must be specified for TLS listeners")
	}
	if len(alpn) > 0 {
		if len(alpn) > 1 || !slices.Contains([]string{"HTTP1Only", "HTTP2Only", "HTTP2Optional", "HTTP2Preferred", "None"}, alpn[0]) {
			return fail("ALPNPolicyNotFound", "ALPN policy '%s' is not supported", strings.Join(alpn, ", "))
		}
		l.alpn = alpn
	}
	if policy != "" {
		if !slices.Contains(networkPolicies, policy) {
			return fail("SSLPolicyNotFound", "SSL Policy '%s' not found", policy)
		}
		l.policy = policy
	}
	if l.policy == "" {
		l.policy = defaultSecurityPolicy
	}

	return nil
}

// checkForward returns an error if a listener may not forward to its target group.
func (c *Cloud) checkForward(l *listener) error {
	n, g := c.balancers.networks[l.balancer], c.balancers.groups[l.group]
	if g == nil || !c.changeable(&g.Created) {
		return noTargetGroup(l.group)
	}
	if !slices.Contains(forwards[l.protocol], g.protocol) {
		return fail("IncompatibleProtocols", "Listener protocol '%s' is not supported with a target group with the protocol '%s'", l.protocol, g.protocol)
	}
	if g.vpc != n.vpc {
		return configuration("The target group '%s' is not in the same VPC as the load balancer '%s'", g.arn, n.arn)
	}
	if slices.ContainsFunc(c.balancersOf(g.arn), func(arn string) bool { return arn != l.balancer }) {
		return fail("TargetGroupAssociationLimit", "The following target groups cannot be associated with more than one load balancer: %s", g.arn)
	}
	groups := c.targetsOf(n, l.arn)
	groups[g.arn] = g.registered()

	return c.checkTargets(crossZone(n.attributes), groups)
}

// deleteListener implements DeleteListener.
func (c *Cloud) deleteListener(p params) (any, error) {
	l, err := c.listenerOf(p)
	if err != nil {
		return nil, err
	}
	delete(c.balancers.listeners, l.arn)
	c.release(l.group)

	return nil, nil
}

// describeListeners implements DescribeListeners.
func (c *Cloud) describeListeners(p params) (any, error) {
	balancer, arns := p.str("LoadBalancerArn"), p.list("ListenerArns.member")
	if (balancer == "") == (len(arns) == 0) {
		return nil, invalid("You must specify either listener ARNs or a load balancer ARN")
	}
	if n := c.balancers.networks[balancer]; balancer != "" && (n == nil || !c.visible(&n.Created)) {
		return nil, noNetwork(balancer)
	}
	var found []*listener
	for _, l := range c.balancers.listeners {
		if (l.balancer == balancer || slices.Contains(arns, l.arn)) && c.visible(&l.Created) {
			found = append(found, l)
		}
	}
	slices.SortFunc(found, func(a, b *listener) int { return strings.Compare(a.arn, b.arn) })
	for _, want := range arns {
		if !slices.ContainsFunc(found, func(l *listener) bool { return l.arn == want }) {
			return nil, noListener(want)
		}
	}
	found, next, err := page(c, p, markerPager, found, func(l *listener) string { return l.arn })
	if err != nil {
		return nil, err
	}
	out := lbListenersXML{NextMarker: next}
	for _, l := range found {
		out.Listeners = append(out.Listeners, c.listenerWire(l))
	}

	return out, nil
}
