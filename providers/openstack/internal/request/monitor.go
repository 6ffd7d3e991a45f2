package request

import (
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
)

// Limits of health monitors (octavia: api/v2/types/health_monitor.py, common/config.py
// udp_connect_min_interval_health_monitor).
const (
	leastUDPDelay = 3
	mostRetries   = 10
)

// The health check of kube-proxy on the health check node port of a Service.
const (
	healthCheckMethod = "GET"
	healthCheckPath   = "/healthz"
	healthCheckCode   = "200"
)

// Monitor is a health monitor of a pool.
type Monitor struct {
	Type features.MonitorType
	// HTTPMethod, URLPath and ExpectedCodes are set for HTTP only.
	HTTPMethod, URLPath, ExpectedCodes string
	MonitorValues
}

// readMonitor reads the wanted health monitor, nil without one.
func (p *parser) readMonitor() {
	r := p.request
	if p.svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
		r.LocalTraffic, r.HealthCheckNodePort = true, p.svc.Spec.HealthCheckNodePort
	}
	if !p.boolean(AnnotationEnableHealthMonitor, p.settings.Monitor.Create) {
		for _, name := range []annotation.Name{
			AnnotationHealthMonitorDelay, AnnotationHealthMonitorTimeout,
			AnnotationHealthMonitorMaxRetries, AnnotationHealthMonitorMaxRetriesDown,
		} {
			p.ignore(name, "there are no health monitors without "+string(AnnotationEnableHealthMonitor)+"=true")
		}

		return
	}
	seconds, retries := between{1, maxInt32}, between{1, mostRetries}
	config := p.settings.Monitor
	r.Monitor = &MonitorValues{
		Delay:          p.monitorNumber(AnnotationHealthMonitorDelay, "monitor-delay", config.Delay, seconds),
		Timeout:        p.monitorNumber(AnnotationHealthMonitorTimeout, "monitor-timeout", config.Timeout, seconds),
		MaxRetries:     p.monitorNumber(AnnotationHealthMonitorMaxRetries, "monitor-max-retries", config.MaxRetries, retries),
		MaxRetriesDown: p.monitorNumber(AnnotationHealthMonitorMaxRetriesDown, "monitor-max-retries-down", config.MaxRetriesDown, retries),
	}
}

// monitorNumber reads a number whose default is a key of the cloud-config, which can be
// out of range, too.
func (p *parser) monitorNumber(name annotation.Name, key string, fallback int, valid between) int32 {
	if !valid.has(fallback) {
		if annotation.NewReader(p.svc).Int32(name) == nil {
			p.reject("%s of the cloud-config: %d is not %s", key, fallback, valid)
		}
		fallback = int(valid.least)
	}

	return p.number(name, int32(fallback), valid)
}

// monitorOf returns the health monitor of a port, nil without one. Its type depends on
// the provider.
func (r *Request) monitorOf(port Port, available features.Features) *Monitor {
	if r.Monitor == nil {
		return nil
	}
	m := &Monitor{Type: available.Monitor(port.Protocol, r.HealthCheckNodePort > 0), MonitorValues: *r.Monitor}
	switch m.Type {
	case "":
		return nil
	case features.MonitorHTTP:
		m.HTTPMethod, m.URLPath, m.ExpectedCodes = healthCheckMethod, healthCheckPath, healthCheckCode
	default:
	}

	return m
}
