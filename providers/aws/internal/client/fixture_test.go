package client_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestMain keeps what the machine has about AWS away from the tests.
func TestMain(m *testing.M) {
	for _, name := range []string{"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_CA_BUNDLE"} {
		_ = os.Unsetenv(name) // it has a name
	}
	for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		_ = os.Setenv(name, os.DevNull) // it has a name
	}
	os.Exit(m.Run())
}

const region = "us-west-2"

// start makes a cloud with an instance whose metadata is served.
func start(t *testing.T, o sim.Options) (*sim.Cloud, string) {
	t.Helper()
	cloud, err := sim.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	self := cloud.Seed("demo").AddNode(sim.InstanceSpec{})
	cloud.SetSelf(self)

	return cloud, self
}

// keys has the SDK find the key pair that the cloud accepts.
func keys(t *testing.T, cloud *sim.Cloud) {
	t.Helper()
	id, secret := cloud.AccessKey()
	t.Setenv("AWS_ACCESS_KEY_ID", id)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
}

// overrides lead all services to the cloud.
func overrides(cloud *sim.Cloud) []client.Override {
	var list []client.Override
	for _, service := range []client.Service{
		client.ServiceEC2, client.ServiceELB, client.ServiceELBV2, client.ServiceSTS, client.ServiceIMDS,
	} {
		list = append(list, client.Override{Service: service, Region: region, URL: cloud.URL(), SigningRegion: region})
	}

	return list
}

// quick has no backoff between attempts, and none because of throttling.
func quick() client.Tuning {
	return client.Tuning{MaxBackoff: time.Millisecond, ThrottleDelay: time.Millisecond}
}

// connect makes the clients.
func connect(t *testing.T, o client.Options) (*client.Base, *client.Clients) {
	t.Helper()
	base, err := client.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := base.In(t.Context(), region)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := clients.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})

	return base, clients
}
