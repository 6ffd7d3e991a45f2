package aws

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// serviceOverrides is a part of a cloud-config with the cloud's URL for all
// services.
func serviceOverrides(cloud *sim.Cloud) string {
	var text strings.Builder
	for _, service := range []string{"EC2", "elasticloadbalancing", "STS", "ec2imds"} {
		text.WriteString(override(service, "Service = "+service, "Region = "+cloud.Region(), "URL = "+cloud.URL(), "SigningRegion = "+cloud.Region()))
	}

	return text.String()
}

// startCloud makes a cloud with a cluster, and the instance that this process
// runs on.
func startCloud(t *testing.T) (cloud *sim.Cloud, seed *sim.Seed, self string) {
	t.Helper()
	cloud, err := sim.Start(sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	seed = cloud.Seed("demo")
	self = seed.AddNode(sim.InstanceSpec{})
	cloud.SetSelf(self)

	return cloud, seed, self
}

// identified is the identity that a cloud-config leads to.
func identified(t *testing.T, cloud *sim.Cloud, global string) (identity, error) {
	t.Helper()
	cfg, problems := decode(parseConfig(t, "[Global]\n"+global+"\n"+serviceOverrides(cloud)))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), identityTimeout)
	defer cancel()
	c, err := newCloudFrom(ctx, cfg, cloudTuning{client: client.Tuning{MaxBackoff: time.Millisecond, ThrottleDelay: time.Millisecond}})
	if err != nil {
		return identity{}, err
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}

	return c.identity, nil
}

// TestIdentityFromTheFile covers AWS-AUTH-5 and AWS-CONFIG-4: where the file has
// everything, no call is made.
func TestIdentityFromTheFile(t *testing.T) {
	t.Parallel()
	demo := cluster.ID{Name: "demo"}
	cases := map[string]struct {
		reason, global string
		want           identity
	}{
		"region": {
			"AWS-AUTH-5: region, VPC and cluster ID", "Region = us-west-2\nVPC = vpc-1\nKubernetesClusterID = demo",
			identity{Region: "us-west-2", VPC: "vpc-1", Cluster: demo},
		},
		"zone": {
			"AWS-AUTH-5: the region is that of the zone", "Zone = us-west-2a\nVPC = vpc-1\nKubernetesClusterID = demo",
			identity{Region: "us-west-2", VPC: "vpc-1", Cluster: demo},
		},
		"remote with a subnet": {
			"VPC, SubnetID and the old tag", "Zone = us-west-2a\nVPC = vpc-1\nSubnetID = subnet-1\nKubernetesClusterTag = demo",
			identity{Region: "us-west-2", VPC: "vpc-1", Subnet: "subnet-1", Cluster: cluster.ID{Name: "demo", Legacy: true}},
		},
		"remote with a role": {
			"VPC and RoleARN", "Region = us-west-2\nVPC = vpc-1\nRoleARN = arn:aws:iam::123456789012:role/ccm\nKubernetesClusterID = demo",
			identity{Region: "us-west-2", VPC: "vpc-1", Cluster: demo},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud, _, _ := startCloud(t)
			cloud.SetMetadata(false)
			got, err := identified(t, cloud, tc.global)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if calls := cloud.Interceptor().Calls(); len(calls) > 0 {
				t.Errorf("%s: no query is expected, got %v", tc.reason, calls)
			}
		})
	}
}

// TestIdentityOfTheInstance covers AWS-AUTH-4 and AWS-CLUSTER-2: what the own
// instance has, and what the file has in its place.
func TestIdentityOfTheInstance(t *testing.T) {
	t.Parallel()
	const tag = "kubernetes.io/cluster/"
	cases := map[string]struct {
		reason, global string
		tags           map[string]string
		fault          func(*sim.Cloud)
		cluster        cluster.ID
		subnet         string
		err            string
	}{
		"everything": {reason: "AWS-AUTH-4: VPC, subnet, cluster ID and name", cluster: cluster.ID{Name: "demo"}},
		"legacy tag": {
			reason: "the old tag", tags: map[string]string{"KubernetesCluster": "old"}, cluster: cluster.ID{Name: "old", Legacy: true},
		},
		"configured": {
			reason: "a configured cluster ID wins over tags", global: "KubernetesClusterID = mine", cluster: cluster.ID{Name: "mine"},
		},
		"VPC alone": {
			reason: "AWS-CONFIG-4: VPC has no effect alone", global: "VPC = vpc-elsewhere", cluster: cluster.ID{Name: "demo"},
		},
		"subnet": {
			reason: "SubnetID is the fallback", global: "SubnetID = subnet-1", cluster: cluster.ID{Name: "demo"}, subnet: "subnet-1",
		},
		"no tag": {
			reason: "AWS-CLUSTER-4: no cluster ID is no error", tags: map[string]string{"Name": "x"},
		},
		"two clusters": {
			reason: "tags of two clusters", tags: map[string]string{tag + "a": "owned", tag + "b": "owned"},
			err: "determine the cluster from tags: there are several: kubernetes.io/cluster/a, kubernetes.io/cluster/b",
		},
		"contradiction": {
			reason: "tags that contradict", tags: map[string]string{tag + "a": "owned", "KubernetesCluster": "b"},
			err: "kubernetes.io/cluster/a and KubernetesCluster = b contradict each other",
		},
		"two clusters, configured": {
			reason: "tags do not matter then", global: "KubernetesClusterID = a",
			tags: map[string]string{tag + "a": "owned", tag + "b": "owned"}, cluster: cluster.ID{Name: "a"},
		},
		"no metadata": {
			reason: "AWS-AUTH-5: the error names the keys to set", fault: func(c *sim.Cloud) { c.SetMetadata(false) },
			err: "set Region in [Global] of the cloud-config, or AWS_REGION",
		},
		"no metadata, region known": {
			reason: "AWS-AUTH-5: the error names the keys to set", global: "Region = us-west-2", fault: func(c *sim.Cloud) { c.SetMetadata(false) },
			err: "set VPC and KubernetesClusterID in [Global] of the cloud-config to do without",
		},
		"EC2 refuses": {
			reason: "AWS-AUTH-5: EC2 denies the call", fault: func(c *sim.Cloud) { c.Interceptor().Inject("DescribeInstances", simserver.Always(), sim.Denied()) },
			err: "UnauthorizedOperation",
		},
		"sparse response": {reason: "AWS-API-1: no panic", fault: func(c *sim.Cloud) { c.SetSparse(true) }, cluster: cluster.ID{Name: "demo"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud, seed, self := startCloud(t)
			if tc.tags != nil {
				cloud.SetTags(self, tc.tags)
			}
			if tc.fault != nil {
				tc.fault(cloud)
			}
			got, err := identified(t, cloud, tc.global)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s: error %v, want %q", tc.reason, err, tc.err)
				}

				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			zone := seed.Zones[0]
			want := identity{
				Region: "us-west-2", VPC: seed.VPC, Subnet: seed.Private[zone], Zone: zone, InstanceID: self,
				NodeName: got.NodeName, Cluster: tc.cluster,
			}
			if tc.subnet != "" {
				want.Subnet = tc.subnet
			}
			if name == "sparse response" {
				want.Zone = got.Zone
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if !strings.HasPrefix(got.NodeName, "ip-10-0-") {
				t.Errorf("the node name is the private DNS name, got %q", got.NodeName)
			}
			if n := cloud.Interceptor().Count("DescribeInstances"); n != 1 {
				t.Errorf("%s: %d calls of DescribeInstances", tc.reason, n)
			}
		})
	}
}

// TestRegionOrder covers AWS-CONFIG-2: Zone, Region, the environment, the
// metadata.
func TestRegionOrder(t *testing.T) {
	cloud, _, _ := startCloud(t)
	cases := []struct {
		reason, global string
		environment    map[string]string
		want           string
		queried        bool
	}{
		{"the file wins", "Region = eu-west-1", map[string]string{"AWS_REGION": "eu-west-2"}, "eu-west-1", false},
		{"the zone wins", "Zone = eu-west-3a\nRegion = eu-west-1", map[string]string{"AWS_REGION": "eu-west-2"}, "eu-west-3", false},
		{"AWS_REGION", "", map[string]string{"AWS_REGION": "eu-west-2", "AWS_DEFAULT_REGION": "eu-west-4"}, "eu-west-2", false},
		{"AWS_DEFAULT_REGION", "", map[string]string{"AWS_DEFAULT_REGION": "eu-west-4"}, "eu-west-4", false},
		{"the metadata", "", nil, "us-west-2", true},
	}
	for _, tc := range cases {
		t.Run(tc.reason, func(t *testing.T) {
			for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
				t.Setenv(name, tc.environment[name])
			}
			before := cloud.Interceptor().Count("imds.GetMetadata")
			got, err := identified(t, cloud, tc.global+"\nVPC = vpc-1\nKubernetesClusterID = demo")
			if err != nil || got.Region != tc.want {
				t.Errorf("%s: %q, %v, want %q", tc.reason, got.Region, err, tc.want)
			}
			if queried := cloud.Interceptor().Count("imds.GetMetadata") > before; queried != tc.queried {
				t.Errorf("%s: metadata queried: %v, want %v", tc.reason, queried, tc.queried)
			}
		})
	}
}

// TestIdentityEnds checks that a start does not wait forever: a service that
// never responds is given up with the caller's context.
func TestIdentityEnds(t *testing.T) {
	t.Parallel()
	cloud, _, _ := startCloud(t)
	hold := simserver.NewHold()
	t.Cleanup(hold.Release)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cloud.Interceptor().Inject("DescribeInstances", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		cancel()
		hold.Before(w, r, apply)
	})
	cfg, problems := decode(parseConfig(t, "[Global]\n"+serviceOverrides(cloud)))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	_, err := newCloudFrom(ctx, cfg, cloudTuning{})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), hintIdentity) {
		t.Errorf("want an error that names the keys to set, got %v", err)
	}
	if got := cloud.Interceptor().Count("DescribeInstances"); got != 1 {
		t.Errorf("given up, and called %d times", got)
	}
}

// TestFactory goes the way of the framework: from a reader to a cloud.
func TestFactory(t *testing.T) {
	t.Parallel()
	cloud, _, self := startCloud(t)
	made, err := newCloud(strings.NewReader("[Global]\n" + serviceOverrides(cloud)))
	if err != nil {
		t.Fatal(err)
	}
	c, ok := made.(interface{ Close(context.Context) error })
	if !ok {
		t.Fatal("the cloud must be closed at the end")
	}
	if made.ProviderName() != "aws" || !made.HasClusterID() {
		t.Errorf("provider %q, has a cluster ID: %v", made.ProviderName(), made.HasClusterID())
	}
	for name, got := range map[string]struct{ supported, want bool }{
		"Instances": {second(made.Instances()), false}, "InstancesV2": {second(made.InstancesV2()), true},
		"Zones": {second(made.Zones()), false}, "Clusters": {second(made.Clusters()), false}, "Routes": {second(made.Routes()), true},
	} {
		if got.supported != got.want {
			t.Errorf("AWS-AUTH-6: %s supported: %v, want %v", name, got.supported, got.want)
		}
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}

	cloud.SetTags(self, map[string]string{"Name": "x"})
	untagged, err := newCloud(strings.NewReader("[Global]\n" + serviceOverrides(cloud)))
	if err != nil {
		t.Fatalf("AWS-CLUSTER-4: without a cluster ID the cloud is made: %v", err)
	}
	if untagged.HasClusterID() {
		t.Error("AWS-CLUSTER-4: HasClusterID must be false, so that the process demands --allow-untagged-cloud")
	}
	if c, ok := untagged.(interface{ Close(context.Context) error }); !ok || c.Close(t.Context()) != nil {
		t.Error("the cloud must be closed")
	}

	if bad, err := newCloud(strings.NewReader("[Global]\nZone = x\n")); err == nil || bad != nil || !strings.Contains(err.Error(), "cloud-config:2:1: [Global] Zone") {
		t.Errorf("FW-START-1: %v with error %v, want an error with the position", bad, err)
	}
}

func second[T any](_ T, supported bool) bool { return supported }

// TestFactoryWithoutFile covers AWS-CONFIG-1: without a file the environment and
// the metadata have everything.
func TestFactoryWithoutFile(t *testing.T) {
	simulated, seed, _ := startCloud(t)
	for _, line := range simulated.Environment() {
		name, value, _ := strings.Cut(line, "=")
		t.Setenv(name, value)
	}
	made, err := newCloud(nil)
	if err != nil {
		t.Fatalf("create without a file: %v", err)
	}
	c, ok := made.(*cloud)
	if !ok || c.identity.VPC != seed.VPC || c.identity.Region != simulated.Region() {
		t.Errorf("made %+v", made)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDescriptor checks what users see of the provider before it runs.
func TestDescriptor(t *testing.T) {
	t.Parallel()
	d := Descriptor()
	for _, c := range d.Capabilities {
		if !c.Supported {
			t.Errorf("%s is not supported: %s", c.Name, c.Note)
		}
	}
	if problems := d.Decode(nil, config.WithFiles); len(problems) > 0 {
		t.Errorf("no file is all defaults: %v", problemLines(problems))
	}
	if d.Reference.Config == nil || len(d.Reference.Metrics) < 4 {
		t.Errorf("reference %+v", d.Reference)
	}
	file, err := config.Read(os.DevNull)
	if err != nil || len(d.Explain(file)) == 0 {
		t.Errorf("an empty file is explained, error %v", err)
	}
}
