package e2e

import (
	"context"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/clouds"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
	"github.com/multicloud-ccm/multicloud-ccm/test/inventory"
)

// The release of the tests, and its workload.
const (
	releaseName  = "ccm"
	workloadName = releaseName + "-" + ccm.Name
)

// readerName is the name of the account that reads metrics.
const readerName = "reader"

// threeClouds is a simulated cloud for each provider, and one values file for all of them.
type threeClouds struct {
	*clouds.Clouds

	values map[string]any
	// reader is an account that may do nothing, unless a release lets it read metrics.
	reader *rest.Config
}

// startClouds runs the clouds until the test has ended. Each has three machines.
func (c *cluster) startClouds(t *testing.T) *threeClouds {
	t.Helper()
	all, err := clouds.Start(3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := all.Close(); err != nil {
			t.Error(err)
		}
	})
	values, err := all.Values()
	if err != nil {
		t.Fatal(err)
	}
	c.makeFiles(t, all.VCenter)
	values["tls"] = map[string]any{"existingSecret": "serving"}

	return &threeClouds{Clouds: all, values: values, reader: c.as(t, v1.NamespaceDefault, readerName)}
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

// joinNext lets a machine of a cloud join, and waits until it is initialized.
func (c *cluster) joinNext(t *testing.T, f *threeClouds, provider string) {
	t.Helper()
	machine := f.Next(provider)
	c.join(t, machine)
	c.awaitInitialized(t, machine.Name)
	if id := c.node(t, machine.Name).Spec.ProviderID; !strings.HasPrefix(id, provider+":") {
		t.Errorf("the provider ID of %s is %s", machine.Name, id)
	}
}

// What the API server has of the chart after an installation with each release of Helm runs as it is
// and initializes Nodes. The provider of a release is one value; a configuration is proven in the cloud
// before any Pod is replaced; and an uninstallation leaves only what the notes name.
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

			testRefusedUpgrade(t, w, r, f, tc.from, tc.to)
			testSwitch(t, w, func() { notes += r.upgrade(t, f.values, "provider="+tc.to) })
			c.joinNext(t, f, tc.to)
			if tc.program == helm.Three {
				r = testNewerHelm(t, w, r, f, tc.to)
			}
			wantNoSharedFields(t, tc.operation, c.everything(t).Since(before))

			r.uninstall(t)
			w.finish(t)
			for _, left := range inventory.Unnoted(notes, c.everything(t).Since(before)) {
				t.Error(left)
			}
		})
	}
}

// testRefusedUpgrade (FW-START-10) upgrades to a password and to a region that the cloud refuses: the hook fails before
// anything is changed, so that all Pods work on.
func testRefusedUpgrade(t *testing.T, w *workload, r *release, f *threeClouds, from, to string) {
	t.Helper()
	pods, before := maps.Clone(w.pods), r.everything(t)
	for _, set := range [][]string{
		{"provider=" + to, f.wrongPassword(t, to)},
		{"provider=openstack", "openstack.config.Global.region=RegionNone"},
	} {
		if _, err := r.tryUpgrade(t, f.values, set...); err == nil || !strings.Contains(err.Error(), "pre-upgrade") {
			t.Errorf("%q: want an error of the hook, got %v", set, err)
		}
	}
	w.rollOut(t)
	if !maps.Equal(pods, w.pods) {
		t.Error("Pods were replaced")
	}
	for _, object := range r.everything(t).Since(before) {
		revision := object.GetKind() == "Secret" && strings.HasPrefix(object.GetName(), "sh.helm.release.v1.")
		if !revision && object.GetKind() != "Job" {
			t.Errorf("the upgrade has left %s %s", object.GetKind(), object.GetName())
		}
	}
	r.joinNext(t, f, from)
}

// wrongPassword is the argument of --set that replaces the password of a cloud.
func (f *threeClouds) wrongPassword(t *testing.T, provider string) string {
	t.Helper()
	if provider == "openstack" {
		return "openstack.config.Global.password=wrong"
	}
	address, _, err := net.SplitHostPort(f.VCenter.Address())
	if err != nil {
		t.Fatal(err)
	}

	return "vsphere.credentials.servers." + strings.ReplaceAll(address, ".", `\.`) + ".password=wrong"
}

// testSwitch changes the configuration by an upgrade. The kubelet of the second host is faster than the
// rolling update: its Pod has an old template, whose cloud-config is gone, and keeps its files.
func testSwitch(t *testing.T, w *workload, upgrade func()) {
	t.Helper()
	old := maps.Clone(w.pods)
	upgrade()
	for _, p := range old {
		p.unauthorized = true // the permissions are those of the new provider
	}
	second := w.pods[w.hosts[1]]
	second.refresh(t)
	w.rollOut(t)
	for h, p := range old {
		fresh := w.pods[h]
		if p == fresh {
			t.Errorf("the Pod of host %s is not new", h.name)
		}
		if p.restarts > 0 || fresh.restarts > 0 {
			t.Errorf("the Pods of host %s were restarted %d and %d times", h.name, p.restarts, fresh.restarts)
		}
	}
}

// testNewerHelm upgrades a release of Helm 3 with Helm 4, and rolls it back. A Pod whose template has not
// changed stays. It returns the release for Helm 4.
func testNewerHelm(t *testing.T, w *workload, r *release, f *threeClouds, provider string) *release {
	t.Helper()
	const last = 4
	pods := maps.Clone(w.pods)
	newer := r.newRelease(t, helm.Four, r.helm.Name, r.helm.Chart)
	before := r.everything(t)
	newer.upgrade(t, f.values, "provider="+provider, "rbac.metricsReader.subjects[0].kind=ServiceAccount",
		"rbac.metricsReader.subjects[0].name="+readerName, "rbac.metricsReader.subjects[0].namespace="+v1.NamespaceDefault)
	w.rollOut(t)
	await(t, "the metrics of each Pod to be readable", func(ctx context.Context) error {
		for _, p := range w.pods {
			if _, err := ccm.Fetch(ctx, f.reader, p.endpoint, "/metrics"); err != nil {
				return err
			}
		}

		return nil
	})

	newer.rollback(t, last)
	w.rollOut(t)
	for _, object := range r.everything(t).Since(before) {
		if object.GetKind() != "Secret" { // of the revisions
			t.Errorf("the rollback has left %s %s", object.GetKind(), object.GetName())
		}
	}
	if !maps.Equal(pods, w.pods) {
		t.Error("Pods were replaced")
	}

	return newer
}
