// Package openstacktest starts simulated OpenStack clouds for the tests of the provider.
//
// What it promises: a cloud ends with its test, and so do the clients made here; a client
// logs in as the user of a cluster by default.
package openstacktest

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// Timeout bounds every wait of a test, on a slow and busy machine, too.
const Timeout = 5 * time.Minute

// Cloud is a simulated cloud.
type Cloud struct{ *openstack.Cloud }

// Start starts a cloud that ends with the test.
func Start(t testing.TB, options openstack.Options) *Cloud {
	t.Helper()
	options.PageSize = cmp.Or(options.PageSize, pageSize(t))
	cloud, err := openstack.Start(options)
	if err != nil {
		t.Fatalf("start cloud: %v", err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Errorf("close cloud: %v", err)
		}
	})

	return &Cloud{cloud}
}

// ClientConfig describes the cloud to a client.
func (c *Cloud) ClientConfig() client.Config {
	return client.Config{
		AuthURL: c.AuthURL(), Region: c.Regions()[0], Timeout: Timeout,
		TLS: client.TLS{CAPEM: string(c.Server().CertificatePEM())},
	}
}

// Credentials are the user and first password of a user, in its project.
func (c *Cloud) Credentials(user string) client.Credentials {
	o := c.AuthOptions(user)

	return client.Credentials{
		Username: user, UserDomainID: o.DomainID, Password: config.Secret(o.Password), ProjectID: o.TenantID,
	}
}

// ClientOptions are those of a client that reaches the cloud.
func (c *Cloud) ClientOptions() client.Options {
	var o client.Options
	if c.Options().InMemory {
		o.Dial = c.Server().Dial
	}

	return o
}

// Client makes a client for the user of a cluster, which is closed with the test.
func (c *Cloud) Client(t testing.TB) *client.Client {
	t.Helper()

	return c.NewClient(t, c.ClientConfig(), credential.NewInFile(c.Credentials(openstack.UserCCM), nil), c.ClientOptions())
}

// NewClient makes a client, which is closed with the test.
func (*Cloud) NewClient(t testing.TB, cfg client.Config, source client.Source, options client.Options) *client.Client {
	t.Helper()
	made, err := client.New(cfg, source, options)
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Timeout)
		defer cancel()
		_ = made.Close(ctx) // tests that care close it themselves
	})

	return made
}

// Must ends the test with an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Is reports an error that is not the wanted one.
func Is(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// Check compares two values.
func Check(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
