package request

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// The attributes of target groups that can be set.
const (
	PreserveClientIP = "preserve_client_ip.enabled"
	ProxyProtocolV2  = "proxy_protocol_v2.enabled"
)

// TrafficPort is the health check port that means the node port.
const TrafficPort = "traffic-port"

const maxPort = 65535

// readTargetGroupAttributes reads the attributes of target groups, which only
// network load balancers have.
func (r *Request) readTargetGroupAttributes(svc *v1.Service) error {
	const name = AnnotationTargetGroupAttributes
	if !name.IsSet(svc) {
		return nil
	}
	if r.Kind != Network {
		return invalid("annotation %s needs a network load balancer", name)
	}
	attributes := keyValues(svc, name)
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		if key != PreserveClientIP && key != ProxyProtocolV2 {
			return invalid("annotation %s: attribute %q is not one of %s, %s", name, key, PreserveClientIP, ProxyProtocolV2)
		}
		if value := attributes[key]; value != "true" && value != "false" {
			return invalid("annotation %s: value %q of %s is not true or false", name, value, key)
		}
	}
	if attributes[PreserveClientIP] == "false" && slices.ContainsFunc(svc.Spec.Ports, isUDP) {
		return invalid("annotation %s: %s=false cannot be had with UDP ports", name, PreserveClientIP)
	}
	r.TargetGroupAttributes = attributes
	return nil
}

func isUDP(port v1.ServicePort) bool { return port.Protocol == v1.ProtocolUDP }

// readHealthCheck reads what annotations say of the health check. The protocol
// is in capital letters.
func (r *Request) readHealthCheck(v *values) {
	protocols := []string{"TCP", "HTTP", "HTTPS"}
	if r.Kind == Classic {
		protocols = append(protocols, "SSL")
	}
	h := &r.HealthCheck
	if h.Protocol = setting(v, AnnotationHealthCheckProtocol, AnnotationHealthCheckProtocol.String); h.Protocol != nil {
		*h.Protocol = strings.ToUpper(*h.Protocol)
		if !slices.Contains(protocols, *h.Protocol) {
			v.refuse(AnnotationHealthCheckProtocol, "one of "+strings.Join(protocols, ", "))
		}
	}
	if h.Port = optional(v, AnnotationHealthCheckPort.String); h.Port != nil && *h.Port != TrafficPort {
		number, err := strconv.Atoi(*h.Port)
		if err != nil || number < 1 || number > maxPort {
			v.refuse(AnnotationHealthCheckPort, "a port or "+TrafficPort)
		}
		h.Port = new(strconv.Itoa(number))
	}
	h.Path = setting(v, AnnotationHealthCheckPath, AnnotationHealthCheckPath.String)
	h.Interval = optional(v, AnnotationHealthCheckInterval.Int32)
	h.Timeout = optional(v, AnnotationHealthCheckTimeout.Int32)
	h.HealthyThreshold = optional(v, AnnotationHealthyThreshold.Int32)
	h.UnhealthyThreshold = optional(v, AnnotationUnhealthyThreshold.Int32)
}

// readAttributes reads the attributes that the kind of load balancer has. An
// empty annotation is as good as none.
func (r *Request) readAttributes(v *values) {
	a := &r.Attributes
	a.AccessLogEnabled = setting(v, AnnotationAccessLogEnabled, AnnotationAccessLogEnabled.Bool)
	a.AccessLogBucket = setting(v, AnnotationAccessLogBucket, AnnotationAccessLogBucket.String)
	a.AccessLogPrefix = setting(v, AnnotationAccessLogPrefix, AnnotationAccessLogPrefix.String)
	a.CrossZone = setting(v, AnnotationCrossZone, AnnotationCrossZone.Bool)
	if r.Kind != Classic {
		return
	}
	a.AccessLogEmitInterval = setting(v, AnnotationAccessLogEmitInterval, AnnotationAccessLogEmitInterval.Int32)
	a.DrainingEnabled = setting(v, AnnotationDrainingEnabled, AnnotationDrainingEnabled.Bool)
	a.DrainingTimeout = setting(v, AnnotationDrainingTimeout, AnnotationDrainingTimeout.Int32)
	a.IdleTimeout = setting(v, AnnotationIdleTimeout, AnnotationIdleTimeout.Int32)
}

// readProxyProtocol accepts * alone.
func (r *Request) readProxyProtocol(v *values) {
	switch text(v.obj, AnnotationProxyProtocol) {
	case "":
	case "*":
		r.ProxyProtocol = true
	default:
		v.refuse(AnnotationProxyProtocol, "*, the only value")
	}
}

// readAddresses reads the addresses of a network load balancer.
func (r *Request) readAddresses(v *values) {
	r.EIPAllocations = list(v.obj, AnnotationEIPAllocations)
	r.PrivateIPv4Addresses = list(v.obj, AnnotationPrivateIPv4Addresses)
	if slices.ContainsFunc(r.PrivateIPv4Addresses, isNotIPv4) {
		v.refuse(AnnotationPrivateIPv4Addresses, "a list of IPv4 addresses")
	}
}

func isNotIPv4(text string) bool {
	addr, err := netip.ParseAddr(text)
	return err != nil || !addr.Is4()
}

// isBackendProtocol reports whether a value of [AnnotationBackendProtocol] means
// anything.
func isBackendProtocol(value string) bool {
	return slices.Contains([]string{"http", "https", "ssl", "tcp"}, strings.ToLower(value))
}
