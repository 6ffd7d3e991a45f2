// Package awstest has the fixture of the tests of the AWS provider: a simulated region
// with the VPC of a cluster, and SDK clients for it.
//
// Each test starts a region of its own, which ends with the test. Use the client of
// package sim instead where a test is about the SDK's own configuration.
package awstest

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// ClusterID is the ID of the cluster of a [Region].
const ClusterID = "demo"

// The Service of most tests: its UID, and the name of its load balancer.
const (
	ServiceUID       = "0f0e0d0c-1111-2222-3333-444455556666"
	LoadBalancerName = "a0f0e0d0c11112222333344445555666"
)

// Main runs the tests of a package, of which it is the TestMain. The SDK finds the key
// pair of the simulated cloud, and nothing that the machine has configured.
func Main(m *testing.M) {
	id, secret := new(sim.Cloud).AccessKey()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": id, "AWS_SECRET_ACCESS_KEY": secret, "AWS_CA_BUNDLE": "",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	profile.Prepare()
	os.Exit(m.Run())
}

// Region is a simulated region with the VPC of a cluster.
type Region struct {
	*sim.Cloud
	Cluster *sim.Seed

	t testing.TB
}

// Start starts a region that ends with the test.
func Start(t testing.TB, options sim.Options) *Region {
	t.Helper()
	cloud, err := sim.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})

	return &Region{Cloud: cloud, Cluster: cloud.Seed(ClusterID), t: t}
}

// Unthrottled are the options of a region for tests that make the calls of minutes at
// once, with clients that do not wait.
func Unthrottled() sim.Options { return sim.Options{DisableThrottling: true} }

// Impatient configures clients with short timeouts.
func Impatient() client.Tuning {
	return client.Tuning{Timeout: 10 * time.Second, MaxBackoff: time.Millisecond, ThrottleDelay: time.Millisecond}
}

// Throttled are the options of a region that throttles as AWS does, ten times faster.
func Throttled() sim.Options { return sim.Options{Clock: sim.ScaledClock(10), Delays: &sim.Delays{}} }

// Paced configures clients that wait for the buckets of AWS. They have a third of the rates
// of a [Throttled] region, so that no call is throttled because a busy machine delayed the
// one before.
func Paced() client.Tuning {
	return client.Tuning{Timeout: time.Minute, MaxBackoff: time.Millisecond, Speed: 3}
}

// Clients returns new clients, which share nothing with earlier ones, as after a
// restart. They call the region without connections, which are much of the CPU time
// of a call.
func (r *Region) Clients(tuning client.Tuning) *client.Clients {
	r.t.Helper()

	return r.Connect(r.t, client.Options{Tuning: tuning})
}

// Connect returns new clients with more options than [Region.Clients], which end with
// the test.
func (r *Region) Connect(t testing.TB, options client.Options) *client.Clients {
	t.Helper()
	options.Middleware = append(options.Middleware, r.ServeDirectly)
	base, err := client.Load(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := base.In(t.Context(), r.Region())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := clients.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})

	return clients
}

// stepKind finds the kinds of the steps that a source file has constructors for.
var stepKind = regexp.MustCompile(`plan\.NewStep\("(\w+)"`)

// StepKinds returns the kinds of all steps of the package under test.
func StepKinds(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range stepKind.FindAllStringSubmatch(string(source), -1) {
			kinds = append(kinds, match[1])
		}
	}

	return kinds
}
