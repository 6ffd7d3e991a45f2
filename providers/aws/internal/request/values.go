package request

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
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
		return invalid("annotation %s: %s=false is not supported with UDP ports", name, PreserveClientIP)
	}
	r.TargetGroupAttributes = attributes

	return nil
}

func isUDP(port v1.ServicePort) bool { return port.Protocol == v1.ProtocolUDP }

// readHealthCheck reads the annotations of the health check. The protocol is
// converted to capital letters.
func (r *Request) readHealthCheck(reader *annotation.Reader) {
	protocols := []string{"TCP", "HTTP", "HTTPS"}
	if r.Kind == Classic {
		protocols = append(protocols, "SSL")
	}
	h := &r.HealthCheck
	if h.Protocol = reader.SkipEmpty().String(AnnotationHealthCheckProtocol); h.Protocol != nil {
		*h.Protocol = strings.ToUpper(*h.Protocol)
		if !slices.Contains(protocols, *h.Protocol) {
			reader.Reject(AnnotationHealthCheckProtocol, "one of "+strings.Join(protocols, ", "))
		}
	}
	if h.Port = reader.String(AnnotationHealthCheckPort); h.Port != nil && *h.Port != TrafficPort {
		number, err := strconv.Atoi(*h.Port)
		if err != nil || number < 1 || number > maxPort {
			reader.Reject(AnnotationHealthCheckPort, "a port or "+TrafficPort)
		}
		h.Port = new(strconv.Itoa(number))
	}
	h.Path = reader.SkipEmpty().String(AnnotationHealthCheckPath)
	h.Interval = reader.Int32(AnnotationHealthCheckInterval)
	h.Timeout = reader.Int32(AnnotationHealthCheckTimeout)
	h.HealthyThreshold = reader.Int32(AnnotationHealthyThreshold)
	h.UnhealthyThreshold = reader.Int32(AnnotationUnhealthyThreshold)
}

// readAttributes reads the attributes that apply to the kind of load balancer.
// An empty annotation counts as a missing one.
func (r *Request) readAttributes(reader *annotation.Reader) {
	a, reader := &r.Attributes, reader.SkipEmpty()
	a.AccessLogEnabled = reader.Bool(AnnotationAccessLogEnabled)
	a.AccessLogBucket = reader.String(AnnotationAccessLogBucket)
	a.AccessLogPrefix = reader.String(AnnotationAccessLogPrefix)
	a.CrossZone = reader.Bool(AnnotationCrossZone)
	if r.Kind != Classic {
		return
	}
	a.AccessLogEmitInterval = reader.Int32(AnnotationAccessLogEmitInterval)
	a.DrainingEnabled = reader.Bool(AnnotationDrainingEnabled)
	a.DrainingTimeout = reader.Int32(AnnotationDrainingTimeout)
	a.IdleTimeout = reader.Int32(AnnotationIdleTimeout)
}

// readProxyProtocol accepts only *.
func (r *Request) readProxyProtocol(svc *v1.Service, reader *annotation.Reader) {
	switch AnnotationProxyProtocol.Value(svc) {
	case "":
	case "*":
		r.ProxyProtocol = true
	default:
		reader.Reject(AnnotationProxyProtocol, "*, the only value")
	}
}

// readAddresses reads the addresses of a network load balancer.
func (r *Request) readAddresses(svc *v1.Service, reader *annotation.Reader) {
	r.EIPAllocations = AnnotationEIPAllocations.List(svc)
	r.PrivateIPv4Addresses = AnnotationPrivateIPv4Addresses.List(svc)
	if slices.ContainsFunc(r.PrivateIPv4Addresses, isNotIPv4) {
		reader.Reject(AnnotationPrivateIPv4Addresses, "a list of IPv4 addresses")
	}
}

func isNotIPv4(text string) bool {
	addr, err := netip.ParseAddr(text)

	return err != nil || !addr.Is4()
}

// isBackendProtocol reports whether a value of [AnnotationBackendProtocol] is
// valid.
func isBackendProtocol(value string) bool {
	return slices.Contains([]string{"http", "https", "ssl", "tcp"}, strings.ToLower(value))
}

// keyValues parses items such as key=value. Text after a second = is dropped.
func keyValues(svc *v1.Service, name annotation.Name) map[string]string {
	pairs := name.KeyValues(svc)
	for key, value := range pairs {
		pairs[key], _, _ = strings.Cut(value, "=")
	}

	return pairs
}

// invalid returns an error of the Service, which persists until its user
// changes it.
func invalid(format string, args ...any) error {
	return apierr.Mark(apierr.ErrInvalid, fmt.Errorf(format, args...))
}
