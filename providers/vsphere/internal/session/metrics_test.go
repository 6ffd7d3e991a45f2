package session_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// counted returns one line for each series of a metric: labels and value, or the
// number of observations.
func counted(t *testing.T, registry kmetrics.KubeRegistry, name string) []string {
	t.Helper()
	families, err := registry.Gather()
	must(t, err)
	var lines []string
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			value := metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			lines = append(lines, strings.Join(labels, ",")+" "+strings.TrimSuffix(time.Duration(value).String(), "ns"))
		}
	}
	slices.Sort(lines)

	return lines
}

// VS-METRIC-1: the documented names count real calls; logins, sessions and the
// state of the connection are counted per vCenter.
func TestMetrics(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	b.endpoint.RoundTrips = 1
	registry := kmetrics.NewKubeRegistry()
	m := session.NewMetrics(metrics.NewSet(registry, clock.RealClock{}).Recorder("vsphere"))
	m.Register(registry.MustRegister)
	s := b.open(t, session.Options{Metrics: m, Clock: b.clock})
	ctx := bounded(t)

	check := func(when, name string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, counted(t, registry, name)); diff != "" {
			t.Errorf("%s, %s: -want, +got:\n%s", when, name, diff)
		}
	}
	check("before", "multicloud_ccm_connected", "vc1,vsphere 0s")
	must(t, errors.Join(s.SOAP(ctx, find), s.SOAP(ctx, find), s.REST(ctx, list)))
	b.Inject("FindByUuid", simserver.Nth(1), simserver.Drop())
	if err := s.SOAP(ctx, find); err == nil {
		t.Error("SOAP() = nil, want an error")
	}
	check("with a failure", "multicloud_ccm_connected", "vc1,vsphere 0s")
	must(t, s.SOAP(ctx, find))
	check("after the failure", "multicloud_ccm_connected", "vc1,vsphere 1")
	check("logged in", "multicloud_ccm_sessions", "vc1,vsphere 2")
	check("logged in", "multicloud_ccm_logins_total", "ok,vc1,vsphere 2")
	check("at last", "cloudprovider_vsphere_api_request_duration_seconds",
		"FindByUuid 4", "GET cis/tagging/category 1", "Login 1", "POST cis/session 1", "RetrieveServiceContent 1")
	check("at last", "cloudprovider_vsphere_api_request_errors", "FindByUuid 1")
	check("at last", "cloudprovider_vsphere_operation_duration_seconds", "login 2")
	check("at last", "cloudprovider_vsphere_operation_errors")
	check("at last", "multicloud_ccm_cloud_requests_total",
		"ok,FindByUuid,vsphere,vim 3", "ok,GET cis/tagging/category,vsphere,rest 1", "ok,Login,vsphere,vim 1",
		"ok,POST cis/session,vsphere,rest 1", "ok,RetrieveServiceContent,vsphere,vim 1", "unavailable,FindByUuid,vsphere,vim 1")
	must(t, s.Close(ctx))
	check("closed", "multicloud_ccm_sessions", "vc1,vsphere 0s")
	check("closed", "multicloud_ccm_connected", "vc1,vsphere 0s")
}

// VS-METRIC-1: failed operations are counted, by their documented names.
func TestOperations(t *testing.T) {
	t.Parallel()
	registry := kmetrics.NewKubeRegistry()
	m := session.NewMetrics(metrics.NewSet(registry, clock.RealClock{}).Recorder("vsphere"))
	m.Register(registry.MustRegister)
	m.Operation("lookup")(nil)
	m.Operation("lookup")(errors.New("no"))
	if diff := cmp.Diff([]string{"lookup 1"}, counted(t, registry, "cloudprovider_vsphere_operation_errors")); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	want := []string{
		"cloudprovider_vsphere_api_request_duration_seconds",
		"cloudprovider_vsphere_api_request_errors",
		"cloudprovider_vsphere_operation_duration_seconds",
		"cloudprovider_vsphere_operation_errors",
	}
	var got []string
	for _, metric := range session.AllMetrics() {
		got = append(got, metric.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("AllMetrics(): -want, +got:\n%s", diff)
	}
}
