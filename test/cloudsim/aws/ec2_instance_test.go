package aws

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

// instancesOf returns the instances of all pages.
func instancesOf(t *testing.T, api *ec2.Client, in *ec2.DescribeInstancesInput) ([]types.Instance, error) {
	t.Helper()
	var all []types.Instance
	pages := ec2.NewDescribeInstancesPaginator(api, in)
	for pages.HasMorePages() {
		out, err := pages.NextPage(t.Context())
		if err != nil {
			return nil, err
		}
		for _, r := range out.Reservations {
			all = append(all, r.Instances...)
		}
	}

	return all, nil
}

func idsOf(instances []types.Instance) []string {
	ids := make([]string, 0, len(instances))
	for _, i := range instances {
		ids = append(ids, *i.InstanceId)
	}
	slices.Sort(ids)

	return ids
}

func TestInstanceFields(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	seed := c.Seed("demo")
	group := c.AddSecurityGroup(SecurityGroupSpec{VPC: seed.VPC, Name: "extra"})
	id := seed.AddNode(InstanceSpec{
		Type: "p5.48xlarge", Tags: map[string]string{"Name": "n"},
		Interfaces: []InterfaceSpec{
			{Subnet: seed.Private["us-west-2a"], Device: 1, Card: 1, Groups: []string{group}, IPv6: true},
			{
				Subnet: seed.Private["us-west-2a"], Groups: []string{seed.NodeGroup}, Public: true, IPv6: true,
				PrivateIPs: []string{"10.0.64.10", "10.0.64.11"},
			},
		},
	})
	got, err := instancesOf(t, ec2Client(t, c), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	i := got[0]
	view := map[string]any{
		"state": i.State.Name, "code": *i.State.Code, "zone": *i.Placement.AvailabilityZone, "dns": *i.PrivateDnsName,
		"ip": *i.PrivateIpAddress, "public": *i.PublicIpAddress, "public dns": *i.PublicDnsName, "vpc": *i.VpcId == seed.VPC,
		"subnet": *i.SubnetId == seed.Private["us-west-2a"], "type": i.InstanceType, "groups": *i.SecurityGroups[0].GroupName,
		"tags": len(i.Tags), "check": *i.SourceDestCheck, "v6": *i.Ipv6Address,
	}
	want := map[string]any{
		"state": types.InstanceStateNameRunning, "code": int32(16), "zone": "us-west-2a",
		"dns": "ip-10-0-64-10.us-west-2.compute.internal", "ip": "10.0.64.10", "public": "100.64.0.1",
		"public dns": "ec2-100-64-0-1.us-west-2.compute.amazonaws.com", "vpc": true, "subnet": true,
		"type": types.InstanceType("p5.48xlarge"), "groups": "nodes.demo", "tags": 2, "check": true, "v6": "2001:db8:1:80::5",
	}
	if diff := cmp.Diff(want, view); diff != "" {
		t.Errorf("instance (-want +got):\n%s", diff)
	}
	var interfaces []string
	for _, n := range i.NetworkInterfaces {
		for _, a := range n.PrivateIpAddresses {
			interfaces = append(interfaces, string(n.Status)+" "+string(n.Attachment.Status)+" "+
				strconv.Itoa(int(*n.Attachment.DeviceIndex))+" "+strconv.Itoa(int(*n.Attachment.NetworkCardIndex))+" "+*a.PrivateIpAddress)
		}
	}
	if diff := cmp.Diff([]string{
		"in-use attached 0 0 10.0.64.10", "in-use attached 0 0 10.0.64.11", "in-use attached 1 1 10.0.64.4",
	}, interfaces); diff != "" {
		t.Errorf("interfaces (-want +got):\n%s", diff)
	}
}

func TestInstanceFilters(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	seed := c.Seed("demo")
	other := c.Seed("other")
	a := seed.AddNode(InstanceSpec{ID: "i-0a", Tags: map[string]string{"role": "web*"}})
	b := seed.AddNode(InstanceSpec{ID: "i-0b", State: Stopped, InterfaceSpec: InterfaceSpec{PrivateIPs: []string{"10.0.130.9"}}})
	d := seed.AddNode(InstanceSpec{ID: "i-0d", State: Terminated})
	f := other.AddNode(InstanceSpec{ID: "i-0f", Type: "c7g.large", PrivateDNSName: "other.example.com"})
	api := ec2Client(t, c)
	eni := c.Interfaces(b)[0]

	tests := map[string]struct {
		reason string
		filter []types.Filter
		want   []string
	}{
		"none":           {"everything is described, terminated instances too", nil, []string{a, b, d, f}},
		"id":             {"unknown IDs in a filter are no error", []types.Filter{by("instance-id", a, f, "i-0999")}, []string{a, f}},
		"dns":            {"the name of a node", []types.Filter{by("private-dns-name", "other.example.com")}, []string{f}},
		"terminated dns": {"an instance that ended has no name", []types.Filter{by("private-dns-name", ""), by("instance-id", d)}, []string{}},
		"state":          {"states", []types.Filter{by("instance-state-name", Stopped, Running)}, []string{a, b, f}},
		"vpc":            {"server-side filters", []types.Filter{by("vpc-id", seed.VPC)}, []string{a, b}},
		"tag":            {"a tag with its value", []types.Filter{by("tag:"+ClusterTag("demo"), "owned")}, []string{a, b, d}},
		"tag-key":        {"the key of a tag", []types.Filter{by("tag-key", ClusterTag("other"), "nothing")}, []string{f}},
		"wildcard":       {"values have wildcards", []types.Filter{by("tag:role", "w?b*")}, []string{a}},
		"escaped":        {"a backslash takes them away", []types.Filter{by("tag:role", `web\*`)}, []string{a}},
		"escaped other":  {"a backslash takes them away", []types.Filter{by("tag:role", `we\*`)}, []string{}},
		"and":            {"all filters count", []types.Filter{by("tag-key", ClusterTag("demo")), by("instance-state-name", Running)}, []string{a}},
		"private ip":     {"primary address", []types.Filter{by("private-ip-address", "10.0.130.9")}, []string{b}},
		"interface":      {"of any network interface", []types.Filter{by("network-interface.network-interface-id", eni)}, []string{b}},
		"interface ip":   {"of any network interface", []types.Filter{by("network-interface.addresses.private-ip-address", "10.0.130.9")}, []string{b}},
		"group":          {"security group", []types.Filter{by("instance.group-id", other.NodeGroup)}, []string{f}},
		"type":           {"", []types.Filter{by("instance-type", "c7g.*")}, []string{f}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := instancesOf(t, api, &ec2.DescribeInstancesInput{Filters: tc.filter})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, idsOf(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestInstanceRejected(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	id := c.Seed("demo").AddNodes(1)[0]
	api := ec2Client(t, c)
	many := make([]string, 201)
	for n := range many {
		many[n] = "v" + strconv.Itoa(n)
	}
	tests := map[string]struct {
		reason string
		in     ec2.DescribeInstancesInput
		want   string
		texts  []string
	}{
		"one missing":   {"the error names the ID", ec2.DescribeInstancesInput{InstanceIds: []string{"i-0dead", id}}, "InvalidInstanceID.NotFound", []string{"The instance ID 'i-0dead' does not exist"}},
		"two missing":   {"the error names the IDs", ec2.DescribeInstancesInput{InstanceIds: []string{"i-0dead", id, "i-0beef"}}, "InvalidInstanceID.NotFound", []string{"The instance IDs 'i-0beef, i-0dead' do not exist"}},
		"malformed":     {"an ID of another kind", ec2.DescribeInstancesInput{InstanceIds: []string{"vol-1"}}, "InvalidInstanceID.Malformed", []string{"vol-1"}},
		"ids and pages": {"IDs exclude MaxResults", ec2.DescribeInstancesInput{InstanceIds: []string{id}, MaxResults: new(int32(5))}, "InvalidParameterCombination", nil},
		"small pages":   {"fewer than five", ec2.DescribeInstancesInput{MaxResults: new(int32(4))}, "InvalidParameterValue", []string{"between 5 and 1000"}},
		"large pages":   {"more than a thousand", ec2.DescribeInstancesInput{MaxResults: new(int32(1001))}, "InvalidParameterValue", nil},
		"values":        {"limit 200", ec2.DescribeInstancesInput{Filters: []types.Filter{by("instance-id", many[:100]...), by("private-dns-name", many[100:]...)}}, "FilterLimitExceeded", []string{"200"}},
		"filter":        {"", ec2.DescribeInstancesInput{Filters: []types.Filter{by("color", "red")}}, "InvalidParameterValue", []string{"The filter 'color' is invalid"}},
		"token":         {"", ec2.DescribeInstancesInput{NextToken: new("x")}, "InvalidNextToken", nil},
		"dry run":       {"", ec2.DescribeInstancesInput{DryRun: new(true)}, "DryRunOperation", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := api.DescribeInstances(t.Context(), &tc.in)
			wantCode(t, err, tc.want, tc.texts...)
		})
	}
}

// TestFilterTime: a filter takes time for each instance, and InstanceIds none.
func TestFilterTime(t *testing.T) {
	t.Parallel()
	c := start(t, Options{PageSize: 5})
	ids := c.Seed("demo").AddNodes(10)
	c.SetFilterTime(300 * time.Millisecond)
	config := c.Config()
	api := ec2.NewFromConfig(config, func(o *ec2.Options) { o.APIOptions = append(o.APIOptions, c.ServeDirectly) })
	for name, tc := range map[string]struct {
		in   ec2.DescribeInstancesInput
		want time.Duration
	}{
		"filter":    {ec2.DescribeInstancesInput{Filters: []types.Filter{by("instance-id", ids[0])}}, 3 * time.Second},
		"two pages": {ec2.DescribeInstancesInput{Filters: []types.Filter{by("instance-state-name", Running)}, MaxResults: new(int32(5))}, 3 * time.Second},
		"IDs":       {ec2.DescribeInstancesInput{InstanceIds: ids}, 0},
		"all":       {ec2.DescribeInstancesInput{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				if _, err := instancesOf(t, api, &tc.in); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begun); took != tc.want {
					t.Errorf("took %s, want %s", took, tc.want)
				}
			})
		})
	}
}

// TestFirstMissing: an error can name only the first of several missing instances.
func TestFirstMissing(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	c.SetFirstMissing(true)
	_, err := ec2Client(t, c).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{"i-0dead", "i-0beef"}})
	wantCode(t, err, "InvalidInstanceID.NotFound", "The instance ID 'i-0beef' does not exist")
}

func TestInstanceLife(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	seed := c.Seed("demo")
	id := seed.AddNode(InstanceSpec{InterfaceSpec: InterfaceSpec{Public: true}})
	api := ec2Client(t, c)
	look := func() types.Instance {
		t.Helper()
		got, err := instancesOf(t, api, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
		if err != nil {
			t.Fatal(err)
		}

		return got[0]
	}
	before := look()
	c.SetState(id, Stopped)
	if i := look(); i.PublicIpAddress != nil || *i.PrivateIpAddress != *before.PrivateIpAddress || i.State.Name != types.InstanceStateNameStopped {
		t.Errorf("a stopped instance has addresses %v, %v and state %s", i.PublicIpAddress, *i.PrivateIpAddress, i.State.Name)
	}
	c.SetState(id, Running)
	if i := look(); i.PublicIpAddress == nil || *i.PublicIpAddress == *before.PublicIpAddress {
		t.Errorf("a restarted instance has public address %v, want a new one", i.PublicIpAddress)
	}
	c.Terminate(id)
	if i := look(); len(i.NetworkInterfaces) != 0 || i.VpcId != nil || *i.PrivateDnsName != "" || i.PrivateIpAddress != nil {
		t.Errorf("a terminated instance still has %d interfaces", len(i.NetworkInterfaces))
	}
	c.Remove(id)
	_, err := instancesOf(t, api, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	wantCode(t, err, "InvalidInstanceID.NotFound", id)
}

func TestSparseInstances(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	c.Seed("demo").AddNodes(1)
	c.SetSparse(true)
	got, err := instancesOf(t, ec2Client(t, c), &ec2.DescribeInstancesInput{})
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Placement != nil || got[0].State != nil {
		t.Error("sparse responses still have placement or state")
	}
}

func TestManyInstances(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	seed := c.Seed("demo")
	ids := seed.AddNodes(1_100)
	slices.Sort(ids)
	got, err := instancesOf(t, ec2Client(t, c), &ec2.DescribeInstancesInput{MaxResults: new(int32(1000))})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ids, idsOf(got)); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	if n := c.Interceptor().Count("DescribeInstances"); n != 2 {
		t.Errorf("1100 instances took %d calls, want 2", n)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	c := start(t, Options{PageSize: 2})
	seed := c.Seed("demo")
	ids := seed.AddNodes(5)
	slices.Sort(ids)
	api := ec2Client(t, c)
	first, err := api.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{MaxResults: new(int32(1000))})
	if err != nil {
		t.Fatal(err)
	}
	c.Remove(ids[0])
	c.Remove(ids[1]) // the last of the first page
	var rest []string
	token := first.NextToken
	for token != nil {
		out, err := api.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{NextToken: token, MaxResults: new(int32(1000))})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range out.Reservations {
			rest = append(rest, *r.Instances[0].InstanceId)
		}
		token = out.NextToken
	}
	if diff := cmp.Diff(ids[2:], rest); diff != "" {
		t.Errorf("instances after the first page (-want +got):\n%s", diff)
	}
}

func TestTopology(t *testing.T) {
	t.Parallel()
	// Pages are read at once, of which AWS allows one per second.
	c := start(t, Options{PageSize: 2, DisableThrottling: true})
	seed := c.Seed("demo")
	plain := seed.AddNodes(1)[0]
	ids := make([]string, 0, 3)
	for range 3 {
		ids = append(ids, seed.AddNode(InstanceSpec{Type: "p5.48xlarge", NetworkNodes: []string{"nn-1", "nn-2", "nn-3"}}))
	}
	slices.Sort(ids)
	api := ec2Client(t, c)
	var got []string
	pages := ec2.NewDescribeInstanceTopologyPaginator(api, &ec2.DescribeInstanceTopologyInput{InstanceIds: append(slices.Clone(ids), plain)})
	for pages.HasMorePages() {
		out, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range out.Instances {
			got = append(got, *i.InstanceId)
			if diff := cmp.Diff([]string{"nn-1", "nn-2", "nn-3"}, i.NetworkNodes); diff != "" || i.ZoneId == nil {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		}
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Errorf("an instance without topology is left out (-want +got):\n%s", diff)
	}
	c.SetTopologySupported(false)
	_, err := api.DescribeInstanceTopology(t.Context(), &ec2.DescribeInstanceTopologyInput{InstanceIds: ids})
	wantCode(t, err, "UnsupportedOperation")
}

func TestZones(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	c.AddZone(Zone{Name: "us-west-2-wl1-las-wlz-1", ID: "usw2-wl1-las-wlz1", Type: "wavelength-zone", OptedOut: true})
	api := ec2Client(t, c)
	names := func(in *ec2.DescribeAvailabilityZonesInput) []string {
		t.Helper()
		out, err := api.DescribeAvailabilityZones(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, z := range out.AvailabilityZones {
			names = append(names, *z.ZoneName+" "+*z.ZoneId+" "+*z.ZoneType)
		}

		return names
	}
	if diff := cmp.Diff([]string{
		"us-west-2a usw2-az2 availability-zone", "us-west-2b usw2-az1 availability-zone",
		"us-west-2c usw2-az3 availability-zone", "us-west-2-lax-1a usw2-lax1-az1 local-zone",
	}, names(&ec2.DescribeAvailabilityZonesInput{})); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}
	if got := names(&ec2.DescribeAvailabilityZonesInput{AllAvailabilityZones: new(true)}); len(got) != 5 {
		t.Errorf("all zones are %v", got)
	}
	if got := names(&ec2.DescribeAvailabilityZonesInput{ZoneNames: []string{"us-west-2b"}}); len(got) != 1 {
		t.Errorf("zones by name are %v", got)
	}
	_, err := api.DescribeAvailabilityZones(t.Context(), &ec2.DescribeAvailabilityZonesInput{ZoneNames: []string{"mars-1a"}})
	wantCode(t, err, "InvalidParameterValue", "mars-1a")
}
