package metrics_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// FW-METRIC-4: both values are computed at each scrape: nothing has to happen for the age to grow.
func TestBacklog(t *testing.T) {
	t.Parallel()
	b := newFixture()
	start := b.clock.Now()
	var since []time.Time
	known := false
	const count, oldest = "multicloud_ccm_nodes_waiting", "multicloud_ccm_nodes_waiting_oldest_age_seconds"
	b.set.Recorder("aws").NodesWaiting(func() ([]time.Time, bool) {
		t.Error("it was replaced")

		return nil, false
	})
	b.set.Recorder("aws").NodesWaiting(func() ([]time.Time, bool) { return since, known })

	b.want(t, "", count, oldest) // not known yet
	known = true
	for _, step := range []struct {
		reason      string
		after       time.Duration
		since       []time.Time
		count, ages int
	}{
		{"none waits", 0, nil, 0, 0},
		{"the oldest counts, in any order", time.Minute, []time.Time{start.Add(50 * time.Second), start, start.Add(time.Second)}, 3, 60},
		{"the age grows", time.Minute, []time.Time{start}, 1, 120},
		{"another clock is ahead", 0, []time.Time{start.Add(time.Hour)}, 1, 0},
		{"none is left", 0, nil, 0, 0},
	} {
		b.pass(step.after)
		since = step.since
		b.want(t, fmt.Sprintf(`
# HELP multicloud_ccm_nodes_waiting [ALPHA] Nodes that wait for their initialization: they have the taint node.cloudprovider.kubernetes.io/uninitialized. Only the leader reports it.
# TYPE multicloud_ccm_nodes_waiting gauge
multicloud_ccm_nodes_waiting{provider="aws"} %d
# HELP multicloud_ccm_nodes_waiting_oldest_age_seconds [ALPHA] How long the Node that waits longest has been waiting for its initialization, 0 if there is none. A taint without a time counts from the creation of its Node. Only the leader reports it.
# TYPE multicloud_ccm_nodes_waiting_oldest_age_seconds gauge
multicloud_ccm_nodes_waiting_oldest_age_seconds{provider="aws"} %d
`, step.count, step.ages), count, oldest)
		if t.Failed() {
			t.Fatal(step.reason)
		}
	}
}

// Each attempt that was throttled is counted once, whether or not it was the last one.
func TestThrottledAttempts(t *testing.T) {
	t.Parallel()
	b := newFixture()
	r := b.set.Recorder("aws")
	for _, result := range []error{nil, apierr.ErrThrottled} {
		end := r.CallOfAttempts("ec2", "DescribeSubnets")
		r.Throttled("ec2", "DescribeSubnets")
		r.Throttled("ec2", "DescribeSubnets")
		end(result)
	}
	b.want(t, `
# HELP multicloud_ccm_cloud_requests_throttled_total [ALPHA] Requests that the cloud throttled, those that were repeated included.
# TYPE multicloud_ccm_cloud_requests_throttled_total counter
multicloud_ccm_cloud_requests_throttled_total{operation="DescribeSubnets",provider="aws",service="ec2"} 4
# HELP multicloud_ccm_cloud_requests_total [ALPHA] Completed requests to the cloud, by result.
# TYPE multicloud_ccm_cloud_requests_total counter
multicloud_ccm_cloud_requests_total{code="ok",operation="DescribeSubnets",provider="aws",service="ec2"} 1
multicloud_ccm_cloud_requests_total{code="throttled",operation="DescribeSubnets",provider="aws",service="ec2"} 1
`, "multicloud_ccm_cloud_requests_total", "multicloud_ccm_cloud_requests_throttled_total")
}
