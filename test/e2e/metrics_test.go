package e2e

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// routesArgs turn on the controller for routes where the provider supports it.
var routesArgs = []string{"--configure-cloud-routes", "--cluster-cidr=10.244.0.0/16"}

// exposure runs a process with a provider, as leader. The cloud throttles it once.
type exposure struct {
	// start returns a cloud-config and the names of Nodes that join.
	start func(t *testing.T, c *cluster) (config string, nodes []string)
	// services reports whether there are load balancers and routes.
	services bool
}

func exposures() map[string]exposure {
	return map[string]exposure{
		"aws": {services: true, start: func(t *testing.T, c *cluster) (string, []string) {
			t.Helper()
			r := c.startRegion(t)
			nodes := r.add(1)
			r.Interceptor().Inject("ec2", simserver.Nth(1), aws.Throttled())
			c.joinAll(t, nodes)

			return awsConfig, names(nodes)
		}},
		"openstack": {services: true, start: func(t *testing.T, c *cluster) (string, []string) {
			t.Helper()
			p := c.startProject(t)
			node := p.add("a")
			node.SystemUUID = "" // with nothing but its name the list of servers is read, which has metrics
			c.join(t, node)
			p.Interceptor().Inject("nova", simserver.Nth(1), simserver.Status(http.StatusTooManyRequests))

			return p.config() + "\n[Route]\nrouter-id = " + p.router + "\n", []string{"a"}
		}},
		"vsphere": {start: func(t *testing.T, c *cluster) (string, []string) {
			t.Helper()
			vc := startCloud(t, smallVCenter("vc", "a")).VCenter("vc")
			vc.Inject("Login", simserver.Nth(1), simserver.Status(http.StatusTooManyRequests))
			c.join(t, controlplane.NodeSpec{Name: "a"})

			return vsphereConfig(vc), []string{"a"}
		}},
	}
}

// FW-METRIC-4, FW-METRIC-5: what a leader and a standby expose with each provider once the
// leader has worked. The alerts and the dashboard of the chart are checked against it.
func TestExposedMetrics(t *testing.T) {
	t.Parallel()
	for name, tc := range exposures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t)
			text, nodes := tc.start(t, c)
			config := writeConfig(t, text)
			var args []string
			if tc.services {
				args = routesArgs
			}
			leader := c.run(t, config, args...)
			c.awaitInitialized(t, nodes...)
			if tc.services {
				c.create(t, newService("web", classic, 80))
				leader.awaitSeries(t, "multicloud_ccm_plan_steps_total", "service_controller_loadbalancer_sync_total")
				leader.awaitSeries(t, "route_controller_route_sync_total")
			}
			leader.awaitMetric(t, 0, "multicloud_ccm_nodes_waiting")
			leader.awaitSeries(t, "multicloud_ccm_cloud_requests_throttled_total")
			standby := c.launch(t, "standby", config, args...)
			standby.awaitLog(t, "Attempting to acquire leader lease")
			standby.awaitSeries(t, "leader_election_master_status")

			wantExposed(t, name+"-leader", leader.page(t, "/metrics"))
			wantExposed(t, name+"-standby", standby.page(t, "/metrics"))
			if tc.services {
				c.remove(t, "web")
				c.awaitRemoved(t, "web")
			}
		})
	}
}

// FW-ERROR-1: a certificate that is not trusted is counted as that, with SDKs that wrap it
// in errors of their own.
func TestUntrustedCertificatesAreCounted(t *testing.T) {
	t.Parallel()
	cases := map[string]func(t *testing.T, c *cluster) string{
		"aws": func(t *testing.T, c *cluster) string {
			t.Helper()
			r := c.startRegion(t)
			r.add(1) // the process is on it
			server, err := simserver.Start(simserver.Config{}, http.NotFoundHandler())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := server.Close(); err != nil {
					t.Error(err)
				}
			})
			c.environment = append(c.environment, "AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING=https://"+server.Address())
			c.createAbandoned(t, newService("web", classic, 80))

			return awsConfig
		},
		"vsphere": func(t *testing.T, _ *cluster) string {
			t.Helper()
			vc := startCloud(t, smallVCenter("vc", "a")).VCenter("vc")

			return strings.Replace(vsphereConfig(vc), fmt.Sprintf("ca-file = %q\n", vc.CAFile()), "", 1)
		},
		"openstack": func(t *testing.T, _ *cluster) string {
			t.Helper()
			cloud, err := openstack.Start(openstack.Options{TLS: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := cloud.Close(); err != nil {
					t.Error(err)
				}
			})

			return (&project{Cloud: cloud}).config()
		},
	}
	for provider, config := range cases {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t)
			m := c.run(t, writeConfig(t, config(t, c)))
			c.join(t, controlplane.NodeSpec{Name: "a"})
			m.await(t, "the certificate to be counted", func(ctx context.Context) error {
				n, err := m.metric(ctx, "multicloud_ccm_cloud_requests_total", `code="untrusted"`, fmt.Sprintf("provider=%q", provider))
				if err == nil && n == 0 {
					err = errors.New("it is not")
				}

				return err
			})
		})
	}
}

// createAbandoned creates a Service that is deleted when the process has ended, which could not
// delete its load balancer.
func (c *cluster) createAbandoned(t *testing.T, service *v1.Service) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := ending()
		defer cancel()
		_, err := c.services().Patch(ctx, service.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err := errors.Join(err, c.services().Delete(ctx, service.Name, metav1.DeleteOptions{})); err != nil {
			t.Error(err)
		}
	})
	c.create(t, service)
}

// awaitSeries waits until there are metrics of these names.
func (m *manager) awaitSeries(t *testing.T, names ...string) {
	t.Helper()
	await(t, fmt.Sprintf("metrics %q", names), func(ctx context.Context) error {
		page, err := m.Get(ctx, m.cluster.RESTConfig(), "/metrics")
		if err != nil {
			return err
		}
		all := exposed(page)
		for _, name := range names {
			if all[name] == nil {
				return fmt.Errorf("there is no %s", name)
			}
		}

		return nil
	})
}

// wantExposed compares metrics with a golden file, which lists the names of series with
// those of their labels. test/alerts reads it, too.
func wantExposed(t *testing.T, name, page string) {
	t.Helper()
	var b strings.Builder
	all := exposed(page)
	for _, metric := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s{%s}\n", metric, strings.Join(sets.List(all[metric]), ","))
	}
	path := filepath.Join("testdata", "metrics-"+name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s: exposed metrics (-want +got), run with -update if that is right:\n%s", path, diff)
	}
}

var (
	// stable are the metrics whose presence does not depend on timing or on failures.
	stable = regexp.MustCompile(`^(multicloud_ccm_|leader_election_master_status|route_controller_|service_controller_|node_controller_|cloud_node_lifecycle_controller_monitor|workqueue_(adds|depth|retries)|rest_client_requests|process_(cpu|resident|start)|kubernetes_build)`)
	label  = regexp.MustCompile(`([a-zA-Z_]\w*)="`)
)

// exposed returns the names of series with those of their labels.
func exposed(page string) map[string]sets.Set[string] {
	all := map[string]sets.Set[string]{}
	lines := bufio.NewScanner(strings.NewReader(page))
	for lines.Scan() {
		series, _, ok := strings.Cut(lines.Text(), " ")
		name, labels, _ := strings.Cut(series, "{")
		if !ok || name == "#" || !stable.MatchString(name) {
			continue
		}
		if all[name] == nil {
			all[name] = sets.New[string]()
		}
		for _, match := range label.FindAllStringSubmatch(labels, -1) {
			all[name].Insert(match[1])
		}
	}

	return all
}
