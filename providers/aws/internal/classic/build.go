package classic

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

const (
	protocolTCP   = "TCP"
	protocolSSL   = "SSL"
	protocolHTTP  = "HTTP"
	protocolHTTPS = "HTTPS"
)

// protocols are the two sides of a listener.
type protocols struct{ front, back string }

// withTLS are the protocols of listeners with a certificate, by the annotated
// backend protocol, as it is written.
var withTLS = map[string]protocols{
	"":      {protocolSSL, protocolTCP},
	"tcp":   {protocolSSL, protocolTCP},
	"ssl":   {protocolSSL, protocolSSL},
	"http":  {protocolHTTPS, protocolHTTP},
	"https": {protocolHTTPS, protocolHTTPS},
}

// Build returns the load balancer that the Service specifies.
func Build(r *request.Request, f request.Facts) (*Model, []service.Warning, error) {
	listeners, err := listeners(r)
	if err != nil {
		return nil, nil, err
	}
	check, warnings, err := healthCheck(r, f.Config)
	if err != nil {
		return nil, nil, err
	}
	instances, skipped := r.Instances(f)

	return &Model{
		Name:           r.Name,
		Cluster:        f.Config.Cluster,
		Internal:       r.Internal,
		Listeners:      listeners,
		Subnets:        subnets(f),
		SecurityGroups: f.SecurityGroups,
		Tags:           r.AllTags(f.Config.Cluster),
		HealthCheck:    check,
		Attributes:     attributes(r.Attributes),
		ProxyProtocol:  r.ProxyProtocol,
		Instances:      instances.Registered,
		Resting:        instances.Kept,
	}, append(warnings, skipped...), nil
}

// listeners returns one listener for each port.
func listeners(r *request.Request) ([]Listener, error) {
	list := make([]Listener, 0, len(r.Ports))
	for _, port := range r.Ports {
		listener := Listener{Port: port.Port, InstancePort: port.NodePort, Protocol: protocolTCP, InstanceProtocol: protocolTCP}
		if r.TLS.Selects(port) {
			sides, known := withTLS[r.BackendProtocol]
			if !known {
				return nil, &annotation.Error{
					Name: request.AnnotationBackendProtocol, Value: r.BackendProtocol, Want: "one of http, https, ssl, tcp",
				}
			}
			listener.Protocol, listener.InstanceProtocol = sides.front, sides.back
			listener.Certificate = r.TLS.Certificate
			if r.TLS.Policy != "" {
				listener.Policies = []string{negotiationPrefix + r.TLS.Policy}
			}
		} else if r.BackendProtocol == "http" {
			listener.Protocol, listener.InstanceProtocol = protocolHTTP, protocolHTTP
		}
		list = append(list, listener)
	}

	return list, nil
}

func subnets(f request.Facts) []Subnet {
	return lists.Map(f.Subnets, func(subnet vpc.Subnet) Subnet { return Subnet{ID: subnet.ID, Zone: subnet.AvailabilityZone} })
}

// attributes returns all attributes of a load balancer, annotated or not.
func attributes(a request.Attributes) Attributes {
	return Attributes{
		CrossZone:         aws.ToBool(a.CrossZone),
		IdleTimeout:       aws.ToInt32(a.IdleTimeout),
		Draining:          aws.ToBool(a.DrainingEnabled),
		DrainingTimeout:   aws.ToInt32(a.DrainingTimeout),
		AccessLog:         aws.ToBool(a.AccessLogEnabled),
		AccessLogInterval: aws.ToInt32(a.AccessLogEmitInterval),
		AccessLogBucket:   aws.ToString(a.AccessLogBucket),
		AccessLogPrefix:   aws.ToString(a.AccessLogPrefix),
	}.normal()
}
