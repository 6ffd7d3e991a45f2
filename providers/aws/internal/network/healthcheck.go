package network

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// Default paths of probes.
const (
	rootPath  = "/"
	localPath = "/healthz"
)

// healthCheck returns how targets are probed. Later settings override earlier
// ones:
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
	if err := validateTimes(check, r.HealthCheck); err != nil {
		return HealthCheck{}, err
	}
	override(&check.Interval, r.HealthCheck.Interval)
	override(&check.HealthyThreshold, r.HealthCheck.HealthyThreshold)
	override(&check.UnhealthyThreshold, r.HealthCheck.UnhealthyThreshold)
	check.Timeout = r.HealthCheck.Timeout

	return check, nil
}

// The limits of AWS, in seconds and as a number of health checks.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html
const (
	minInterval, maxInterval   = 5, 300
	minTimeout, maxTimeout     = 2, 120
	minThreshold, maxThreshold = 2, 10
)

// validateTimes checks the annotated times and thresholds, because AWS rejects a
// target group with wrong ones after the load balancer was created.
func validateTimes(base HealthCheck, annotated request.HealthCheck) error {
	var errs []error
	for _, number := range []struct {
		name     annotation.Name
		value    *int32
		min, max int32
	}{
		{request.AnnotationHealthCheckInterval, annotated.Interval, minInterval, maxInterval},
		{request.AnnotationHealthCheckTimeout, annotated.Timeout, minTimeout, maxTimeout},
		{request.AnnotationHealthyThreshold, annotated.HealthyThreshold, minThreshold, maxThreshold},
		{request.AnnotationUnhealthyThreshold, annotated.UnhealthyThreshold, minThreshold, maxThreshold},
	} {
		if number.value != nil && (*number.value < number.min || *number.value > number.max) {
			errs = append(errs, &annotation.Error{
				Name: number.name, Value: strconv.Itoa(int(*number.value)), Want: fmt.Sprintf("a number from %d to %d", number.min, number.max),
			})
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}

	return validateTimeout(base, annotated)
}

// validateTimeout compares the timeout with the interval. Network load balancers
// accept equal ones, such as 10 seconds for TCP with the default timeout.
func validateTimeout(base HealthCheck, annotated request.HealthCheck) error {
	interval, timeout := base.Interval, defaultTimeout(base.Protocol)
	override(&interval, annotated.Interval)
	override(&timeout, annotated.Timeout)
	if timeout <= interval {
		return nil
	}

	return apierr.Mark(apierr.ErrInvalid, fmt.Errorf(
		"the health check timeout of %ds (%s) is greater than the interval of %ds (%s)",
		timeout, origin(request.AnnotationHealthCheckTimeout, annotated.Timeout, base.Protocol),
		interval, origin(request.AnnotationHealthCheckInterval, annotated.Interval, base.Protocol)))
}

// defaultTimeout returns the timeout that AWS uses for a health check without
// one.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/target-group-health-checks.html
func defaultTimeout(protocol elbv2types.ProtocolEnum) int32 {
	if protocol == elbv2types.ProtocolEnumHttp {
		return 6
	}

	return 10
}

// origin returns where the value of a setting comes from.
func origin(name annotation.Name, annotated *int32, protocol elbv2types.ProtocolEnum) string {
	if annotated != nil {
		return "annotation " + string(name)
	}

	return fmt.Sprintf("the default over %s without annotation %s", protocol, name)
}

// ignored warns of annotations without effect: those that Shared mode
// overrides, and a path where the protocol has none.
func ignored(r *request.Request, c request.Config, check HealthCheck) []service.Warning {
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

// baseCheck returns the health check without annotations, and the path that it
// has if the protocol has paths.
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

// annotateProbe applies the annotations of the probe.
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

// override replaces a value by an annotated one.
func override[T any](value, annotated *T) {
	if annotated != nil {
		*value = *annotated
	}
}
