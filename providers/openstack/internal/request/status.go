package request

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// readStatus reads what is published instead of the address.
func (p *parser) readStatus() {
	r := p.request
	r.Hostname = AnnotationHostname.Value(p.svc)
	_, err := netip.ParseAddr(r.Hostname)
	if r.Hostname != "" && (err == nil || len(content.IsDNS1123Subdomain(r.Hostname)) > 0) {
		p.strict.Reject(AnnotationHostname, "a DNS name")
	}
	r.HostnameSuffix = p.settings.IngressHostnameSuffix
}

// Ingress returns the status of a load balancer with this address:
//
//	annotation hostname                            hostname
//	PROXY protocol and enable-ingress-hostname     hostname <address>.<suffix>
//	PROXY protocol                                 IP, mode Proxy
//	else                                           IP, mode VIP
//
// An IPv6 address cannot be part of a hostname, and is published as it is.
func (r *Request) Ingress(addr netip.Addr) v1.LoadBalancerIngress {
	addr = addr.Unmap()
	proxied := r.ProxyProtocol != ""
	switch {
	case r.Hostname != "":
		return v1.LoadBalancerIngress{Hostname: r.Hostname}
	case proxied && r.HostnameSuffix != "" && addr.Is4():
		return v1.LoadBalancerIngress{Hostname: addr.String() + "." + r.HostnameSuffix}
	case proxied:
		return v1.LoadBalancerIngress{IP: addr.String(), IPMode: new(v1.LoadBalancerIPModeProxy)}
	default:
		return v1.LoadBalancerIngress{IP: addr.String(), IPMode: new(v1.LoadBalancerIPModeVIP)}
	}
}

// NeedsFloatingIP reports whether a load balancer with this VIP gets a floating IP. An
// IPv6 address cannot have one; if the Service is external, that is a warning.
func (r *Request) NeedsFloatingIP(vip netip.Addr) (bool, []service.Warning) {
	switch {
	case r.Internal:
		return false, nil
	case vip.Unmap().Is6():
		return false, []service.Warning{service.Warn(FloatingIPSkipped, "The load balancer has no floating IP: its address %s is IPv6", vip)}
	default:
		return true, nil
	}
}
