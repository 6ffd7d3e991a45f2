package classic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

func TestHealthCheck(t *testing.T) {
	t.Parallel()

	const (
		protocol = request.AnnotationHealthCheckProtocol
		port     = request.AnnotationHealthCheckPort
		path     = request.AnnotationHealthCheckPath
	)
	shared := request.Config{SharedProbe: true, SharedProbePort: 10256, SharedProbePath: "/healthz"}
	local := kubetest.LocalTraffic(31000)
	cases := map[string]struct {
		reason  string
		options []kubetest.ServiceOption
		config  request.Config
		target  string
	}{
		"Default":        {reason: "TCP on the first node port", target: "TCP:30080"},
		"BackendSSL":     {reason: "backends with TLS", options: []kubetest.ServiceOption{annotated(request.AnnotationBackendProtocol, "SSL")}, target: "SSL:30080"},
		"BackendHTTPS":   {reason: "backends with TLS", options: []kubetest.ServiceOption{annotated(request.AnnotationBackendProtocol, "https")}, target: "SSL:30080"},
		"BackendHTTP":    {reason: "others do not count", options: []kubetest.ServiceOption{annotated(request.AnnotationBackendProtocol, "http")}, target: "TCP:30080"},
		"Local":          {reason: "local traffic", options: []kubetest.ServiceOption{local}, target: "HTTP:31000/healthz"},
		"LocalShared":    {reason: "local traffic before the shared mode", options: []kubetest.ServiceOption{local}, config: shared, target: "HTTP:31000/healthz"},
		"LocalTraffic":   {reason: "traffic-port is the first node port", options: []kubetest.ServiceOption{local, annotated(port, "traffic-port")}, target: "HTTP:30080/healthz"},
		"LocalNoPort":    {reason: "local traffic without a health check port", options: []kubetest.ServiceOption{kubetest.LocalTraffic(0)}, target: "TCP:30080"},
		"LocalTCP":       {reason: "without HTTP there is no path", options: []kubetest.ServiceOption{local, annotated(protocol, "tcp")}, target: "TCP:31000"},
		"LocalHTTPS":     {reason: "the path stays", options: []kubetest.ServiceOption{local, annotated(protocol, "https")}, target: "HTTPS:31000/healthz"},
		"Shared":         {reason: "shared mode", config: shared, target: "HTTP:10256/healthz"},
		"SharedOther":    {reason: "annotations change the shared mode", options: []kubetest.ServiceOption{annotated(port, "8080"), annotated(path, "/x")}, config: shared, target: "HTTP:8080/x"},
		"SharedBackends": {reason: "shared mode whatever the backends' protocol", options: []kubetest.ServiceOption{annotated(request.AnnotationBackendProtocol, "ssl")}, config: shared, target: "HTTP:10256/healthz"},
		"HTTP":           {reason: "the default path", options: []kubetest.ServiceOption{annotated(protocol, "HTTP")}, target: "HTTP:30080/"},
		"Port":           {reason: "another port", options: []kubetest.ServiceOption{annotated(port, "08080")}, target: "TCP:8080"},
		"AllAnnotated":   {reason: "protocol, port and path", options: []kubetest.ServiceOption{annotated(protocol, "https"), annotated(port, "1"), annotated(path, "/live")}, target: "HTTPS:1/live"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r, _, err := request.New(web(tc.options...), nil, tc.config)
			if err != nil {
				t.Fatal(err)
			}
			got, warnings, err := healthCheck(r, tc.config)
			want := HealthCheck{Target: tc.target, Interval: 10, Timeout: 5, HealthyThreshold: 2, UnhealthyThreshold: 6}
			if diff := cmp.Diff(want, got); diff != "" || err != nil || len(warnings) > 0 {
				t.Errorf("AWS-HC-1, %s: %v, %v, -want +got:\n%s", tc.reason, err, warnings, diff)
			}
		})
	}
}

func TestHealthCheckNumbers(t *testing.T) {
	t.Parallel()

	const (
		interval, timeout  = request.AnnotationHealthCheckInterval, request.AnnotationHealthCheckTimeout
		healthy, unhealthy = request.AnnotationHealthyThreshold, request.AnnotationUnhealthyThreshold
	)
	cases := map[string]struct {
		options []kubetest.ServiceOption
		want    HealthCheck
		message string
	}{
		"Least": {
			options: []kubetest.ServiceOption{annotated(interval, "5"), annotated(timeout, "2"), annotated(healthy, "2"), annotated(unhealthy, "2")},
			want:    HealthCheck{Target: "TCP:30080", Interval: 5, Timeout: 2, HealthyThreshold: 2, UnhealthyThreshold: 2},
		},
		"Interval":        {options: []kubetest.ServiceOption{annotated(interval, "4")}, message: `healthcheck-interval: "4" is not 5 or more`},
		"Timeout":         {options: []kubetest.ServiceOption{annotated(timeout, "1")}, message: `healthcheck-timeout: "1" is not 2 or more`},
		"Healthy":         {options: []kubetest.ServiceOption{annotated(healthy, "1")}, message: `healthcheck-healthy-threshold: "1" is not 2 or more`},
		"Unhealthy":       {options: []kubetest.ServiceOption{annotated(unhealthy, "0")}, message: `healthcheck-unhealthy-threshold: "0" is not 2 or more`},
		"TimeoutTooLong":  {options: []kubetest.ServiceOption{annotated(timeout, "10")}, message: "timeout of 10s is not less than the interval of 10s"},
		"IntervalTooTiny": {options: []kubetest.ServiceOption{annotated(interval, "5")}, message: "timeout of 5s is not less than the interval of 5s"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r, _, err := request.New(web(tc.options...), nil, request.Config{})
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := healthCheck(r, request.Config{})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("AWS-HC-5: minimums: -want +got:\n%s", diff)
			}
			if wantErr := tc.message != ""; wantErr != (err != nil) || wantErr && !strings.Contains(err.Error(), tc.message) {
				t.Errorf("AWS-HC-5: minimums: got %v, want it to contain %q", err, tc.message)
			}
		})
	}
}

func TestHealthCheckWithoutPath(t *testing.T) {
	t.Parallel()

	r, _, err := request.New(web(annotated(request.AnnotationHealthCheckPath, "/live")), nil, request.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, warnings, err := healthCheck(r, request.Config{})
	if err != nil || len(warnings) != 1 || warnings[0].Reason != request.IgnoredAnnotation {
		t.Errorf("AWS-HC-4: a path without HTTP is a warning, got %v, %v", warnings, err)
	}
}
