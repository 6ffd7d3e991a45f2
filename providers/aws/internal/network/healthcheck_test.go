package network

import (
	"errors"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// TestHealthCheckTimes covers times and thresholds that AWS rejects, which must
// be an error before a load balancer is created.
func TestHealthCheckTimes(t *testing.T) {
	t.Parallel()
	local := request.Request{LocalTraffic: true, HealthCheckNodePort: 32000}
	shared := request.Config{SharedProbe: true, SharedProbePort: 10256, SharedProbePath: "/healthz"}
	interval, timeout := string(request.AnnotationHealthCheckInterval), string(request.AnnotationHealthCheckTimeout)
	for name, c := range map[string]struct {
		reason    string
		request   request.Request
		annotated request.HealthCheck
		config    request.Config
		// want are parts of the error; without any there is none.
		want []string
	}{
		"interval under the default timeout": {
			reason:    "the default timeout over TCP is 10s",
			annotated: request.HealthCheck{Interval: new(int32(5))},
			want:      []string{"timeout of 10s (the default over TCP", timeout, "interval of 5s (annotation " + interval + ")"},
		},
		"interval under the default timeout of HTTPS": {
			reason:    "the default timeout over HTTPS is 10s",
			annotated: request.HealthCheck{Interval: new(int32(9)), Protocol: new("https")},
			want:      []string{"timeout of 10s (the default over HTTPS", "interval of 9s"},
		},
		"interval under the default timeout of HTTP": {
			reason:    "the default timeout over HTTP is 6s",
			annotated: request.HealthCheck{Interval: new(int32(5)), Protocol: new("HTTP")},
			want:      []string{"timeout of 6s (the default over HTTP", "interval of 5s"},
		},
		"local interval under the default timeout": {
			reason:  "the base of traffic policy Local is HTTP",
			request: local, annotated: request.HealthCheck{Interval: new(int32(5))},
			want: []string{"timeout of 6s (the default over HTTP", "interval of 5s"},
		},
		"local timeout over the base interval": {
			reason:  "the base of traffic policy Local has an interval of 10s",
			request: local, annotated: request.HealthCheck{Timeout: new(int32(11))},
			want: []string{"timeout of 11s (annotation " + timeout + ")", "interval of 10s (the default over HTTP"},
		},
		"shared interval under the default timeout": {
			reason: "the shared probe is HTTP whatever is annotated",
			config: shared, annotated: request.HealthCheck{Interval: new(int32(5)), Protocol: new("TCP")},
			want: []string{"timeout of 6s (the default over HTTP"},
		},
		"timeout over the base interval": {
			reason:    "the interval is 30s unless annotated",
			annotated: request.HealthCheck{Timeout: new(int32(31))},
			want:      []string{"timeout of 31s", "interval of 30s"},
		},
		"both annotated": {
			reason:    "the annotations contradict each other",
			annotated: request.HealthCheck{Interval: new(int32(20)), Timeout: new(int32(21))},
			want:      []string{"timeout of 21s (annotation " + timeout + ")", "interval of 20s (annotation " + interval + ")"},
		},
		"out of range": {
			reason: "all mistakes are reported at once",
			annotated: request.HealthCheck{
				Interval: new(int32(4)), Timeout: new(int32(1)), HealthyThreshold: new(int32(1)), UnhealthyThreshold: new(int32(11)),
			},
			want: []string{
				interval + `: "4" is not a number from 5 to 300`, timeout + `: "1" is not a number from 2 to 120`,
				string(request.AnnotationHealthyThreshold) + `: "1" is not a number from 2 to 10`,
				string(request.AnnotationUnhealthyThreshold) + `: "11" is not a number from 2 to 10`,
			},
		},
		"too long": {
			reason:    "there is an upper bound, too",
			annotated: request.HealthCheck{Interval: new(int32(301)), Timeout: new(int32(121))},
			want:      []string{`"301"`, `"121"`},
		},
		"short with a timeout":   {reason: "the timeout fits", annotated: request.HealthCheck{Interval: new(int32(5)), Timeout: new(int32(2))}},
		"equal to the default":   {reason: "an interval equal to the timeout is accepted", annotated: request.HealthCheck{Interval: new(int32(10))}},
		"equal over HTTP":        {reason: "an interval equal to the timeout is accepted", annotated: request.HealthCheck{Interval: new(int32(6)), Protocol: new("HTTP")}},
		"local over TCP":         {reason: "10s and 10s, as existing load balancers have", request: local, annotated: request.HealthCheck{Protocol: new("TCP")}},
		"local with an interval": {reason: "over HTTP 6s are enough", request: local, annotated: request.HealthCheck{Interval: new(int32(6))}},
		"longest":                {reason: "bounds are included", annotated: request.HealthCheck{Interval: new(int32(300)), Timeout: new(int32(120)), HealthyThreshold: new(int32(10)), UnhealthyThreshold: new(int32(2))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.request.HealthCheck = c.annotated
			_, err := healthCheck(&c.request, c.config)
			if (err != nil) != (len(c.want) > 0) || err != nil && !errors.Is(err, apierr.ErrInvalid) {
				t.Fatalf("%s: got %v", c.reason, err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %q is missing in: %v", c.reason, part, err)
				}
			}
		})
	}
}
