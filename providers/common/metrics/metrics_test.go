package metrics_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fixture is a registry of its own with a clock that only moves on request.
type fixture struct {
	registry kmetrics.KubeRegistry
	clock    *clocktesting.FakePassiveClock
	set      *metrics.Set
}

func newFixture() *fixture {
	b := &fixture{
		registry: kmetrics.NewKubeRegistry(),
		clock:    clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0)),
	}
	b.set = metrics.NewSet(b.registry, b.clock)

	return b
}

func (b *fixture) pass(d time.Duration) { b.clock.SetTime(b.clock.Now().Add(d)) }

// want compares metrics, by name, with their text form.
func (b *fixture) want(t *testing.T, text string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(b.registry, strings.NewReader(text), names...); err != nil {
		t.Error(err)
	}
}

// series counts the series of one metric.
func (b *fixture) series(t *testing.T, name string) int {
	t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return len(f.GetMetric())
		}
	}

	return 0
}

func TestCall(t *testing.T) {
	t.Parallel()
	b := newFixture()
	r := b.set.Recorder("aws")

	first := r.Call("ec2", "DescribeSubnets")
	second := r.Call("ec2", "DescribeSubnets")
	b.want(t, `
# HELP multicloud_ccm_cloud_requests_in_flight [ALPHA] Requests to the cloud that are in flight.
# TYPE multicloud_ccm_cloud_requests_in_flight gauge
multicloud_ccm_cloud_requests_in_flight{provider="aws",service="ec2"} 2
`, "multicloud_ccm_cloud_requests_in_flight", "multicloud_ccm_last_success_timestamp_seconds")

	b.pass(2 * time.Second)
	first(nil)
	first(errors.New("the end is noted once"))
	b.pass(time.Second)
	second(apierr.Mark(apierr.ErrThrottled, errors.New("slow down")))
	r.Call("ec2", "DescribeSubnets")(apierr.ErrNotFound)
	r.Call("elb", "CreateLoadBalancer")(errors.New("boom"))
	b.want(t, `
# HELP multicloud_ccm_cloud_request_duration_seconds [ALPHA] Duration of requests to the cloud.
# TYPE multicloud_ccm_cloud_request_duration_seconds histogram
`+buckets("CreateLoadBalancer", "elb", 0)+`multicloud_ccm_cloud_request_duration_seconds_sum{operation="CreateLoadBalancer",provider="aws",service="elb"} 0
multicloud_ccm_cloud_request_duration_seconds_count{operation="CreateLoadBalancer",provider="aws",service="elb"} 1
`+buckets("DescribeSubnets", "ec2", 0, 2, 3)+`multicloud_ccm_cloud_request_duration_seconds_sum{operation="DescribeSubnets",provider="aws",service="ec2"} 5
multicloud_ccm_cloud_request_duration_seconds_count{operation="DescribeSubnets",provider="aws",service="ec2"} 3
# HELP multicloud_ccm_cloud_requests_in_flight [ALPHA] Requests to the cloud that are in flight.
# TYPE multicloud_ccm_cloud_requests_in_flight gauge
multicloud_ccm_cloud_requests_in_flight{provider="aws",service="ec2"} 0
multicloud_ccm_cloud_requests_in_flight{provider="aws",service="elb"} 0
# HELP multicloud_ccm_cloud_requests_throttled_total [ALPHA] Requests that the cloud throttled, those that were repeated included.
# TYPE multicloud_ccm_cloud_requests_throttled_total counter
multicloud_ccm_cloud_requests_throttled_total{operation="DescribeSubnets",provider="aws",service="ec2"} 1
# HELP multicloud_ccm_cloud_requests_total [ALPHA] Completed requests to the cloud, by result.
# TYPE multicloud_ccm_cloud_requests_total counter
multicloud_ccm_cloud_requests_total{code="error",operation="CreateLoadBalancer",provider="aws",service="elb"} 1
multicloud_ccm_cloud_requests_total{code="not_found",operation="DescribeSubnets",provider="aws",service="ec2"} 1
multicloud_ccm_cloud_requests_total{code="ok",operation="DescribeSubnets",provider="aws",service="ec2"} 1
multicloud_ccm_cloud_requests_total{code="throttled",operation="DescribeSubnets",provider="aws",service="ec2"} 1
# HELP multicloud_ccm_last_success_timestamp_seconds [ALPHA] Time of the last response of the cloud that succeeded or reported that an object does not exist, in seconds since 1970.
# TYPE multicloud_ccm_last_success_timestamp_seconds gauge
multicloud_ccm_last_success_timestamp_seconds{provider="aws"} 1.000003e+06
`, names(func(m metrics.Metric) bool {
		return strings.HasPrefix(m.Name, "multicloud_ccm_cloud_") || strings.Contains(m.Name, "last_success")
	})...)
}

// buckets is the text of the buckets of calls that took so many seconds.
func buckets(operation, service string, took ...float64) string {
	var b strings.Builder
	for _, le := range []string{"0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "30", "60", "+Inf"} {
		bound, _ := strconv.ParseFloat(le, 64)
		n := 0
		for _, seconds := range took {
			if seconds <= bound {
				n++
			}
		}
		fmt.Fprintf(&b, "multicloud_ccm_cloud_request_duration_seconds_bucket{operation=%q,provider=\"aws\",service=%q,le=%q} %d\n", operation, service, le, n)
	}

	return b.String()
}

func names(wanted func(metrics.Metric) bool) []string {
	var found []string
	for _, m := range metrics.All() {
		if wanted(m) {
			found = append(found, m.Name)
		}
	}

	return found
}

// A source that stopped shows an age that grows with every read, without anyone
// doing anything; so does one that never responded.
func TestAgesGrow(t *testing.T) {
	t.Parallel()
	b := newFixture()
	r := b.set.Recorder("vsphere")
	dead, idle := r.Snapshot("vc1"), r.Snapshot("vc2")
	b.pass(time.Minute)
	dead.Refreshed(b.clock.Now().Add(-10 * time.Second))
	dead.Refreshed(b.clock.Now().Add(-20 * time.Second)) // late news of an older moment
	idle.Observe(cache.Miss)

	for _, look := range []struct {
		after         time.Duration
		stopped, idle int
	}{{0, 10, 60}, {30 * time.Second, 40, 90}, {time.Hour, 3640, 3690}} {
		b.pass(look.after)
		b.want(t, fmt.Sprintf(`
# HELP multicloud_ccm_snapshot_age_seconds [ALPHA] Age of the data from a list or change feed of the cloud. Keeps growing while no update arrives, counting from process start if none has arrived yet. A list that no lookup needs is not read.
# TYPE multicloud_ccm_snapshot_age_seconds gauge
multicloud_ccm_snapshot_age_seconds{provider="vsphere",source="vc1"} %d
multicloud_ccm_snapshot_age_seconds{provider="vsphere",source="vc2"} %d
`, look.stopped, look.idle), "multicloud_ccm_snapshot_age_seconds")
	}

	r.Snapshot("vc2").Refreshed(b.clock.Now()) // the same source once more
	b.want(t, `
# HELP multicloud_ccm_snapshot_age_seconds [ALPHA] Age of the data from a list or change feed of the cloud. Keeps growing while no update arrives, counting from process start if none has arrived yet. A list that no lookup needs is not read.
# TYPE multicloud_ccm_snapshot_age_seconds gauge
multicloud_ccm_snapshot_age_seconds{provider="vsphere",source="vc1"} 3640
multicloud_ccm_snapshot_age_seconds{provider="vsphere",source="vc2"} 0
`, "multicloud_ccm_snapshot_age_seconds")
}

// The first refresh counts even if it began before the Snapshot was made.
func TestFirstRefreshCounts(t *testing.T) {
	t.Parallel()
	b := newFixture()
	begun := b.clock.Now()
	b.pass(5 * time.Second)
	b.set.Recorder("aws").Snapshot("instances").Refreshed(begun)
	b.want(t, `
# HELP multicloud_ccm_snapshot_age_seconds [ALPHA] Age of the data from a list or change feed of the cloud. Keeps growing while no update arrives, counting from process start if none has arrived yet. A list that no lookup needs is not read.
# TYPE multicloud_ccm_snapshot_age_seconds gauge
multicloud_ccm_snapshot_age_seconds{provider="aws",source="instances"} 5
`, "multicloud_ccm_snapshot_age_seconds")
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	b := newFixture()
	r := b.set.Recorder("vsphere")
	r.Connected("vc1", true)
	r.Connected("vc2", true)
	r.Connected("vc2", false)
	r.Sessions("vc1", 2)
	r.Login("vc1", nil)
	r.Login("vc1", nil)
	r.Login("vc1", apierr.ErrDenied)
	r.Login("vc2", apierr.ErrUnavailable)
	r.LoginNotTried("vc2", apierr.ErrUnavailable)
	r.LoginNotTried("vc3", apierr.ErrDenied)
	r.ConfigFile(metrics.ConfigRefused)
	snapshot := r.Snapshot("vc1")
	for _, o := range []cache.Outcome{cache.Hit, cache.Hit, cache.Shared, cache.Miss} {
		snapshot.Observe(o)
	}
	b.want(t, `
# HELP multicloud_ccm_config_file_invalid [ALPHA] 1 while the changed cloud-config file is not in use, otherwise 0: it is invalid, the cloud has refused it, or the cloud does not respond, so that it is unproven.
# TYPE multicloud_ccm_config_file_invalid gauge
multicloud_ccm_config_file_invalid{provider="vsphere",reason="invalid"} 0
multicloud_ccm_config_file_invalid{provider="vsphere",reason="refused"} 1
multicloud_ccm_config_file_invalid{provider="vsphere",reason="unproven"} 0
# HELP multicloud_ccm_connected [ALPHA] 1 while there is a working connection to the endpoint, otherwise 0.
# TYPE multicloud_ccm_connected gauge
multicloud_ccm_connected{endpoint="vc1",provider="vsphere"} 1
multicloud_ccm_connected{endpoint="vc2",provider="vsphere"} 0
# HELP multicloud_ccm_credentials_refused [ALPHA] 1 if the last login at the endpoint was refused because of the credentials, or is not tried again because one was, otherwise 0.
# TYPE multicloud_ccm_credentials_refused gauge
multicloud_ccm_credentials_refused{endpoint="vc1",provider="vsphere"} 1
multicloud_ccm_credentials_refused{endpoint="vc2",provider="vsphere"} 0
multicloud_ccm_credentials_refused{endpoint="vc3",provider="vsphere"} 1
# HELP multicloud_ccm_logins_total [ALPHA] Login attempts at the endpoint, by result.
# TYPE multicloud_ccm_logins_total counter
multicloud_ccm_logins_total{code="denied",endpoint="vc1",provider="vsphere"} 1
multicloud_ccm_logins_total{code="ok",endpoint="vc1",provider="vsphere"} 2
multicloud_ccm_logins_total{code="unavailable",endpoint="vc2",provider="vsphere"} 1
# HELP multicloud_ccm_sessions [ALPHA] Open sessions at the endpoint.
# TYPE multicloud_ccm_sessions gauge
multicloud_ccm_sessions{endpoint="vc1",provider="vsphere"} 2
# HELP multicloud_ccm_snapshot_requests_total [ALPHA] Lookups served from memory (hit), by a request of another caller (shared) or by their own request (miss).
# TYPE multicloud_ccm_snapshot_requests_total counter
multicloud_ccm_snapshot_requests_total{outcome="hit",provider="vsphere",source="vc1"} 2
multicloud_ccm_snapshot_requests_total{outcome="miss",provider="vsphere",source="vc1"} 1
multicloud_ccm_snapshot_requests_total{outcome="shared",provider="vsphere",source="vc1"} 1
`, names(func(m metrics.Metric) bool {
		return slices.Contains(m.Labels, "endpoint") || slices.Contains(m.Labels, "outcome") || strings.Contains(m.Name, "config")
	})...)
}

func TestStep(t *testing.T) {
	t.Parallel()
	b := newFixture()
	r := b.set.Recorder("aws")
	r.Step("CreateListener", nil)
	r.Step("CreateListener", nil)
	r.Step("CreateListener", apierr.ErrConflict)
	r.Step("DeleteSecurityGroup", nil)
	b.want(t, `
# HELP multicloud_ccm_plan_steps_total [ALPHA] Completed steps of plans, each a write to the cloud, by result.
# TYPE multicloud_ccm_plan_steps_total counter
multicloud_ccm_plan_steps_total{code="conflict",kind="CreateListener",provider="aws"} 1
multicloud_ccm_plan_steps_total{code="ok",kind="CreateListener",provider="aws"} 2
multicloud_ccm_plan_steps_total{code="ok",kind="DeleteSecurityGroup",provider="aws"} 1
`, "multicloud_ccm_plan_steps_total")
}

// However many and however odd the names: the number of series is bounded and
// nothing panics.
func TestSeriesAreBounded(t *testing.T) {
	t.Parallel()
	b := newFixture()
	r := b.set.Recorder("openstack")
	for i := range 2000 {
		odd := fmt.Sprintf("\xff%d", i)
		r.Call(odd, odd)(nil)
		r.Sessions(odd, 1)
		r.Snapshot(odd).Observe(cache.Hit)
		r.Step(odd, nil)
	}
	for name, most := range map[string]int{
		"multicloud_ccm_cloud_requests_total":     257,
		"multicloud_ccm_cloud_requests_in_flight": 257,
		"multicloud_ccm_sessions":                 65,
		"multicloud_ccm_snapshot_age_seconds":     65,
		"multicloud_ccm_snapshot_requests_total":  65,
		"multicloud_ccm_plan_steps_total":         257,
	} {
		if got := b.series(t, name); got != most {
			t.Errorf("%s has %d series, want %d", name, got, most)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	b := newFixture()
	r := b.set.Recorder("aws")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 50 {
				end := r.Call("ec2", "DescribeInstances")
				r.Snapshot("instances").Refreshed(b.clock.Now())
				if _, err := b.registry.Gather(); err != nil {
					t.Error(err)
				}
				end(nil)
				r.Sessions("ec2", i)
			}
		})
	}
	wg.Wait()
	b.want(t, `
# HELP multicloud_ccm_cloud_requests_total [ALPHA] Completed requests to the cloud, by result.
# TYPE multicloud_ccm_cloud_requests_total counter
multicloud_ccm_cloud_requests_total{code="ok",operation="DescribeInstances",provider="aws",service="ec2"} 400
`, "multicloud_ccm_cloud_requests_total")
}

// The table lists exactly what is registered, with its labels, and its names
// follow the conventions of Prometheus (which GatherAndCompare checks too).
func TestTableIsComplete(t *testing.T) {
	t.Parallel()
	b := newFixture()
	r := b.set.Recorder("x")
	r.Call("s", "o")(apierr.ErrThrottled)
	r.Call("s", "o")(nil)
	r.Connected("e", true)
	r.Sessions("e", 1)
	r.Login("e", nil)
	r.ConfigFile(metrics.ConfigOK)
	r.NodeInstanceFound(true)
	r.Snapshot("s").Observe(cache.Hit)
	r.Step("k", nil)
	none := func() ([]time.Time, bool) { return nil, true }
	r.NodesWaiting(none)
	r.ServicesFailing(none)
	r.NodeDeletionsHeld(none)
	r.Targets("Cluster", 3, 2, 1)

	families, err := b.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []metrics.Metric
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		got = append(got, metrics.Metric{
			Name: f.GetName(), Type: metrics.Type(strings.ToLower(f.GetType().String())), Labels: labels,
			Help: strings.TrimPrefix(f.GetHelp(), "[ALPHA] "),
		})
	}
	want := metrics.All()
	for i := range want {
		want[i].Labels = slices.Sorted(slices.Values(want[i].Labels))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table and the registry differ: %s", diff)
	}
}

// New may be called any number of times and lands in the registry that the
// framework serves.
func TestProcessRegistry(t *testing.T) {
	t.Parallel()
	metrics.New("first").ConfigFile(metrics.ConfigOK)
	metrics.New("second").ConfigFile(metrics.ConfigInvalid)
	text := strings.NewReader(`
# HELP multicloud_ccm_config_file_invalid [ALPHA] 1 while the changed cloud-config file is not in use, otherwise 0: it is invalid, the cloud has refused it, or the cloud does not respond, so that it is unproven.
# TYPE multicloud_ccm_config_file_invalid gauge
multicloud_ccm_config_file_invalid{provider="first",reason="invalid"} 0
multicloud_ccm_config_file_invalid{provider="first",reason="refused"} 0
multicloud_ccm_config_file_invalid{provider="first",reason="unproven"} 0
multicloud_ccm_config_file_invalid{provider="second",reason="invalid"} 1
multicloud_ccm_config_file_invalid{provider="second",reason="refused"} 0
multicloud_ccm_config_file_invalid{provider="second",reason="unproven"} 0
`)
	if err := testutil.GatherAndCompare(legacyregistry.DefaultGatherer, text, "multicloud_ccm_config_file_invalid"); err != nil {
		t.Error(err)
	}
}

// group are metrics of a provider's own.
type group struct {
	counter   *kmetrics.CounterVec
	histogram *kmetrics.HistogramVec
}

func newGroup() *group {
	return &group{
		counter:   metrics.NewCounter(metrics.Metric{Name: "group_total", Type: metrics.Counter, Labels: []string{"a"}, Help: "Count."}),
		histogram: metrics.NewHistogram(metrics.Metric{Name: "group_seconds", Type: metrics.Histogram, Labels: []string{"a"}, Help: "Time."}, []float64{1, 2}),
	}
}

func (g *group) Register(mustRegister func(...kmetrics.Registerable)) {
	mustRegister(g.counter, g.histogram)
}

// Metrics of a provider's own are registered once, however often they are made.
func TestOfProcess(t *testing.T) {
	t.Parallel()
	get := metrics.OfProcess(newGroup)
	var calls sync.WaitGroup
	for range 10 {
		calls.Go(func() {
			get().counter.WithLabelValues("x").Inc()
			get().histogram.WithLabelValues("x").Observe(1.5)
		})
	}
	calls.Wait()
	text := strings.NewReader(`
# HELP group_seconds [ALPHA] Time.
# TYPE group_seconds histogram
group_seconds_bucket{a="x",le="1"} 0
group_seconds_bucket{a="x",le="2"} 10
group_seconds_bucket{a="x",le="+Inf"} 10
group_seconds_sum{a="x"} 15
group_seconds_count{a="x"} 10
# HELP group_total [ALPHA] Count.
# TYPE group_total counter
group_total{a="x"} 10
`)
	if err := testutil.GatherAndCompare(legacyregistry.DefaultGatherer, text, "group_total", "group_seconds"); err != nil {
		t.Error(err)
	}
}

// Discard takes everything that a Recorder takes.
func TestDiscard(t *testing.T) {
	t.Parallel()
	r := metrics.Discard()
	r.Call("service", "operation")(nil)
	r.Login("endpoint", nil)
	r.Sessions("endpoint", 1)
	r.Connected("endpoint", true)
	r.ConfigFile(metrics.ConfigRefused)
	r.NodeInstanceFound(true)
	r.Step("kind", nil)
	r.Snapshot("source").Refreshed(time.Now())
	r.Snapshot("source").Observe(cache.Hit)
}

func TestReference(t *testing.T) {
	t.Parallel()
	golden := filepath.Join("testdata", "reference.md")
	got := metrics.Reference(metrics.All())
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("run with -update if this is intended: %s", diff)
	}
}
