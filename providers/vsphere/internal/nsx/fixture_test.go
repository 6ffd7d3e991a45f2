package nsx_test

import (
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/tlsfiles"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
)

const (
	collection = "/infra/tier-1s/t1/static-routes"
	path       = collection + "/r"
)

// fixture is a simulated manager and a client of it.
type fixture struct {
	*testing.T

	cloud  *nsxt.Cloud
	client *nsx.Client
}

// simulate runs a test in simulated time. The function returns how the client authenticates.
func simulate(t *testing.T, spec nsxt.Spec, auth func(*nsxt.Cloud) nsx.Auth, test func(fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		spec.Server.InMemory = true
		spec.Tier1s = []nsxt.Tier1{{ID: "t1"}}
		cloud, err := nsxt.Start(spec)
		must(t, err)
		defer func() { must(t, cloud.Close()) }()
		client, err := nsx.New(nsx.Config{Host: cloud.Host(), TLS: files(t, cloud, spec.Principals), Auth: auth(cloud)}, nsx.Options{Dial: cloud.Dial})
		must(t, err)
		defer func() { must(t, client.Close(t.Context())) }()
		test(fixture{T: t, cloud: cloud, client: client})
	})
}

// files are the CA of a manager, and the client certificate of the first principal, if there is one.
func files(t *testing.T, cloud *nsxt.Cloud, principals []nsxt.Principal) tlsfiles.Files {
	t.Helper()
	f := tlsfiles.Files{CAPEM: string(cloud.CertificatePEM())}
	if len(principals) > 0 {
		directory := t.TempDir()
		f.CertFile, f.KeyFile = filepath.Join(directory, "cert"), filepath.Join(directory, "key")
		must(t, os.WriteFile(f.CertFile, principals[0].CertificatePEM, 0o600))
		must(t, os.WriteFile(f.KeyFile, principals[0].KeyPEM, 0o600))
	}

	return f
}

func password(text string) func(*nsxt.Cloud) nsx.Auth {
	return func(*nsxt.Cloud) nsx.Auth { return newPassword("admin", text) }
}

func newPassword(user, text string) *nsx.Password {
	p := &nsx.Password{Host: "nsx", Guard: login.NewGuard(nsx.LoginLimits(), clock.RealClock{})}
	p.Use(credential.NewInFile(nsx.Credentials{User: user, Password: config.Secret(text)}, nil))

	return p
}

// transport connects to a manager whatever its certificate is.
func transport(cloud *nsxt.Cloud) http.RoundTripper {
	return &http.Transport{DialContext: cloud.Dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, IdleConnTimeout: time.Second} //nolint:gosec // a simulated one
}

// put has an object written as people do.
func (f fixture) put(path string, fields nsxt.Object) {
	f.Helper()
	must(f, f.cloud.Put(path, fields))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
