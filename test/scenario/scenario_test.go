package scenario

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/all"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

// Every provider takes part in the demo and the benchmarks.
func TestProvidersAreAll(t *testing.T) {
	t.Parallel()
	var got, want []string
	for _, p := range Providers() {
		got = append(got, p.Name)
	}
	for _, d := range all.Descriptors() {
		want = append(want, d.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("providers with a scenario (-want +got):\n%s", diff)
	}
}

// Each cloud comes up, its cloud-config is one that the provider has nothing to
// say against, and no machine is like another.
func TestClouds(t *testing.T) {
	t.Parallel()
	const fleet = 10
	for _, p := range Providers() {
		starts := map[string]struct {
			reason string
			start  func() (Cloud, error)
			want   int
		}{
			"demo":  {reason: "five nodes fit on a screen", start: p.Demo, want: 5},
			"fleet": {reason: "a fleet has the requested size", start: func() (Cloud, error) { return p.Fleet(fleet, time.Millisecond) }, want: fleet},
		}
		for name, tc := range starts {
			t.Run(p.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				cloud, err := tc.start()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := cloud.Close(); err != nil {
						t.Error(err)
					}
				})
				checkConfig(t, p.Name, cloud.Config())
				checkMachines(t, cloud.Machines())
				if got := len(cloud.Machines()); got != tc.want {
					t.Errorf("%s: got %d machines, want %d", tc.reason, got, tc.want)
				}
				checkServices(t, p, cloud)
				if calls := cloud.Calls(); calls.Total() != 0 {
					t.Errorf("calls before the first call: %s", calls)
				}
			})
		}
	}
}

func checkConfig(t *testing.T, name, text string) {
	t.Helper()
	file, err := config.ReadFrom(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	providers := all.Descriptors()
	chosen := slices.IndexFunc(providers, func(d provider.Descriptor) bool { return d.Name == name })
	for _, problem := range providers[chosen].Decode(file, config.WithFiles) {
		t.Errorf("cloud-config: %s", problem)
	}
}

// checkServices makes sure that a provider with kinds of load balancers has a
// cloud for them, in which nothing was made yet.
func checkServices(t *testing.T, p Provider, cloud Cloud) {
	t.Helper()
	services, ok := cloud.(ServiceCloud)
	if ok != (len(p.LoadBalancers) > 0) {
		t.Fatalf("there are %d kinds of load balancers, and a cloud for them: %t", len(p.LoadBalancers), ok)
	}
	if !ok {
		return
	}
	if made, writes := services.Made(), services.Writes(); len(made) > 0 || writes.Total() > 0 {
		t.Errorf("the cloud is in use before the start: %q, %s", made, writes)
	}
	for _, kind := range p.LoadBalancers {
		service := kind.Service("web")
		if len(service.Spec.Ports) != 2 || service.Spec.Type != v1.ServiceTypeLoadBalancer {
			t.Errorf("%s: want a Service with a load balancer and two ports: %+v", kind.Name, service.Spec)
		}
	}
}

func checkMachines(t *testing.T, machines []Machine) {
	t.Helper()
	seen := map[string]bool{}
	for _, m := range machines {
		for _, unique := range []string{m.Node.Name, m.Node.SystemUUID, m.ProviderID, m.Address} {
			if unique == "" || seen[unique] {
				t.Errorf("machine %+v: %q is empty or not its own", m, unique)
			}
			seen[unique] = true
		}
		if m.Zone == "" || m.Region == "" {
			t.Errorf("machine %+v has no zone or region", m)
		}
	}
}

func TestSumSamples(t *testing.T) {
	t.Parallel()
	const page = `# TYPE calls_total counter
calls_total{operation="exists",result="success"} 7
calls_total{operation="exists",result="error"} 1
calls_total{operation="shutdown",result="success"} 3
calls_total_other 100
passes_count 12
`
	cases := map[string]struct {
		reason string
		name   string
		labels []string
		want   int
	}{
		"all":       {reason: "series of one name add up", name: "calls_total", want: 11},
		"labels":    {reason: "only those with the label count", name: "calls_total", labels: []string{`operation="exists"`}, want: 8},
		"both":      {reason: "all labels have to fit", name: "calls_total", labels: []string{`operation="exists"`, `result="error"`}, want: 1},
		"bare":      {reason: "a series can be without labels", name: "passes_count", want: 12},
		"not there": {reason: "what never happened has no series yet", name: "nothing_total", want: 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := sumSamples(page, tc.name, tc.labels)
			if err != nil || got != tc.want {
				t.Errorf("%s: got %d, %v, want %d", tc.reason, got, err, tc.want)
			}
		})
	}
}
