package e2e

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

// The release of the tests, and its workload.
const (
	releaseName  = "ccm"
	workloadName = releaseName + "-" + ccm.Name
)

// threeClouds is a simulated cloud for each provider, with machines that are to join the cluster, and
// one values file for all of them.
type threeClouds struct {
	values   map[string]any
	machines map[string][]controlplane.NodeSpec // by provider
}

// startClouds runs the clouds until the test has ended. Each has three machines.
func (c *cluster) startClouds(t *testing.T) *threeClouds {
	t.Helper()
	f := &threeClouds{machines: map[string][]controlplane.NodeSpec{}}
	region := c.startRegion(t)
	for _, name := range names(region.add(3)) {
		f.machines["aws"] = append(f.machines["aws"], controlplane.NodeSpec{Name: name})
	}
	project := c.startProject(t)
	for i := range 3 {
		f.machines["openstack"] = append(f.machines["openstack"], project.add(fmt.Sprintf("server-%d", i)))
		f.machines["vsphere"] = append(f.machines["vsphere"], controlplane.NodeSpec{Name: fmt.Sprintf("vm-%d", i)})
	}
	vcenter := startCloud(t, smallVCenter("vc", "vm-0", "vm-1", "vm-2")).VCenter("vc")
	c.makeFiles(t, vcenter)
	f.values = map[string]any{
		"aws":       map[string]any{"config": map[string]any{}},
		"env":       variables(c.environment),
		"openstack": map[string]any{"config": map[string]any{"Global": project.settings()}},
		"vsphere":   vcenterValues(t, vcenter),
		"caBundle":  map[string]any{"configMap": "cloud-ca"},
		"tls":       map[string]any{"existingSecret": "serving"},
	}

	return f
}

// makeFiles makes what values refer to: the certificate of a vCenter, and one for the server, which
// saves each process the time to make its own.
func (c *cluster) makeFiles(t *testing.T, vcenter *vsphere.VCenter) {
	t.Helper()
	data := map[string][]byte{}
	for key, suffix := range map[string]string{v1.TLSCertKey: ".crt", v1.TLSPrivateKeyKey: ".key"} {
		text, err := os.ReadFile(filepath.Join(c.Dir(), "kube-apiserver"+suffix))
		if err != nil {
			t.Fatal(err)
		}
		data[key] = text
	}
	c.makeSecret(t, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "serving"}, Type: v1.SecretTypeTLS, Data: data})
	c.makeConfigMap(t, "cloud-ca", "ca.crt", string(vcenter.CertificatePEM()))
}

// makeSecret makes a Secret in kube-system until the test has ended.
func (c *cluster) makeSecret(t *testing.T, secret *v1.Secret) {
	t.Helper()
	secrets := c.Client().CoreV1().Secrets(systemNamespace)
	if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := ending()
		defer cancel()
		if err := secrets.Delete(ctx, secret.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// makeConfigMap makes a ConfigMap in kube-system until the test has ended.
func (c *cluster) makeConfigMap(t *testing.T, name, key, text string) {
	t.Helper()
	maps := c.Client().CoreV1().ConfigMaps(systemNamespace)
	object := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{key: text}}
	if _, err := maps.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := ending()
		defer cancel()
		if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// variables are environment variables as values of a chart.
func variables(environment []string) []any {
	var all []any
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		all = append(all, map[string]any{"name": name, "value": value})
	}

	return all
}

// settings are the keys of [Global] for the user of a cluster.
func (p *project) settings() map[string]any {
	user := p.AuthOptions(openstack.UserCCM)

	return map[string]any{
		"auth-url": p.AuthURL(), "region": p.Regions()[0], "username": user.Username, "password": user.Password,
		"domain-id": user.DomainID, "tenant-id": user.TenantID,
	}
}

// vcenterValues are the values for a vCenter, whose password is in a Secret of its own.
func vcenterValues(t *testing.T, vc *vsphere.VCenter) map[string]any {
	t.Helper()
	address, port, err := net.SplitHostPort(vc.Address())
	if err != nil {
		t.Fatal(err)
	}

	return map[string]any{
		"config": map[string]any{"VirtualCenter": map[string]any{address: map[string]any{"port": port}}},
		"credentials": map[string]any{
			"create":  true,
			"servers": map[string]any{address: map[string]any{"username": vc.User(), "password": vc.Password()}},
		},
	}
}

// joinNext lets a machine of a cloud join, and waits until it is initialized.
func (c *cluster) joinNext(t *testing.T, f *threeClouds, provider string) {
	t.Helper()
	machine := f.machines[provider][0]
	f.machines[provider] = f.machines[provider][1:]
	c.join(t, machine)
	c.awaitInitialized(t, machine.Name)
	if id := c.node(t, machine.Name).Spec.ProviderID; !strings.HasPrefix(id, provider+":") {
		t.Errorf("the provider ID of %s is %s", machine.Name, id)
	}
}

// What the API server has of the chart after an installation with each release of Helm runs as it is
// and initializes Nodes. The provider of a release is one value; new Pods try a configuration before
// the others get it; and an uninstallation leaves only what the notes name.
func TestChartInstalled(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		program, from, to string
		operation         string // by which it writes fields
		accounts          bool
	}{
		"Helm3": {program: helm.Three, from: "openstack", to: "vsphere", operation: "Update"},
		"Helm4": {program: helm.Four, from: "aws", to: "openstack", operation: "Apply", accounts: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t)
			f := c.startClouds(t)
			f.values["useServiceAccountCredentials"] = tc.accounts
			r := c.newRelease(t, tc.program, releaseName, ours(t))
			binary, err := ccm.Locate(binaryPath)
			if err != nil {
				t.Fatal(err)
			}
			programs := map[string]string{ccm.Name: binary}
			before := c.everything(t)

			notes := r.install(t, f.values, "provider="+tc.from)
			w := c.runDaemonSet(t, systemNamespace, workloadName, c.newHost(t, "first", programs), c.newHost(t, "second", programs))
			c.joinNext(t, f, tc.from)

			testSwitch(t, w, func() { notes += r.upgrade(t, f.values, "provider="+tc.to) })
			c.joinNext(t, f, tc.to)
			testBrokenUpgrade(t, w, r, f, tc.to)
			wantNoSharedFields(t, tc.operation, c.added(t, before))

			r.uninstall(t)
			w.finish(t)
			wantNoted(t, notes, c.added(t, before))
		})
	}
}

// testSwitch changes the configuration by an upgrade. The kubelet of the second host is faster than the
// rolling update: its Pod, which has an old template, gets the new file.
func testSwitch(t *testing.T, w *workload, upgrade func()) {
	t.Helper()
	const checksum = "checksum/cloud-config"
	old := maps.Clone(w.pods)
	upgrade()
	second := w.pods[w.hosts[1]]
	second.refresh(t)
	second.awaitRestarted(t)
	w.rollOut(t)
	for h, p := range old {
		fresh := w.pods[h]
		if p == fresh || p.Annotations[checksum] == fresh.Annotations[checksum] || fresh.Annotations[checksum] == "" {
			t.Errorf("the Pod of host %s is not new: %v, %v", h.name, p.Annotations, fresh.Annotations)
		}
		if p.restarts > 1 || fresh.restarts > 0 {
			t.Errorf("the Pods of host %s were restarted %d and %d times", h.name, p.restarts, fresh.restarts)
		}
	}
}

// testBrokenUpgrade upgrades to a configuration that the process refuses: only the first Pod tries it, the
// other one works on, even when its file changes, and a rollback replaces the first one alone.
func testBrokenUpgrade(t *testing.T, w *workload, r *release, f *threeClouds, provider string) {
	t.Helper()
	const last = "2"
	second := w.pods[w.hosts[1]]
	r.upgrade(t, f.values, "provider="+provider, provider+".config.Multicloud.strict=true", provider+".config.Global.no-such-key=1")
	failed := w.try(t)
	if failed == nil || failed.host != w.hosts[0] {
		t.Fatalf("the first Pod has not failed: %v", failed)
	}
	failed.wantFailed(t, "no-such-key")
	second.refresh(t)
	r.joinNext(t, f, provider)

	r.run(t, nil, "rollback", releaseName, last)
	w.rollOut(t)
	second.refresh(t)
	r.joinNext(t, f, provider)
	if second != w.pods[w.hosts[1]] || second.restarts > 0 {
		t.Errorf("the Pod of the second host was replaced, or restarted %d times", second.restarts)
	}
	second.wantRunning(t)
}
