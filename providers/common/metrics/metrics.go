// Package metrics counts what goes on between this process and a cloud.
//
// What it promises: the same metrics for every provider, registered once; a
// bounded number of series, whatever names are given to it; ages that are
// computed when they are read, so that a source that stopped shows an age that
// grows; no label or value that comes from credentials. A provider registers the
// metrics of its own with [OfProcess].
//
// It is not for Kubernetes: calls to its API have metrics already.
package metrics

import (
	"sync"
	"time"

	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
)

// How many values a label may have before the rest is counted as [Other].
const (
	maxOperations = 256
	maxEndpoints  = 64
)

// Other stands for all label values beyond the limit.
const Other = "other"

// global is the set that the process serves at /metrics.
var global = sync.OnceValue(func() *Set { return NewSet(legacy{}, clock.RealClock{}) })

// New makes the Recorder of a provider on the metrics of this process.
func New(provider string) *Recorder { return global().Recorder(provider) }

// Discard returns a Recorder that counts nothing.
func Discard() *Recorder { return newSet(clock.RealClock{}).Recorder("") }

// Registry is where metrics are registered, such as a KubeRegistry.
type Registry interface {
	MustRegister(collectors ...kmetrics.Registerable)
	CustomMustRegister(collectors ...kmetrics.StableCollector)
}

// legacy is the registry that the framework serves.
type legacy struct{}

func (legacy) MustRegister(cs ...kmetrics.Registerable) { legacyregistry.MustRegister(cs...) }

func (legacy) CustomMustRegister(cs ...kmetrics.StableCollector) {
	legacyregistry.CustomMustRegister(cs...)
}

// Set is all metrics of this package in one registry.
type Set struct {
	clock clock.PassiveClock
	ages  *ages

	nodesWaiting, servicesFailing, deletionsHeld *backlog

	requests, throttled, snapshotRequests, logins, planSteps  *kmetrics.CounterVec
	inFlight, lastSuccess, connected, sessions, configInvalid *kmetrics.GaugeVec
	nodeInstanceFound, credentialsRefused, targets            *kmetrics.GaugeVec
	duration                                                  *kmetrics.HistogramVec

	operations, sources, endpoints, kinds *Limit
}

// NewSet registers the metrics. It panics if the registry has them already:
// providers use [New].
func NewSet(registry Registry, clk clock.PassiveClock) *Set {
	s := newSet(clk)
	registry.MustRegister(s.requests, s.throttled, s.snapshotRequests, s.logins, s.planSteps,
		s.inFlight, s.lastSuccess, s.connected, s.sessions, s.configInvalid, s.nodeInstanceFound, s.credentialsRefused, s.targets, s.duration)
	registry.CustomMustRegister(s.ages, s.nodesWaiting, s.servicesFailing, s.deletionsHeld)

	return s
}

// newSet makes the metrics, which count once they are registered.
func newSet(clk clock.PassiveClock) *Set {
	return &Set{
		clock:              clk,
		ages:               newAges(clk),
		nodesWaiting:       newBacklog(clk, nodesWaiting, nodesWaitingOldest),
		servicesFailing:    newBacklog(clk, servicesFailing, servicesFailingOldest),
		deletionsHeld:      newBacklog(clk, deletionsHeld, deletionsHeldOldest),
		requests:           NewCounter(requests),
		throttled:          NewCounter(throttled),
		snapshotRequests:   NewCounter(snapshotRequests),
		logins:             NewCounter(logins),
		inFlight:           newGauge(inFlight),
		lastSuccess:        newGauge(lastSuccess),
		connected:          newGauge(connected),
		sessions:           newGauge(sessions),
		configInvalid:      newGauge(configInvalid),
		nodeInstanceFound:  newGauge(nodeInstanceFound),
		credentialsRefused: newGauge(credentialsRefused),
		targets:            newGauge(targets),
		planSteps:          NewCounter(planSteps),
		duration:           NewHistogram(duration, buckets()),
		operations:         NewLimit(maxOperations),
		sources:            NewLimit(maxEndpoints),
		endpoints:          NewLimit(maxEndpoints),
		kinds:              NewLimit(maxOperations),
	}
}

// Recorder makes a provider's Recorder. The same provider may have several.
func (s *Set) Recorder(provider string) *Recorder { return &Recorder{set: s, provider: provider} }

// Recorder counts for one provider. It is safe for concurrent use.
type Recorder struct {
	set      *Set
	provider string
}

// Call notes that a request begins. The function it returns records its end,
// with the error by its apierr sentinel; only its first call counts. Service
// and operation are the cloud's own names, such as "ec2" and "DescribeSubnets".
func (r *Recorder) Call(service, operation string) func(error) {
	return r.call(service, operation, true)
}

// CallOfAttempts is Call for a request that consists of attempts: those that the cloud
// throttles are counted by Throttled, the result of the last one is not counted again.
func (r *Recorder) CallOfAttempts(service, operation string) func(error) {
	return r.call(service, operation, false)
}

// Throttled counts an attempt that the cloud throttled.
func (r *Recorder) Throttled(service, operation string) {
	service, operation = r.set.bounded(service, operation)
	r.set.throttled.WithLabelValues(r.provider, service, operation).Inc()
}

// bounded returns label values for an operation of a service.
func (s *Set) bounded(service, operation string) (string, string) {
	service, operation = text(service), text(operation)
	if s.operations.Of(service+"/"+operation) == Other {
		return Other, Other
	}

	return service, operation
}

func (r *Recorder) call(service, operation string, whole bool) func(error) {
	s := r.set
	service, operation = s.bounded(service, operation)
	begun := s.clock.Now()
	s.inFlight.WithLabelValues(r.provider, service).Inc()
	var once sync.Once

	return func(err error) {
		once.Do(func() {
			r.end(service, operation, begun, err)
			if whole && apierr.Code(err) == apierr.CodeThrottled {
				s.throttled.WithLabelValues(r.provider, service, operation).Inc()
			}
		})
	}
}

// end counts a request that has ended.
func (r *Recorder) end(service, operation string, begun time.Time, err error) {
	s := r.set
	code := apierr.Code(err)
	s.inFlight.WithLabelValues(r.provider, service).Dec()
	s.requests.WithLabelValues(r.provider, service, operation, code).Inc()
	s.duration.WithLabelValues(r.provider, service, operation).Observe(s.clock.Since(begun).Seconds())
	if code == apierr.CodeOK || code == apierr.CodeNotFound {
		s.lastSuccess.WithLabelValues(r.provider).Set(seconds(s.clock.Now()))
	}
}

// Connected notes whether there is a working connection to an endpoint.
func (r *Recorder) Connected(endpoint string, yes bool) {
	r.set.connected.WithLabelValues(r.provider, r.set.endpoints.Of(endpoint)).Set(truth(yes))
}

// Sessions notes how many sessions are open at an endpoint.
func (r *Recorder) Sessions(endpoint string, open int) {
	r.set.sessions.WithLabelValues(r.provider, r.set.endpoints.Of(endpoint)).Set(float64(open))
}

// Login counts an attempt to log in at an endpoint.
func (r *Recorder) Login(endpoint string, err error) {
	code := apierr.Code(err)
	endpoint = r.set.endpoints.Of(endpoint)
	r.set.logins.WithLabelValues(r.provider, endpoint, code).Inc()
	r.set.credentialsRefused.WithLabelValues(r.provider, endpoint).Set(truth(code == apierr.CodeDenied))
}

// LoginNotTried notes that a login was not tried because of an earlier one.
func (r *Recorder) LoginNotTried(endpoint string, err error) {
	if apierr.Code(err) == apierr.CodeDenied {
		r.set.credentialsRefused.WithLabelValues(r.provider, r.set.endpoints.Of(endpoint)).Set(1)
	}
}

// ConfigProblem is why a changed cloud-config file is not in use.
type ConfigProblem string

// The problems of a changed cloud-config file.
const (
	ConfigOK ConfigProblem = ""
	// ConfigInvalid means that it cannot be used, as is known without the cloud.
	ConfigInvalid ConfigProblem = "invalid"
	// ConfigRefused means that the cloud has refused it.
	ConfigRefused ConfigProblem = "refused"
	// ConfigUnproven means that the cloud has not responded yet.
	ConfigUnproven ConfigProblem = "unproven"
)

// ConfigFile sets why the changed cloud-config file is not in use.
func (r *Recorder) ConfigFile(problem ConfigProblem) {
	for _, reason := range []ConfigProblem{ConfigInvalid, ConfigRefused, ConfigUnproven} {
		r.set.configInvalid.WithLabelValues(r.provider, string(reason)).Set(truth(reason == problem))
	}
}

// NodeInstanceFound records whether the instance of any Node was found.
func (r *Recorder) NodeInstanceFound(yes bool) {
	r.set.nodeInstanceFound.WithLabelValues(r.provider).Set(truth(yes))
}

// Targets sets how many Nodes the load balancers of all Services with an externalTrafficPolicy want, have and can have.
func (r *Recorder) Targets(policy string, wanted, registered, quota int) {
	for state, count := range map[string]int{"wanted": wanted, "registered": registered, "quota": quota} {
		r.set.targets.WithLabelValues(r.provider, policy, state).Set(float64(count))
	}
}

// NodesWaiting sets where it is read which Nodes wait for their initialization.
func (r *Recorder) NodesWaiting(since Since) { r.set.nodesWaiting.report(r.provider, since) }

// NodeDeletionsHeld sets where it is read which Nodes are kept although their instances are gone,
// because too many are.
func (r *Recorder) NodeDeletionsHeld(since Since) { r.set.deletionsHeld.report(r.provider, since) }

// ServicesFailing sets where it is read which Services have a load balancer on which the
// last operation failed.
func (r *Recorder) ServicesFailing(since Since) { r.set.servicesFailing.report(r.provider, since) }

// Step counts a step of a plan that has run. It fits plan.Plan.Apply.
func (r *Recorder) Step(kind string, err error) {
	r.set.planSteps.WithLabelValues(r.provider, r.set.kinds.Of(kind), apierr.Code(err)).Inc()
}

// Snapshot returns the Snapshot of a source, whose age counts from now until it
// is first refreshed. Sources are lists and feeds, such as "servers" or the
// address of a vCenter; one source has one Snapshot.
func (r *Recorder) Snapshot(source string) *Snapshot {
	source = r.set.sources.Of(source)

	return &Snapshot{
		age: r.set.ages.of(r.provider, source),
		count: func(o cache.Outcome) {
			r.set.snapshotRequests.WithLabelValues(r.provider, source, string(o)).Inc()
		},
	}
}

// Snapshot counts for one source of knowledge. It is safe for concurrent use.
type Snapshot struct {
	age   *age
	count func(cache.Outcome)
}

// Refreshed notes that everything was known as of that moment. A moment before
// the last one changes nothing.
func (s *Snapshot) Refreshed(at time.Time) { s.age.refreshed(at) }

// Observe counts how a query was served. It fits cache.Options.Observe.
func (s *Snapshot) Observe(outcome cache.Outcome) { s.count(outcome) }

func truth(yes bool) float64 {
	if yes {
		return 1
	}

	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
