package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/clouds"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

// upstreamBinaries has the name of the environment variable that, when set, has these tests run
// the upstream controllers themselves, which tools/build builds. Otherwise our binary runs with
// their arguments, files and permissions.
const upstreamBinaries = "UPSTREAM_BINARIES"

// migration is a cluster whose controller is the upstream one, in a cloud with a machine.
type migration struct {
	// theirs and ours are the values of the charts.
	theirs, ours map[string]any
	// copied makes copies of the cloud-config and the credentials of the upstream controller, as the
	// guides do, if there are any.
	copied func(*testing.T)
	node   controlplane.NodeSpec
	// writes are the calls that may change the cloud.
	writes func() map[string]int
	// balanced reports whether there are load balancers.
	balanced bool
}

// upstreamChart is where the chart of an upstream controller is, and what it makes.
type upstreamChart struct {
	path, workload, image string
	start                 func(*testing.T, *cluster) migration
}

var upstreamCharts = map[string]upstreamChart{
	"aws": {
		path: "charts/aws-cloud-controller-manager", workload: "aws-cloud-controller-manager",
		image: "provider-aws/", start: startUpstreamAWS,
	},
	"openstack": {
		path: "charts/openstack-cloud-controller-manager", workload: "openstack-cloud-controller-manager",
		image: "provider-os/", start: startUpstreamOpenStack,
	},
	"vsphere": {
		path: "charts/vsphere-cpi", workload: "vsphere-cpi",
		image: "cloud-pv-vsphere/", start: startUpstreamVSphere,
	},
}

// A cluster moves from the chart of the upstream controller, with its defaults, to ours and back
// again, by the steps of the guides. Both have the same lease, and ours another port for as long as
// both run. No Node and no load balancer notices.
func TestMigration(t *testing.T) {
	t.Parallel()
	for provider, chart := range upstreamCharts {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t)
			m := chart.start(t, c)
			h := c.newHost(t, "node", programsOf(t, provider, chart))
			theirs := c.newRelease(t, helm.Four, "upstream", chartOf(t, provider, chart))
			multicloud := c.newRelease(t, helm.Four, releaseName, ours(t))
			m.ours["provider"] = provider

			theirs.install(t, m.theirs)
			upstream := c.runDaemonSet(t, systemNamespace, chart.workload, h)
			upstream.wantEndpoint(t, defaultPort)
			c.join(t, m.node)
			c.awaitInitialized(t, m.node.Name)
			if m.balanced {
				c.create(t, newService("web", classic, 80))
				c.awaitAddress(t, "web")
			}
			history := c.follow(t)
			before, writes := c.visible(t, m), m.writes()
			if m.copied != nil {
				m.copied(t)
			}

			multicloud.install(t, m.ours, "securePort=10268")
			own := c.runDaemonSet(t, systemNamespace, workloadName, h)
			own.wantEndpoint(t, 10268)
			theirs.uninstall(t)
			upstream.finish(t)
			c.expireLease(t)
			m.awaitWork(t, own)
			own.wantNothingPlanned(t)
			multicloud.upgrade(t, m.ours)
			own.rollOut(t)
			own.wantEndpoint(t, defaultPort)
			m.awaitWork(t, own)
			m.wantNoWrites(t, writes)

			multicloud.upgrade(t, m.ours, "securePort=10268")
			own.rollOut(t)
			theirs.install(t, m.theirs)
			upstream = c.runDaemonSet(t, systemNamespace, chart.workload, h)
			multicloud.uninstall(t)
			own.finish(t)
			c.expireLease(t)
			m.awaitWork(t, upstream)

			if diff := cmp.Diff(before, c.visible(t, m)); diff != "" {
				t.Errorf("Nodes or Services have changed (-before +after):\n%s", diff)
			}
			if os.Getenv(upstreamBinaries) == "" { // theirs sets attributes of load balancers at each start
				m.wantNoWrites(t, writes)
			}
			history.check(t)
			if m.balanced {
				c.remove(t, "web")
				c.awaitRemoved(t, "web")
			}
			theirs.uninstall(t)
			upstream.finish(t)
		})
	}
}

// programsOf returns the binaries of the images of both charts.
func programsOf(t *testing.T, provider string, chart upstreamChart) map[string]string {
	t.Helper()
	binary, err := ccm.Locate(binaryPath)
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{ccm.Name: binary, chart.image: binary}
	if os.Getenv(upstreamBinaries) != "" {
		if programs[chart.image], err = helm.Locate(t.Context(), provider+"-cloud-controller-manager"); err != nil {
			t.Fatal(err)
		}
	}

	return programs
}

// chartOf returns a copy of an upstream chart, from the module in the version that tools/upstream
// has, with a stand-in for a chart that it depends on.
func chartOf(t *testing.T, provider string, chart upstreamChart) string {
	t.Helper()
	top, err := ccm.Top()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "k8s.io/cloud-provider-"+provider)
	command.Dir = filepath.Join(top, "tools", "upstream")
	output, err := command.Output()
	if err != nil {
		t.Fatalf("download the upstream controller: %v:\n%s", err, output)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(output, &module); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "chart")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(module.Dir, chart.path))); err != nil {
		t.Fatal(err)
	}
	if provider == "openstack" {
		addCommon(t, filepath.Join(dir, "charts", "common"))
	}

	return dir
}

// addCommon makes a library chart with the one template that the chart of OpenStack uses of it.
func addCommon(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "templates"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "Chart.yaml"), "apiVersion: v2\nname: common\nversion: 2.14.1\ntype: library\n")
	write(t, filepath.Join(dir, "templates", "_labels.tpl"), `{{- define "common.labels.standard" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
`)
}

// startUpstreamAWS has what the chart for AWS cannot do without: it does not know of routes, and an
// instance is found in the network of its host.
func startUpstreamAWS(t *testing.T, c *cluster) migration {
	t.Helper()
	r := c.startRegion(t)
	env := clouds.Variables(c.environment)

	return migration{
		theirs: map[string]any{
			"args": []string{"--v=2", "--cloud-provider=aws", "--configure-cloud-routes=false"}, "hostNetworking": true, "env": env,
		},
		ours:   map[string]any{"env": env},
		node:   controlplane.NodeSpec{Name: names(r.add(1))[0]},
		writes: r.Writes, balanced: true,
	}
}

// startUpstreamOpenStack lets the chart make its Secret, which goes with it: ours has a copy with the
// provider. Theirs finds no external network by itself whose subnets belong to another
// project.
func startUpstreamOpenStack(t *testing.T, c *cluster) migration {
	t.Helper()
	p := c.startProject(t)
	node := p.add("server")

	return migration{
		theirs: map[string]any{"cloudConfig": map[string]any{
			"global": clouds.ProjectValues(p.Cloud), "loadBalancer": map[string]any{"floating-network-id": publicNetwork},
		}},
		ours: map[string]any{"cloudConfig": map[string]any{"existingSecret": map[string]any{"name": "ccm-openstack"}}},
		copied: func(t *testing.T) {
			t.Helper()
			text := string(c.secretData(t, "cloud-config")["cloud.conf"])
			c.makeSecret(t, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ccm-openstack"}, StringData: map[string]string{
				"cloud.conf": replaced(t, text, "[Global]\n", "[Global]\nprovider = openstack\n"),
			}})
		},
		node: node, writes: p.Writes, balanced: true,
	}
}

// startUpstreamVSphere makes the ConfigMap that the chart has by default, with a Secret.
func startUpstreamVSphere(t *testing.T, c *cluster) migration {
	t.Helper()
	const secret, config, copiedSecret, copiedConfig = "vsphere-cloud-secret", "cloud-config", "ccm-vcenter", "ccm-vsphere"
	vc := startCloud(t, smallVCenter("vc", "vm")).VCenter("vc")
	address, port, err := net.SplitHostPort(vc.Address())
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`global:
  port: %s
  insecureFlag: true
  secretName: %s
  secretNamespace: %s
vcenter:
  %q:
    server: %q
    datacenters: [dc-vc]
`, port, secret, systemNamespace, address, address)
	c.makeConfigMap(t, config, "vsphere.conf", text)
	c.makeSecret(t, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secret}, StringData: map[string]string{
		address + ".username": vc.User(), address + ".password": vc.Password(),
	}})

	return migration{
		theirs: map[string]any{},
		ours: map[string]any{
			"cloudConfig": map[string]any{"existingConfigMap": map[string]any{"name": copiedConfig}},
			"vsphere":     map[string]any{"credentials": map[string]any{"existingSecret": map[string]any{"name": copiedSecret}}},
		},
		copied: func(t *testing.T) {
			t.Helper()
			object, err := c.Client().CoreV1().ConfigMaps(systemNamespace).Get(t.Context(), config, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			text := replaced(t, object.Data["vsphere.conf"], "global:\n", "global:\n  provider: vsphere\n")
			c.makeConfigMap(t, copiedConfig, "vsphere.conf", replaced(t, text, "secretName: "+secret, "secretName: "+copiedSecret))
			c.makeSecret(t, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: copiedSecret}, Data: c.secretData(t, secret)})
		},
		node: controlplane.NodeSpec{Name: "vm"},
		writes: func() map[string]int {
			calls := vc.Calls()
			maps.DeleteFunc(calls, func(name string, _ int) bool { return !strings.HasSuffix(name, "_Task") })

			return calls
		},
	}
}

// awaitWork waits until a workload leads and has done all that the start of a leader does: addresses of
// the Nodes are updated and load balancers checked.
func (m migration) awaitWork(t *testing.T, w *workload) {
	t.Helper()
	leader := w.leader(t)
	wanted := []string{"Update 1 nodes status took"}
	if m.balanced {
		wanted = append(wanted, `reason="EnsuredLoadBalancer"`)
	}
	await(t, leader.Name+" to do its work", func(context.Context) error {
		leader.wantRunning(t)
		for _, text := range wanted {
			if !strings.Contains(leader.log(t), text) {
				return fmt.Errorf("its log lacks %s", text)
			}
		}

		return nil
	})
}

// secretData returns the content of a Secret.
func (c *cluster) secretData(t *testing.T, name string) map[string][]byte {
	t.Helper()
	secret, err := c.Client().CoreV1().Secrets(systemNamespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	return secret.Data
}

// replaced returns a text with a part replaced that must be there once.
func replaced(t *testing.T, text, part, by string) string {
	t.Helper()
	if n := strings.Count(text, part); n != 1 {
		t.Fatalf("%q is there %d times, want it once, in:\n%s", part, n, text)
	}

	return strings.Replace(text, part, by, 1)
}

// wantNothingPlanned checks the metrics of the leader, as the guides do: it has found the instance of a
// Node, and has applied nothing.
func (w *workload) wantNothingPlanned(t *testing.T) {
	t.Helper()
	leader := w.leader(t)
	await(t, "the metrics of "+leader.Name, func(ctx context.Context) error {
		page, err := ccm.Fetch(ctx, leader.host.RESTConfig(), leader.endpoint, "/metrics")
		if err != nil {
			return err
		}
		found, err := sum(page, "multicloud_ccm_node_instance_found")
		if err != nil {
			return permanentError{err}
		}
		if found != 1 {
			return fmt.Errorf("multicloud_ccm_node_instance_found is %v", found)
		}
		if steps, err := sum(page, "multicloud_ccm_plan_steps_total"); err != nil || steps != 0 {
			return permanentError{fmt.Errorf("multicloud_ccm_plan_steps_total is %v, error %w", steps, err)}
		}

		return nil
	})
}

// wantEndpoint checks the port of all Pods.
func (w *workload) wantEndpoint(t *testing.T, port int) {
	t.Helper()
	for _, h := range w.hosts {
		if want := net.JoinHostPort(h.address, fmt.Sprint(port)); w.pods[h].endpoint != want {
			t.Errorf("the server of %s has %s, want %s", w.name, w.pods[h].endpoint, want)
		}
	}
}

// awaitAddress waits until a Service has an address.
func (c *cluster) awaitAddress(t *testing.T, name string) {
	t.Helper()
	await(t, "an address of Service "+name, func(ctx context.Context) error {
		service, err := c.services().Get(ctx, name, metav1.GetOptions{})
		if err == nil && len(service.Status.LoadBalancer.Ingress) == 0 {
			err = errors.New("it has none")
		}

		return err
	})
}

// wantNoWrites checks that the cloud was not written to.
func (m migration) wantNoWrites(t *testing.T, before map[string]int) {
	t.Helper()
	if diff := cmp.Diff(before, m.writes()); diff != "" {
		t.Errorf("the cloud was written to (-before +after):\n%s", diff)
	}
}

// visible is what users have of a controller, without what ours adds under names of its own.
func (c *cluster) visible(t *testing.T, m migration) map[string]any {
	t.Helper()
	node := stateOf(c.node(t, m.node.Name))
	maps.DeleteFunc(node.Labels, isOurs)
	seen := map[string]any{"node": node}
	if m.balanced {
		service := c.service(t, "web")
		maps.DeleteFunc(service.Annotations, isOurs)
		seen["service"], seen["annotations"], seen["finalizers"] = service.Status.LoadBalancer, service.Annotations, service.Finalizers
	}

	return seen
}

// isOurs reports whether the name of a label or an annotation is one of this project.
func isOurs(name, _ string) bool { return strings.HasPrefix(name, "multicloud-ccm.io/") }
