package classic

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// probe is the request of a health check.
type probe struct {
	protocol string
	port     int32
	path     string
}

const (
	healthzPath = "/healthz"
	rootPath    = "/"
)

// The health check without annotations.
const (
	defaultInterval           = 10
	defaultTimeout            = 5
	defaultHealthyThreshold   = 2
	defaultUnhealthyThreshold = 6
)

// The minimum that AWS accepts.
const (
	minInterval  = 5
	minTimeout   = 2
	minThreshold = 2
)

// healthCheck returns the health check: the defaults of the traffic policy and
// the shared mode, changed by annotations.
func healthCheck(r *request.Request, c request.Config) (HealthCheck, []service.Warning, error) {
	p, err := baseProbe(r, c).annotated(r)
	if err != nil {
		return HealthCheck{}, nil, err
	}
	var warnings []service.Warning
	if r.HealthCheck.Path != nil && !p.hasPath() {
		warnings = append(warnings, service.Warn(request.IgnoredAnnotation,
			"Annotation %s is ignored: a health check over %s has no path", request.AnnotationHealthCheckPath, p.protocol))
	}
	check := HealthCheck{Target: p.String()}
	for _, number := range []struct {
		name           annotation.Name
		annotated      *int32
		otherwise, min int32
		into           *int32
	}{
		{request.AnnotationHealthCheckInterval, r.HealthCheck.Interval, defaultInterval, minInterval, &check.Interval},
		{request.AnnotationHealthCheckTimeout, r.HealthCheck.Timeout, defaultTimeout, minTimeout, &check.Timeout},
		{request.AnnotationHealthyThreshold, r.HealthCheck.HealthyThreshold, defaultHealthyThreshold, minThreshold, &check.HealthyThreshold},
		{request.AnnotationUnhealthyThreshold, r.HealthCheck.UnhealthyThreshold, defaultUnhealthyThreshold, minThreshold, &check.UnhealthyThreshold},
	} {
		*number.into = number.otherwise
		if number.annotated == nil {
			continue
		}
		if *number.annotated < number.min {
			return HealthCheck{}, nil, &annotation.Error{
				Name: number.name, Value: strconv.Itoa(int(*number.annotated)), Want: fmt.Sprintf("%d or more", number.min),
			}
		}
		*number.into = *number.annotated
	}
	if check.Timeout >= check.Interval {
		return HealthCheck{}, nil, apierr.Mark(apierr.ErrInvalid,
			fmt.Errorf("the health check timeout of %ds is not less than the interval of %ds", check.Timeout, check.Interval))
	}

	return check, warnings, nil
}

// baseProbe returns the probe without annotations:
//
//	traffic only to nodes with an endpoint   the port of the node that reports whether it has one
//	shared mode                              the node
//	otherwise                                the first node port, by TLS if backends speak it
func baseProbe(r *request.Request, c request.Config) probe {
	switch {
	case r.LocalTraffic && r.HealthCheckNodePort != 0:
		return probe{protocol: protocolHTTP, port: r.HealthCheckNodePort, path: healthzPath}
	case c.SharedProbe:
		return probe{protocol: protocolHTTP, port: c.SharedProbePort, path: c.SharedProbePath}
	}
	p := probe{protocol: protocolTCP, port: r.Ports[0].NodePort}
	if backend := strings.ToLower(r.BackendProtocol); backend == "https" || backend == "ssl" {
		p.protocol = protocolSSL
	}

	return p
}

// annotated returns the probe with the settings of annotations.
func (p probe) annotated(r *request.Request) (probe, error) {
	a := r.HealthCheck
	if a.Protocol != nil {
		p.protocol = *a.Protocol
	}
	if a.Port != nil {
		if *a.Port == request.TrafficPort {
			p.port = r.Ports[0].NodePort
		} else {
			port, err := strconv.ParseInt(*a.Port, 10, 32)
			if err != nil {
				return p, &annotation.Error{Name: request.AnnotationHealthCheckPort, Value: *a.Port, Want: "a port"}
			}
			p.port = int32(port)
		}
	}
	switch {
	case !p.hasPath():
		p.path = ""
	case a.Path != nil:
		p.path = *a.Path
	case p.path == "":
		p.path = rootPath
	}

	return p, nil
}

// hasPath reports whether the protocol has paths.
func (p probe) hasPath() bool { return p.protocol == protocolHTTP || p.protocol == protocolHTTPS }

// String returns the target of a health check.
func (p probe) String() string { return fmt.Sprintf("%s:%d%s", p.protocol, p.port, p.path) }
