package e2e

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

const (
	secretNamespace = "vsphere"
	secretName      = "vsphere-credentials"
)

// credentialStore is a fixture with credentials in every place that they can come from, and
// keeps a list of all that must never be shown.
type credentialStore struct {
	*cluster

	cloud     *vsphere.Cloud
	directory string
	config    string
	// certificate and key are another way to log in.
	certificate, key string
	secrets          map[string]string // what it is → the secret
}

// The vCenters of a credentialStore, by where their credentials are. Each has an address
// of its own: that is what credentials in Secrets and directories go by.
const (
	inline    = "inline"
	inSecret  = "secret"
	inFiles   = "directory"
	byManager = "manager"
	byKey     = "certificate"
	refused   = "refused"
)

func newCredentialStore(t *testing.T) *credentialStore {
	t.Helper()
	v := &credentialStore{cluster: startCluster(t), directory: t.TempDir(), secrets: map[string]string{}}
	v.makeSecretNamespace(t)
	v.secret = secretName
	var specs []vsphere.VCenterSpec
	for i, name := range []string{inline, inSecret, inFiles, byManager, byKey, refused} {
		spec := smallVCenter(name, "vm-"+name)
		spec.Listen = fmt.Sprintf("127.0.0.%d:0", i+1)
		spec.Password = "Zq7" + name + "-pa55w0rd"
		v.secrets["password of "+name] = spec.Password
		specs = append(specs, spec)
	}
	specs[3].SessionManagerToken = "Zq7manager-t0ken"
	v.secrets["token of the session manager"] = specs[3].SessionManagerToken
	v.certificate, v.key = clientCertificate(t)
	v.secrets["key of the certificate"] = strings.Split(v.key, "\n")[1]
	v.cloud = startCloud(t, specs...)
	v.putSecret(t, v.cloud.VCenter(inSecret).Password())
	v.putFiles(t, v.cloud.VCenter(inFiles).Password())
	v.config = v.configText()

	return v
}

// clientCertificate makes a certificate and its key, both as PEM.
func clientCertificate(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "controller"},
		NotAfter:     time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	key = string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}))

	return certificate, key
}

func server(vc *vsphere.VCenter) string { return vc.URL().Hostname() }

func (v *credentialStore) configText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[Global]\nprovider = vsphere\nsecrets-directory = %q\n", v.directory)
	wrong := "Zq7wrong-pa55w0rd"
	v.secrets["wrong password"] = wrong
	for _, vc := range v.cloud.VCenters() {
		fmt.Fprintf(&b, "\n%s", section(vc))
		switch vc.Name() {
		case inline:
			fmt.Fprintf(&b, "user = %q\npassword = %q\n", vc.User(), vc.Password())
		case refused:
			// A refused login of the account of the others would delay theirs for three minutes.
			fmt.Fprintf(&b, "user = %q\npassword = %q\n", "other-"+vc.User(), wrong)
		case inSecret, byManager, byKey:
			fmt.Fprintf(&b, "secret-name = %s\nsecret-namespace = %s\n", secretName, secretNamespace)
		}
	}

	return b.String()
}

// putSecret creates or updates the Secret, with a password for one vCenter.
func (v *credentialStore) putSecret(t *testing.T, password string) {
	t.Helper()
	vc, manager, keyed := v.cloud.VCenter(inSecret), v.cloud.VCenter(byManager), v.cloud.VCenter(byKey)
	secret := &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName}, StringData: map[string]string{
		server(vc) + ".username":                      vc.User(),
		server(vc) + ".password":                      password,
		server(keyed) + ".username":                   v.certificate,
		server(keyed) + ".password":                   v.key,
		server(manager) + ".vc-session-manager-url":   manager.SharedSessionURL().String(),
		server(manager) + ".vc-session-manager-token": v.secrets["token of the session manager"],
	}}
	secrets := v.Client().CoreV1().Secrets(secretNamespace)
	if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err == nil {
		return
	}
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// putFiles writes the directory of credentials.
func (v *credentialStore) putFiles(t *testing.T, password string) {
	t.Helper()
	vc := v.cloud.VCenter(inFiles)
	for key, value := range map[string]string{"username": vc.User(), "password": password} {
		write(t, filepath.Join(v.directory, server(vc)+"."+key), value)
	}
}

// noteSessions adds the sessions of now to what must never be shown: a client that
// knows one can use it.
func (v *credentialStore) noteSessions(t *testing.T) {
	t.Helper()
	for _, vc := range v.cloud.VCenters() {
		for i, session := range vc.Sessions() {
			v.secrets[fmt.Sprintf("session %d of %s", i, vc.Name())] = session.ID
		}
	}
}

// rotate changes the password of a vCenter and where it is kept, and waits until
// the sessions of before have given way to new ones.
func (v *credentialStore) rotate(t *testing.T, name string, put func(*testing.T, string)) {
	t.Helper()
	vc := v.cloud.VCenter(name)
	password := vc.Password() + "-r0tated"
	v.secrets["new password of "+name] = password
	before := sessionIDs(vc)
	vc.SetPassword(password)
	put(t, password)
	await(t, "new sessions at "+name, func(context.Context) error {
		now := sessionIDs(vc)
		if len(now) == 0 || slices.ContainsFunc(now, func(id string) bool { return slices.Contains(before, id) }) {
			return fmt.Errorf("it has %d sessions, %d were there before", len(now), len(before))
		}

		return nil
	})
}

func sessionIDs(vc *vsphere.VCenter) []string {
	var ids []string
	for _, session := range vc.Sessions() {
		ids = append(ids, session.ID)
	}

	return ids
}

// FW-CONFIG-9, VS-AUTH-3: credentials of every kind, used, refused and rotated at
// the highest verbosity.
func TestSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	v := newCredentialStore(t)
	path := writeConfig(t, v.config)
	m := v.run(t, path, "--v=10")
	names := []string{"vm-" + inline, "vm-" + inSecret, "vm-" + inFiles, "vm-" + byManager, "vm-" + byKey}
	for _, name := range names {
		v.join(t, controlplane.NodeSpec{Name: name})
	}
	v.join(t, controlplane.NodeSpec{Name: "vm-" + refused})
	v.awaitInitialized(t, names...)
	m.await(t, "a refused login", func(ctx context.Context) error {
		n, err := m.metric(ctx, "multicloud_ccm_logins_total", `code="denied"`)
		if err == nil && n == 0 {
			err = errors.New("there is none")
		}

		return err
	})
	v.noteSessions(t)
	v.rotate(t, inSecret, v.putSecret)
	v.rotate(t, inFiles, v.putFiles)
	v.noteSessions(t)
	shown := v.everything(t, m, path)
	m.terminate(t)
	for _, vc := range v.cloud.VCenters() {
		wantNoSessions(t, vc)
	}
	log, err := m.Log()
	if err != nil {
		t.Fatal(err)
	}
	shown["log"] = log
	if !strings.Contains(log, "Response Body") || !dumpLine.MatchString(log) {
		t.Error("the log has no bodies of requests: it is not as verbose as it can be")
	}
	for what, secret := range v.secrets {
		for where, text := range shown {
			if found := leaks(text, secret); len(found) > 0 {
				t.Errorf("%s is in %s: %q", what, where, found)
			}
		}
	}
}

// everything is what others than the process itself can get to see.
func (v *credentialStore) everything(t *testing.T, m *manager, config string) map[string]string {
	t.Helper()
	shown := map[string]string{}
	for _, path := range []string{"/metrics", "/configz", "/healthz?verbose", "/debug/pprof/goroutine?debug=2"} {
		shown[path] = m.page(t, path)
	}
	for _, command := range []string{"explain", "validate"} {
		code, output := execute(t, nil, "config", command, "--cloud-config="+config)
		if code != 0 {
			t.Errorf("config %s: exit code %d:\n%s", command, code, output)
		}
		shown["config "+command] = output
	}
	for _, path := range []string{"/api/v1/events", "/api/v1/nodes", "/apis/coordination.k8s.io/v1/leases"} {
		body, err := v.Client().Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		shown[path] = string(body)
	}
	token, err := os.ReadFile(v.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	v.secrets["token of the ServiceAccount"] = signature(string(token))

	return shown
}

// signature is the part of the token in a kubeconfig that makes it good.
func signature(kubeconfig string) string {
	_, rest, _ := strings.Cut(kubeconfig, "token: ")
	token, _, _ := strings.Cut(rest, "\n")

	return token[strings.LastIndex(token, ".")+1:]
}
