package network

import (
	"fmt"
	"strconv"
	"strings"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// Paths that are probed unless an annotation names another.
const (
	rootPath  = "/"
	localPath = "/healthz"
)

// healthCheck decides how targets are probed. What comes later wins:
//
//	base        by externalTrafficPolicy
//	annotated   protocol, path, port
//	shared      protocol, path, port, unless the traffic policy is Local
//	annotated   interval, timeout, thresholds
func healthCheck(r *request.Request, c request.Config) (HealthCheck, error) {
	check, path := baseCheck(r)
	if err := annotateProbe(&check, path, r.HealthCheck); err != nil {
		return HealthCheck{}, err
	}
	if c.SharedProbe && !r.LocalTraffic {
		check.Protocol = elbv2types.ProtocolEnumHttp
		check.Port = strconv.Itoa(int(c.SharedProbePort))
		check.Path = c.SharedProbePath
	}
	override(&check.Interval, r.HealthCheck.Interval)
	override(&check.HealthyThreshold, r.HealthCheck.HealthyThreshold)
	override(&check.UnhealthyThreshold, r.HealthCheck.UnhealthyThreshold)
	check.Timeout = r.HealthCheck.Timeout
	return check, nil
}

// useless warns of annotations that the health check does without: those that
// Shared mode overrides, and a path where none is asked for.
func useless(r *request.Request, c request.Config, check HealthCheck) []service.Warning {
	var warnings []service.Warning
	ignore := func(name annotation.Name, set bool, why string) {
		if set {
			warnings = append(warnings, service.Warn(request.IgnoredAnnotation, "Annotation %s is ignored: %s", name, why))
		}
	}
	a := r.HealthCheck
	if c.SharedProbe && !r.LocalTraffic {
		const shared = "ClusterServiceLoadBalancerHealthProbeMode = Shared has one probe for all"
		ignore(request.AnnotationHealthCheckProtocol, a.Protocol != nil, shared)
		ignore(request.AnnotationHealthCheckPort, a.Port != nil, shared)
		ignore(request.AnnotationHealthCheckPath, a.Path != nil, shared)
		return warnings
	}
	ignore(request.AnnotationHealthCheckPath, a.Path != nil && !check.http(), "a health check over "+string(check.Protocol)+" has no path")
	return warnings
}

// baseCheck is the health check without annotations, and the path that it has if
// it gets to ask for one.
func baseCheck(r *request.Request) (check HealthCheck, path string) {
	if !r.LocalTraffic {
		return HealthCheck{
			Protocol: elbv2types.ProtocolEnumTcp, Port: request.TrafficPort,
			Interval: 30, HealthyThreshold: 3, UnhealthyThreshold: 3,
		}, rootPath
	}
	return HealthCheck{
		Protocol: elbv2types.ProtocolEnumHttp, Port: strconv.Itoa(int(r.HealthCheckNodePort)),
		Interval: 10, HealthyThreshold: 2, UnhealthyThreshold: 2,
	}, localPath
}

// annotateProbe applies the annotations that say what is probed.
func annotateProbe(check *HealthCheck, path string, annotated request.HealthCheck) error {
	if annotated.Protocol != nil {
		check.Protocol = elbv2types.ProtocolEnum(strings.ToUpper(*annotated.Protocol))
	}
	switch check.Protocol {
	case elbv2types.ProtocolEnumTcp:
	case elbv2types.ProtocolEnumHttp, elbv2types.ProtocolEnumHttps:
		check.Path = path
		if annotated.Path != nil && *annotated.Path != "" {
			check.Path = *annotated.Path
		}
	default:
		return apierr.Mark(apierr.ErrInvalid,
			fmt.Errorf("health check protocol %q is none of TCP, HTTP, HTTPS", check.Protocol))
	}
	override(&check.Port, annotated.Port)
	return nil
}

// override replaces a value by one that is annotated.
func override[T any](value, annotated *T) {
	if annotated != nil {
		*value = *annotated
	}
}
