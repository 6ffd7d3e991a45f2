package network

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

func TestHealthCheck(t *testing.T) {
	t.Parallel()
	shared := request.Config{SharedProbe: true, SharedProbePort: 10256, SharedProbePath: "/healthz"}
	local := request.Request{LocalTraffic: true, HealthCheckNodePort: 32000}
	for name, c := range map[string]struct {
		reason    string
		request   request.Request
		annotated request.HealthCheck
		config    request.Config
		want      HealthCheck
	}{
		"cluster": {
			reason: "§11 (a): externalTrafficPolicy Cluster",
			want:   HealthCheck{"TCP", "traffic-port", "", 30, nil, 3, 3},
		},
		"local": {
			reason:  "§11 (a): externalTrafficPolicy Local",
			request: local,
			want:    HealthCheck{"HTTP", "32000", "/healthz", 10, nil, 2, 2},
		},
		"protocol": {
			reason:    "§11 (b): any case, / without a path",
			annotated: request.HealthCheck{Protocol: new("https")},
			want:      HealthCheck{"HTTPS", "traffic-port", "/", 30, nil, 3, 3},
		},
		"protocol and path": {
			reason:    "§11 (b)",
			annotated: request.HealthCheck{Protocol: new("HTTP"), Path: new("/ready")},
			want:      HealthCheck{"HTTP", "traffic-port", "/ready", 30, nil, 3, 3},
		},
		"path alone": {
			reason:    "§8: a path is only for HTTP and HTTPS",
			annotated: request.HealthCheck{Path: new("/ready")},
			want:      HealthCheck{"TCP", "traffic-port", "", 30, nil, 3, 3},
		},
		"local over TCP": {
			reason:    "§11 (b): TCP has no path",
			request:   local,
			annotated: request.HealthCheck{Protocol: new("TCP")},
			want:      HealthCheck{"TCP", "32000", "", 10, nil, 2, 2},
		},
		"local with HTTPS": {
			reason:    "§11 (b): the path stays that of the base",
			request:   local,
			annotated: request.HealthCheck{Protocol: new("HTTPS")},
			want:      HealthCheck{"HTTPS", "32000", "/healthz", 10, nil, 2, 2},
		},
		"local with another path": {
			reason:    "§11 (b): its base speaks HTTP, so a path has a meaning",
			request:   local,
			annotated: request.HealthCheck{Path: new("/ready")},
			want:      HealthCheck{"HTTP", "32000", "/ready", 10, nil, 2, 2},
		},
		"port": {
			reason:    "§11 (c)",
			request:   local,
			annotated: request.HealthCheck{Port: new("8080")},
			want:      HealthCheck{"HTTP", "8080", "/healthz", 10, nil, 2, 2},
		},
		"traffic port": {
			reason:    "§11 (c)",
			request:   local,
			annotated: request.HealthCheck{Port: new("traffic-port")},
			want:      HealthCheck{"HTTP", "traffic-port", "/healthz", 10, nil, 2, 2},
		},
		"shared": {
			reason:    "§11 (d): overrides protocol, path and port",
			annotated: request.HealthCheck{Protocol: new("HTTPS"), Path: new("/ready"), Port: new("8080")},
			config:    shared,
			want:      HealthCheck{"HTTP", "10256", "/healthz", 30, nil, 3, 3},
		},
		"shared with other settings": {
			reason: "§1: port and path can be configured",
			config: request.Config{SharedProbe: true, SharedProbePort: 10356, SharedProbePath: "/live"},
			want:   HealthCheck{"HTTP", "10356", "/live", 30, nil, 3, 3},
		},
		"shared and local": {
			reason:  "§11 (d): not with externalTrafficPolicy Local",
			request: local, config: shared,
			want: HealthCheck{"HTTP", "32000", "/healthz", 10, nil, 2, 2},
		},
		"times": {
			reason: "§11 (e), W16: also with Shared mode; thresholds need not be equal",
			annotated: request.HealthCheck{
				Interval: new(int32(15)), Timeout: new(int32(7)), HealthyThreshold: new(int32(4)), UnhealthyThreshold: new(int32(5)),
			},
			config: shared,
			want:   HealthCheck{"HTTP", "10256", "/healthz", 15, new(int32(7)), 4, 5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.request.HealthCheck = c.annotated
			got, err := healthCheck(&c.request, c.config)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
		})
	}
	_, err := healthCheck(&request.Request{HealthCheck: request.HealthCheck{Protocol: new("udp")}}, request.Config{})
	if !errors.Is(err, apierr.ErrInvalid) || !strings.Contains(err.Error(), `"UDP"`) {
		t.Errorf("§8: a protocol that there is not gives %v", err)
	}
}
