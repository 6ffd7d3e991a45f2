package vpc_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

func TestMain(m *testing.M) { awstest.Main(m) }

// fixture is a simulated region with the VPC of a cluster.
type fixture struct {
	*awstest.Region
	t   *testing.T
	api client.EC2
	net *vpc.Network
}

func newFixture(t *testing.T, options sim.Options) *fixture {
	t.Helper()
	region := awstest.Start(t, options)
	region.Seed("other")
	api := region.Clients(awstest.Impatient()).EC2

	return &fixture{Region: region, t: t, api: api, net: vpc.NewNetwork(api, region.Cluster.VPC, vpc.NewZones(api))}
}

// calls checks the calls since the last time, and resets them.
func (b *fixture) calls(reason string, want map[string]int) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.Interceptor().Calls()); diff != "" {
		b.t.Errorf("%s: calls, -want +got:\n%s", reason, diff)
	}
	b.Interceptor().Reset()
}

// discover chooses, and returns the subnets by zone.
func (b *fixture) discover(options vpc.DiscoverOptions) map[string]string {
	b.t.Helper()
	options.Cluster = demo
	chosen, err := b.net.Discover(b.t.Context(), options)
	if err != nil {
		b.t.Fatal(err)
	}
	subnets := map[string]string{}
	for _, subnet := range chosen {
		subnets[subnet.AvailabilityZone] = subnet.ID
		if !subnet.CIDR.IsValid() {
			b.t.Errorf("subnet %s has no CIDR", subnet.ID)
		}
	}

	return subnets
}

var allReads = map[string]int{"DescribeSubnets": 1, "DescribeRouteTables": 1, "DescribeAvailabilityZones": 1}

func TestDiscover(t *testing.T) {
	t.Parallel()

	b := newFixture(t, sim.Options{})
	want := map[string]string{}
	for _, zone := range b.Cluster.Zones {
		want[zone] = b.Cluster.Public[zone]
	}
	if diff := cmp.Diff(want, b.discover(vpc.DiscoverOptions{})); diff != "" {
		t.Errorf("public subnets, -want +got:\n%s", diff)
	}
	b.calls("one read of each", allReads)
	want = maps.Clone(b.Cluster.Private)
	if diff := cmp.Diff(want, b.discover(vpc.DiscoverOptions{Internal: true})); diff != "" {
		t.Errorf("internal subnets, -want +got:\n%s", diff)
	}
	b.calls("AWS-SUBNET-8: kept for a while", map[string]int{})
	for _, op := range []string{"DescribeSubnets", "DescribeRouteTables"} {
		for _, request := range b.Requests(op) {
			if request.Form.Get("Filter.1.Name") != "vpc-id" || request.Form.Get("Filter.1.Value.1") != b.Cluster.VPC {
				t.Errorf("AWS-API-6: %s is not filtered: %v", op, request.Form)
			}
		}
	}
}

func TestFallback(t *testing.T) {
	t.Parallel()

	b := newFixture(t, sim.Options{})
	for _, subnets := range []map[string]string{b.Cluster.Public, b.Cluster.Private} {
		for _, subnet := range subnets {
			b.SetTags(subnet, map[string]string{sim.ClusterTag("other"): "owned"})
		}
	}
	zone := b.Cluster.Zones[1]
	got := b.discover(vpc.DiscoverOptions{Fallback: b.Cluster.Public[zone]})
	if diff := cmp.Diff(map[string]string{zone: b.Cluster.Public[zone]}, got); diff != "" {
		t.Errorf("AWS-SUBNET-1: the subnet of the controller is left, -want +got:\n%s", diff)
	}
	if _, err := b.net.Discover(t.Context(), vpc.DiscoverOptions{Cluster: demo}); !errors.Is(err, apierr.ErrInvalid) {
		t.Errorf("nothing is an error, got %v", err)
	}
}

func TestZonesDenied(t *testing.T) {
	t.Parallel()

	b := newFixture(t, sim.Options{})
	b.Interceptor().Inject("DescribeAvailabilityZones", simserver.Always(), sim.Denied())
	if got := b.discover(vpc.DiscoverOptions{}); len(got) < len(b.Cluster.Zones) {
		t.Errorf("AWS-TOPOLOGY-2: without the permission zones do not count, got %v", got)
	}
}

func TestDiscoverFails(t *testing.T) {
	t.Parallel()

	for _, op := range []string{"DescribeSubnets", "DescribeRouteTables"} {
		b := newFixture(t, sim.Options{})
		b.Interceptor().Inject(op, simserver.Always(), sim.Denied())
		if _, err := b.net.Discover(t.Context(), vpc.DiscoverOptions{Cluster: demo}); !errors.Is(err, apierr.ErrDenied) {
			t.Errorf("%s: got %v, want the error of AWS", op, err)
		}
		if got := b.Interceptor().Count(op); got != 1 {
			t.Errorf("AWS-SUBNET-6: a failed read is no failed choice; %s was called %d times", op, got)
		}
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()

	b := newFixture(t, sim.Options{})
	zone := b.Cluster.Zones[0]
	one, two := b.Cluster.Private[zone], b.Cluster.Public[b.Cluster.Zones[1]]
	wanted := []string{"public-" + b.Cluster.Zones[1], one}
	named := func(wanted []string) string {
		t.Helper()
		found, err := b.net.Named(t.Context(), wanted)
		if err != nil {
			t.Fatal(err)
		}

		return ids(found)
	}
	want := strings.ReplaceAll(one+" "+two, "subnet-", "")
	if got := named(wanted); got != want {
		t.Errorf("IDs come first: got %s, want %s", got, want)
	}
	b.calls("all subnets of the VPC", map[string]int{"DescribeSubnets": 1})

	added := b.AddSubnet(sim.SubnetSpec{VPC: b.Cluster.VPC, Zone: zone, CIDR: "10.0.48.0/24", Tags: map[string]string{"Name": "new"}})
	if got := named([]string{"new"}); "subnet-"+got != added {
		t.Errorf("got %s, want %s", got, added)
	}
	b.calls("AWS-SUBNET-8: what is not known is read by name", map[string]int{"DescribeSubnets": 1})

	_, err := b.net.Named(t.Context(), []string{"subnet-0", "new", "old"})
	if !errors.Is(err, apierr.ErrInvalid) || !strings.Contains(err.Error(), "subnet-0 (0 found), old (0 found)") {
		t.Errorf("count mismatch, got %v", err)
	}
	b.calls("by ID and by name", map[string]int{"DescribeSubnets": 2})
}

func TestByID(t *testing.T) {
	t.Parallel()

	b := newFixture(t, sim.Options{})
	id := b.Cluster.Public[b.Cluster.Zones[0]]
	got, err := b.net.Named(t.Context(), []string{id})
	if err != nil || len(got) != 1 || got[0].ID != id || got[0].CIDR.Bits() != 22 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := b.net.Named(t.Context(), []string{id, "subnet-0"}); err == nil {
		t.Error("AWS-SG-17: half of the subnets would be half of the rules")
	}
}
