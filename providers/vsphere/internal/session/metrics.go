package session

import (
	"context"
	"errors"
	"time"

	kmetrics "k8s.io/component-base/metrics"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// The metrics that the upstream vSphere controller manager documents, by its names of
// requests and operations.
var (
	requestDuration = metrics.Metric{
		Name: "cloudprovider_vsphere_api_request_duration_seconds", Type: metrics.Histogram, Labels: []string{"request"},
		Help: "Duration of calls to vCenter, by SOAP method or REST operation.",
	}
	requestErrors = metrics.Metric{
		Name: "cloudprovider_vsphere_api_request_errors", Type: metrics.Counter, Labels: []string{"request"},
		Help: "Failed calls to vCenter, by SOAP method or REST operation.",
	}
	operationDuration = metrics.Metric{
		Name: "cloudprovider_vsphere_operation_duration_seconds", Type: metrics.Histogram, Labels: []string{"operation"},
		Help: "Duration of operations of the provider, such as a login, that consist of any number of calls.",
	}
	operationErrors = metrics.Metric{
		Name: "cloudprovider_vsphere_operation_errors", Type: metrics.Counter, Labels: []string{"operation"},
		Help: "Failed operations of the provider.",
	}
)

// AllMetrics lists the metrics of this package, by name.
func AllMetrics() []metrics.Metric {
	return []metrics.Metric{requestDuration, requestErrors, operationDuration, operationErrors}
}

// Metrics counts the calls and operations of all sessions of the process.
type Metrics struct {
	recorder *metrics.Recorder

	requestDuration, operationDuration *kmetrics.HistogramVec
	requestErrors, operationErrors     *kmetrics.CounterVec
}

// NewMetrics returns the metrics of this package, which count once they are
// registered, in addition to a recorder that counts at once.
func NewMetrics(recorder *metrics.Recorder) *Metrics {
	return &Metrics{
		recorder:          recorder,
		requestDuration:   metrics.NewHistogram(requestDuration, metrics.UpstreamBuckets()),
		requestErrors:     metrics.NewCounter(requestErrors),
		operationDuration: metrics.NewHistogram(operationDuration, metrics.UpstreamBuckets()),
		operationErrors:   metrics.NewCounter(operationErrors),
	}
}

// Register adds the metrics to a registry, such as that of legacyregistry.
func (m *Metrics) Register(mustRegister func(...kmetrics.Registerable)) {
	mustRegister(m.requestDuration, m.requestErrors, m.operationDuration, m.operationErrors)
}

// Operation counts an operation of any number of calls. The function that it returns
// is called with the result.
func (m *Metrics) Operation(name string) func(err error) {
	return stopwatch(m.operationDuration, m.operationErrors, name)
}

// call counts one call on the wire.
func (m *Metrics) call(service, operation string) func(err error) {
	record := m.recorder.Call(service, operation)
	stop := stopwatch(m.requestDuration, m.requestErrors, operation)

	return func(err error) {
		stop(err)
		record(err)
	}
}

func stopwatch(durations *kmetrics.HistogramVec, failures *kmetrics.CounterVec, label string) func(error) {
	began := time.Now()

	return func(err error) {
		durations.WithLabelValues(label).Observe(time.Since(began).Seconds())
		if err != nil {
			failures.WithLabelValues(label).Inc()
		}
	}
}

// reportMetrics sets the metrics of how many sessions there are, and whether vCenter
// responds. It is called with the lock held.
func (s *Session) reportMetrics() {
	open := 0
	for _, c := range s.conns {
		if c != nil && c.parent == nil {
			open++
		}
	}
	s.options.Metrics.recorder.Sessions(s.endpoint.name(), open)
	s.options.Metrics.recorder.Connected(s.endpoint.name(), s.conns[apiSOAP] != nil && !s.unresponsive.Load())
}

// count counts a call on the wire, and stores whether it had a response.
func (s *Session) count(service, operation string) func(error) {
	done := s.options.Metrics.call(service, operation)

	return func(err error) {
		done(err)
		unresponsive := errors.Is(err, apierr.ErrUnavailable)
		if service != serviceVIM || errors.Is(err, context.Canceled) || s.unresponsive.Swap(unresponsive) == unresponsive {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reportMetrics()
	}
}
