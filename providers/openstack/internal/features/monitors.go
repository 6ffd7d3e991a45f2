package features

import v1 "k8s.io/api/core/v1"

// MonitorType is a type of health monitors.
type MonitorType string

// The types of health monitors (octavia: lib/common/constants.py).
const (
	MonitorTCP        MonitorType = "TCP"
	MonitorUDPConnect MonitorType = "UDP-CONNECT"
	MonitorSCTP       MonitorType = "SCTP"
	MonitorHTTP       MonitorType = "HTTP"
)

// Monitor returns the type of the health monitor for a port of this protocol, empty if
// the provider has none. Wants HTTP means that Nodes have a health check port for the
// Service.
//
//	                            wants HTTP              else
//	TCP                         HTTP                    TCP
//	UDP   from version 2.16     HTTP                    UDP-CONNECT
//	UDP   before                UDP-CONNECT             UDP-CONNECT
//	SCTP                        HTTP                    SCTP
//	TCP   OVN                   TCP                     TCP
//	UDP   OVN                   UDP-CONNECT             UDP-CONNECT
//	SCTP  OVN                   none                    none
func (f Features) Monitor(protocol v1.Protocol, wantsHTTP bool) MonitorType {
	isUDP := protocol == v1.ProtocolUDP
	switch {
	case wantsHTTP && f.Has(HTTPMonitors) && f.Has(MonitorPorts) && (!isUDP || f.Has(UDPHTTPMonitors)):
		return MonitorHTTP
	case isUDP:
		return MonitorUDPConnect
	case protocol == v1.ProtocolSCTP && !f.Has(SCTPMonitors):
		return ""
	case protocol == v1.ProtocolSCTP:
		return MonitorSCTP
	default:
		return MonitorTCP
	}
}
