package client

import (
	"strconv"
	"time"

	kmetrics "k8s.io/component-base/metrics"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// The metrics that the existing AWS controller manager documents.
var (
	requestDuration = metrics.Metric{
		Name: "cloudprovider_aws_api_request_duration_seconds", Type: metrics.Histogram, Labels: []string{"request"},
		Help: "Duration of successful calls to EC2, for the six requests that the upstream controller measures.",
	}
	requestErrors = metrics.Metric{
		Name: "cloudprovider_aws_api_request_errors", Type: metrics.Counter, Labels: []string{"request"},
		Help: "Failed calls to EC2, for the same requests.",
	}
	throttledRequests = metrics.Metric{
		Name: "cloudprovider_aws_api_throttled_requests_total", Type: metrics.Counter, Labels: []string{"operation_name"},
		Help: "Attempts of calls that AWS throttled, by the operation names of the upstream controller.",
	}
	responseStatus = metrics.Metric{
		Name: "cloudprovider_aws_api_response_status_total", Type: metrics.Counter, Labels: []string{"service", "operation", "status_code"},
		Help: "Calls that ended with an HTTP status of 400 or more, after all attempts.",
	}
)

// The metrics of our own.
var (
	limiterDuration = metrics.Metric{
		Name: "multicloud_ccm_aws_rate_limiter_duration_seconds", Type: metrics.Histogram, Labels: []string{"service", "operation"},
		Help: "Time that attempts of calls were delayed by the rate limiter of the client.",
	}
	throttledAttempts = metrics.Metric{
		Name: "multicloud_ccm_aws_throttled_attempts_total", Type: metrics.Counter, Labels: []string{"service", "operation"},
		Help: "Attempts of calls that AWS throttled.",
	}
)

// requestNames are the values of the label request, by operation of EC2. Other
// calls are not counted in these metrics.
var requestNames = map[string]string{
	"DescribeInstances":         "describe_instance",
	"DescribeNetworkInterfaces": "describe_network_interfaces",
	"DescribeSecurityGroups":    "describe_security_groups",
	"DescribeRouteTables":       "describe_route_tables",
	"CreateTags":                "create_tags",
	"DeleteTags":                "delete_tags",
}

// serviceNames are the names of services in the metrics of all providers, as in
// host names and policies.
var serviceNames = map[Service]string{
	ServiceEC2:   "ec2",
	ServiceELB:   "elasticloadbalancing",
	ServiceELBV2: "elasticloadbalancingv2",
	ServiceSTS:   "sts",
	ServiceIMDS:  "imds",
}

// AllMetrics lists the metrics of this package, by name.
func AllMetrics() []metrics.Metric {
	return []metrics.Metric{
		requestDuration, requestErrors, responseStatus, throttledRequests, limiterDuration, throttledAttempts,
	}
}

// Metrics count the calls of all clients of the process.
type Metrics struct {
	recorder *metrics.Recorder

	requestDuration, limiterDuration                                    *kmetrics.HistogramVec
	requestErrors, responseStatus, throttledRequests, throttledAttempts *kmetrics.CounterVec
}

// NewMetrics returns the metrics of this package, which count once they are
// registered. The recorder is called for every call, too.
func NewMetrics(recorder *metrics.Recorder) *Metrics {
	return &Metrics{
		recorder:          recorder,
		requestDuration:   metrics.NewHistogram(requestDuration, metrics.UpstreamBuckets()),
		limiterDuration:   metrics.NewHistogram(limiterDuration, metrics.UpstreamBuckets()),
		requestErrors:     metrics.NewCounter(requestErrors),
		responseStatus:    metrics.NewCounter(responseStatus),
		throttledRequests: metrics.NewCounter(throttledRequests),
		throttledAttempts: metrics.NewCounter(throttledAttempts),
	}
}

// Register adds the metrics to a registry, such as that of legacyregistry.
func (m *Metrics) Register(mustRegister func(...kmetrics.Registerable)) {
	mustRegister(m.requestDuration, m.requestErrors, m.responseStatus, m.throttledRequests, m.limiterDuration, m.throttledAttempts)
}

// call counts a call with all its attempts. It returns the function to call
// with the marked error. Attempts reports whether throttled is called for each that AWS
// throttles.
func (m *Metrics) call(service Service, operation string, attempts bool) func(err error) {
	begin := m.recorder.Call
	if attempts {
		begin = m.recorder.CallOfAttempts
	}
	record := begin(serviceNames[service], operation)
	began := time.Now()

	return func(err error) {
		record(err)
		if code := status(err); code >= 400 && !isCredentials(err) {
			m.responseStatus.WithLabelValues(string(service), operation, strconv.Itoa(code)).Inc()
		}
		request, ok := requestNames[operation]
		switch {
		case !ok || service != ServiceEC2:
		case err != nil:
			m.requestErrors.WithLabelValues(request).Inc()
		default:
			m.requestDuration.WithLabelValues(request).Observe(time.Since(began).Seconds())
		}
	}
}

// throttled counts a throttled attempt.
func (m *Metrics) throttled(service Service, operation string) {
	m.recorder.Throttled(serviceNames[service], operation)
	m.throttledRequests.WithLabelValues(operation).Inc()
	m.throttledAttempts.WithLabelValues(serviceNames[service], operation).Inc()
}

// waited observes how long an attempt waited for the rate limiter.
func (m *Metrics) waited(service Service, operation string, d time.Duration) {
	m.limiterDuration.WithLabelValues(serviceNames[service], operation).Observe(d.Seconds())
}
