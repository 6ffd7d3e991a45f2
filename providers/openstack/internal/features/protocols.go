package features

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Protocol is a protocol of listeners and pools.
type Protocol string

// The protocols (octavia: lib/common/constants.py).
const (
	ProtocolTCP             Protocol = "TCP"
	ProtocolUDP             Protocol = "UDP"
	ProtocolSCTP            Protocol = "SCTP"
	ProtocolHTTP            Protocol = "HTTP"
	ProtocolHTTPS           Protocol = "HTTPS"
	ProtocolTerminatedHTTPS Protocol = "TERMINATED_HTTPS"
	ProtocolPROXY           Protocol = "PROXY"
	ProtocolPROXYV2         Protocol = "PROXYV2"
)

// pairs are the protocols of pools that a listener of each protocol can have, else the
// response is 400 (octavia: common/constants.py VALID_LISTENER_POOL_PROTOCOL_MAP). The first
// one is the usual one.
var pairs = map[Protocol][]Protocol{
	ProtocolTCP:             {ProtocolTCP, ProtocolHTTP, ProtocolHTTPS, ProtocolPROXY, ProtocolPROXYV2},
	ProtocolHTTP:            {ProtocolHTTP, ProtocolPROXY, ProtocolPROXYV2},
	ProtocolTerminatedHTTPS: {ProtocolHTTP, ProtocolPROXY, ProtocolPROXYV2},
	ProtocolHTTPS:           {ProtocolHTTPS, ProtocolTCP, ProtocolPROXY, ProtocolPROXYV2},
	ProtocolUDP:             {ProtocolUDP},
	ProtocolSCTP:            {ProtocolSCTP},
}

// ValidPair reports whether a listener can have a pool of that protocol.
func ValidPair(listener, pool Protocol) bool { return slices.Contains(pairs[listener], pool) }

// UsualPool returns the protocol of the pool that a listener has unless a user wants another
// one: that of the listener itself, if there are such pools.
func UsualPool(listener Protocol) Protocol {
	if usual := pairs[listener]; len(usual) > 0 {
		return usual[0]
	}

	return listener
}

// Transport returns the transport protocol of a listener: two listeners with the same
// one cannot have the same port (octavia: common/constants.py L4_PROTOCOL_MAP). It is
// empty for a protocol that is not known.
func Transport(listener Protocol) v1.Protocol {
	switch listener {
	case ProtocolUDP:
		return v1.ProtocolUDP
	case ProtocolSCTP:
		return v1.ProtocolSCTP
	case ProtocolTCP, ProtocolHTTP, ProtocolHTTPS, ProtocolTerminatedHTTPS, ProtocolPROXY, ProtocolPROXYV2, "PROMETHEUS":
		return v1.ProtocolTCP
	default:
		return ""
	}
}

// HasHeaders reports whether a listener can insert HTTP headers, which is 400 for the
// others (octavia: api/v2/controllers/listener.py).
func HasHeaders(listener Protocol) bool {
	return listener == ProtocolHTTP || listener == ProtocolTerminatedHTTPS
}

// HasHeader reports whether a listener can insert an HTTP header: those about certificates of
// clients need TLS (octavia-lib: common/constants.py, SUPPORTED_SSL_HEADERS).
func HasHeader(listener Protocol, name string) bool {
	return HasHeaders(listener) && (listener == ProtocolTerminatedHTTPS || !strings.HasPrefix(name, "X-SSL-"))
}

// Listener reports whether the provider has listeners of a protocol.
func (f Features) Listener(p Protocol) bool {
	switch p {
	case ProtocolHTTP, ProtocolTerminatedHTTPS, ProtocolHTTPS:
		return f.Has(HTTPListeners)
	default:
		return true
	}
}

// Pool reports whether the provider has pools of a protocol. An API that is too old for
// one refuses it by itself.
func (f Features) Pool(p Protocol) bool {
	switch p {
	case ProtocolPROXY, ProtocolPROXYV2:
		return f.Has(Proxy)
	default:
		return f.Listener(p)
	}
}

// The algorithms of pools (octavia: lib/common/constants.py).
const (
	RoundRobin       = "ROUND_ROBIN"
	LeastConnections = "LEAST_CONNECTIONS"
	SourceIP         = "SOURCE_IP"
	SourceIPAndPort  = "SOURCE_IP_PORT"
)

// DefaultAlgorithm returns the algorithm of pools for which none is set. The only one
// of all versions of OVN is not the usual one.
func (f Features) DefaultAlgorithm() string {
	if f.IsOVN() {
		return SourceIPAndPort
	}

	return RoundRobin
}

// Algorithm reports whether the provider is not known to refuse an algorithm (octavia:
// api/drivers/amphora_driver/v2/driver.py; ovn-octavia-provider: common/constants.py). New
// versions of OVN also have SOURCE_IP.
func (f Features) Algorithm(name string) bool {
	switch {
	case f.IsOVN():
		return name == SourceIPAndPort || name == SourceIP
	case f.isAmphora():
		return name != SourceIPAndPort
	default:
		return true
	}
}
