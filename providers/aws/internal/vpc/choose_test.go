package vpc_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

var demo = cluster.ID{Name: "demo"}

const (
	ours   = "kubernetes.io/cluster/demo"
	theirs = "kubernetes.io/cluster/other"
)

// subnet is in a zone of one letter, and has tags without values.
func subnet(id, zone string, tags ...string) vpc.Subnet {
	s := vpc.Subnet{ID: "subnet-" + id, AvailabilityZone: zone, Tags: map[string]string{}}
	for _, tag := range tags {
		key, value, _ := strings.Cut(tag, "=")
		s.Tags[key] = value
	}

	return s
}

// onOutpost is a subnet on an Outpost.
func onOutpost(id, zone string, tags ...string) vpc.Subnet {
	s := subnet(id, zone, tags...)
	s.Outpost = "arn:aws:outposts:us-west-2:123456789012:outpost/op-0"

	return s
}

func ids(subnets []vpc.Subnet) string {
	var list []string
	for _, s := range subnets {
		list = append(list, strings.TrimPrefix(s.ID, "subnet-"))
	}

	return strings.Join(list, " ")
}

func TestUsable(t *testing.T) {
	t.Parallel()

	subnets := []vpc.Subnet{
		subnet("1", "a", ours), subnet("2", "a"), subnet("3", "a", theirs), subnet("4", "a", theirs, ours+"=shared"),
		subnet("5", "a", "KubernetesCluster=demo", theirs), subnet("6", "a", "KubernetesCluster=other"),
	}
	if got, want := ids(vpc.Usable(subnets, demo)), "1 2 4 5 6"; got != want {
		t.Errorf("AWS-SUBNET-1: got %s, want %s", got, want)
	}
	if got, want := ids(vpc.Usable(subnets, cluster.ID{})), "1 2 3 4 5 6"; got != want {
		t.Errorf("without a cluster ID all is ours: got %s, want %s", got, want)
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()

	public := []vpc.RouteTable{{ID: "main", Main: true, Public: true}}
	mixed := []vpc.RouteTable{{ID: "main", Main: true}, {ID: "public", Public: true, Subnets: []string{"subnet-2", "subnet-4"}}}
	zones := map[string]vpc.Zone{"a": {Type: "availability-zone"}, "l": {Type: "local-zone"}, "w": {Type: "wavelength-zone"}}
	cases := map[string]struct {
		reason  string
		subnets []vpc.Subnet
		tables  []vpc.RouteTable
		options vpc.DiscoverOptions
		want    string
		message string
	}{
		"OnePerZone":      {reason: "AWS-SUBNET-4, AWS-SUBNET-5: the smallest ID, zones in order", subnets: []vpc.Subnet{subnet("3", "b"), subnet("2", "a"), subnet("1", "a")}, tables: public, want: "1 3"},
		"Public":          {reason: "AWS-SUBNET-3: private ones are dropped", subnets: []vpc.Subnet{subnet("1", "a"), subnet("2", "a"), subnet("3", "b"), subnet("4", "c")}, tables: mixed, want: "2 4"},
		"Internal":        {reason: "AWS-SUBNET-3: internal: all, tables do not matter", subnets: []vpc.Subnet{subnet("1", "a"), subnet("2", "a"), subnet("3", "b")}, options: vpc.DiscoverOptions{Internal: true}, want: "1 3"},
		"Role":            {reason: "AWS-SUBNET-4: the role before the cluster", subnets: []vpc.Subnet{subnet("1", "a", ours), subnet("2", "a", vpc.RoleTag)}, tables: public, want: "2"},
		"RoleOfKind":      {reason: "the role of the kind", subnets: []vpc.Subnet{subnet("1", "a", vpc.RoleTag), subnet("2", "a", vpc.InternalRoleTag+"=0")}, options: vpc.DiscoverOptions{Internal: true}, want: "2"},
		"OtherRole":       {reason: "the other role does not count", subnets: []vpc.Subnet{subnet("1", "a"), subnet("2", "a", vpc.InternalRoleTag)}, tables: public, want: "1"},
		"Cluster":         {reason: "the cluster before the ID", subnets: []vpc.Subnet{subnet("1", "a"), subnet("2", "a", ours)}, tables: public, want: "2"},
		"LocalZones":      {reason: "AWS-SUBNET-5: zones known to be others are dropped, unknown ones stay", subnets: []vpc.Subnet{subnet("1", "l"), subnet("2", "w"), subnet("3", "a"), subnet("4", "x")}, tables: public, want: "3 4"},
		"NoSubnets":       {reason: "AWS-SUBNET-6: no subnet is an error", tables: public, message: "other clusters"},
		"OnlyPrivate":     {reason: "AWS-SUBNET-6: no subnet is an error", subnets: []vpc.Subnet{subnet("1", "a")}, tables: mixed, message: "internet gateway"},
		"OnlyLocal":       {reason: "AWS-SUBNET-6: no subnet is an error", subnets: []vpc.Subnet{subnet("1", "l")}, tables: public, message: "local"},
		"Outposts":        {reason: "AWS-SUBNET-5: subnets on Outposts are dropped, whatever their tags", subnets: []vpc.Subnet{onOutpost("1", "a", vpc.RoleTag), subnet("2", "a"), onOutpost("3", "b")}, tables: public, want: "2"},
		"OnlyOutposts":    {reason: "AWS-SUBNET-6: no subnet is an error", subnets: []vpc.Subnet{onOutpost("1", "a")}, tables: public, message: "Outposts"},
		"NoTable":         {reason: "AWS-SUBNET-2: no table is an error", subnets: []vpc.Subnet{subnet("1", "a")}, tables: mixed[1:], message: "subnet-1 has no route table"},
		"ExplicitPrivate": {reason: "AWS-SUBNET-2: its own table before the main one", subnets: []vpc.Subnet{subnet("1", "a"), subnet("2", "a")}, tables: []vpc.RouteTable{{Main: true, Public: true}, {Subnets: []string{"subnet-1"}}}, want: "2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			tc.options.Cluster = demo
			got, err := vpc.Choose(tc.subnets, tc.tables, zones, tc.options)
			if ids(got) != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, ids(got), tc.want)
			}
			if wantErr := tc.message != ""; wantErr != (err != nil) || wantErr && (!strings.Contains(err.Error(), tc.message) || !errors.Is(err, apierr.ErrInvalid)) {
				t.Errorf("%s: got error %v, want it to contain %q", tc.reason, err, tc.message)
			}
		})
	}
}

// TestChoiceIsStable draws subnets in any order: the choice is the same, with one
// subnet in each zone.
func TestChoiceIsStable(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		subnets := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) vpc.Subnet {
			tags := rapid.SliceOf(rapid.SampledFrom([]string{ours, vpc.RoleTag, vpc.InternalRoleTag})).Draw(t, "tags")

			return subnet(rapid.StringMatching("[0-9]{2}").Draw(t, "id"), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "zone"), tags...)
		}), 1, 8, func(s vpc.Subnet) string { return s.ID }).Draw(t, "subnets")
		tables := []vpc.RouteTable{{Main: true, Public: true}}
		options := vpc.DiscoverOptions{Cluster: demo, Internal: rapid.Bool().Draw(t, "internal")}
		one, err := vpc.Choose(subnets, tables, nil, options)
		if err != nil {
			t.Fatal(err)
		}
		other, err := vpc.Choose(rapid.Permutation(subnets).Draw(t, "shuffled"), tables, nil, options)
		if err != nil || ids(one) != ids(other) {
			t.Fatalf("%s and %s, %v", ids(one), ids(other), err)
		}
		for i := range one[1:] {
			if one[i].AvailabilityZone >= one[i+1].AvailabilityZone {
				t.Fatalf("AWS-SUBNET-4: zones of %v are not in order, each once", one)
			}
		}
	})
}

func TestPick(t *testing.T) {
	t.Parallel()

	subnets := []vpc.Subnet{
		subnet("1", "a", "Name=blue"), subnet("2", "b", "Name=red"), subnet("3", "c", "Name=red"), subnet("4", "d", "Name=subnet-9"),
	}
	cases := map[string]struct {
		reason  string
		wanted  []string
		want    string
		message string
	}{
		"IDsThenNames": {reason: "AWS-SUBNET-7: IDs come first", wanted: []string{"blue", "subnet-3", "subnet-2"}, want: "3 2 1"},
		"Missing":      {reason: "AWS-SUBNET-7: each must be found", wanted: []string{"subnet-1", "subnet-5"}, message: "subnet-5 (0 found)"},
		"Ambiguous":    {reason: "AWS-SUBNET-7: only once", wanted: []string{"red"}, message: "red (2 found)"},
		"NotAName":     {reason: "what looks like an ID is one", wanted: []string{"subnet-9"}, message: "subnet-9 (0 found)"},
		"Twice":        {reason: "AWS-SUBNET-7: only once", wanted: []string{"subnet-1", "blue"}, message: "blue (listed twice)"},
		"None":         {reason: "none left", message: "none are named"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := vpc.Pick(subnets, tc.wanted)
			if ids(got) != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, ids(got), tc.want)
			}
			if wantErr := tc.message != ""; wantErr != (err != nil) || wantErr && !strings.Contains(err.Error(), tc.message) {
				t.Errorf("%s: got error %v, want it to contain %q", tc.reason, err, tc.message)
			}
		})
	}
}
