package vpc

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// The tags of subnets that load balancers prefer. Their values are ignored.
const (
	RoleTag         = "kubernetes.io/role/elb"
	InternalRoleTag = "kubernetes.io/role/internal-elb"
)

const (
	nameTag        = "Name"
	subnetIDPrefix = "subnet-"
	usualZone      = "availability-zone"
)

// errNoChoice means that there is no subnet to choose, or not the specified
// one.
var errNoChoice = apierr.Mark(apierr.ErrInvalid, errors.New("no subnets to choose from"))

// Usable returns the subnets that have the tag of the cluster, or of no
// cluster.
func Usable(subnets []Subnet, id cluster.ID) []Subnet {
	return lists.Filter(subnets, func(s Subnet) bool { return id.Member(s.Tags) || !claimed(s.Tags) })
}

// claimed reports whether a subnet has the tag of any cluster. The legacy tag
// does not count.
func claimed(tags map[string]string) bool {
	for key := range tags {
		if strings.HasPrefix(key, cluster.TagPrefix) {
			return true
		}
	}

	return false
}

// Choose picks one of the usable subnets in each zone, in the order of the
// zones:
//
//	internet-facing  only public ones, whose route table leads to an internet gateway
//	internal         all; tables do not count
//	several in one   with the role tag, then with the tag of the cluster,
//	zone             then the smallest ID
//	zones            those that are known not to be usual ones are left out
//	Outposts         their subnets are left out: classic and network load balancers
//	                 cannot be there
func Choose(usable []Subnet, tables []RouteTable, zones map[string]Zone, options DiscoverOptions) ([]Subnet, error) {
	if len(usable) == 0 {
		return nil, fmt.Errorf("%w: all belong to other clusters, or there are none", errNoChoice)
	}
	if usable = lists.Filter(usable, func(s Subnet) bool { return s.Outpost == "" }); len(usable) == 0 {
		return nil, fmt.Errorf("%w: all are on Outposts", errNoChoice)
	}
	if !options.Internal {
		public, err := onlyPublic(usable, tables)
		if err != nil {
			return nil, err
		}
		if len(public) == 0 {
			return nil, fmt.Errorf("%w: none has a route to an internet gateway", errNoChoice)
		}
		usable = public
	}
	chosen := inUsualZones(onePerZone(usable, options), zones)
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%w: all are in local or wavelength zones", errNoChoice)
	}

	return chosen, nil
}

// onlyPublic removes the subnets without a route to an internet gateway.
func onlyPublic(subnets []Subnet, tables []RouteTable) ([]Subnet, error) {
	var public []Subnet
	for _, subnet := range subnets {
		table, ok := tableOf(subnet.ID, tables)
		if !ok {
			return nil, fmt.Errorf("%w: %s has no route table", errNoChoice, subnet.ID)
		}
		if table.Public {
			public = append(public, subnet)
		}
	}

	return public, nil
}

// tableOf returns the route table of the subnet, or else the main one.
func tableOf(subnet string, tables []RouteTable) (RouteTable, bool) {
	i := slices.IndexFunc(tables, func(t RouteTable) bool { return slices.Contains(t.Subnets, subnet) })
	if i < 0 {
		i = slices.IndexFunc(tables, func(t RouteTable) bool { return t.Main })
	}
	if i < 0 {
		return RouteTable{}, false
	}

	return tables[i], true
}

// onePerZone keeps the best subnet of each zone.
func onePerZone(subnets []Subnet, options DiscoverOptions) map[string]Subnet {
	best := map[string]Subnet{}
	for _, subnet := range subnets {
		rival, ok := best[subnet.AvailabilityZone]
		if !ok || options.compare(subnet, rival) < 0 {
			best[subnet.AvailabilityZone] = subnet
		}
	}

	return best
}

// compare orders subnets of the same zone, the better one first.
func (o DiscoverOptions) compare(a, b Subnet) int {
	role := RoleTag
	if o.Internal {
		role = InternalRoleTag
	}

	return cmp.Or(
		lists.TrueFirst(hasTag(a, role), hasTag(b, role)),
		lists.TrueFirst(o.Cluster.Member(a.Tags), o.Cluster.Member(b.Tags)),
		cmp.Compare(a.ID, b.ID),
	)
}

func hasTag(s Subnet, key string) bool {
	_, ok := s.Tags[key]

	return ok
}

// inUsualZones removes zones that are known to be of another type, and sorts
// the others by name.
func inUsualZones(best map[string]Subnet, zones map[string]Zone) []Subnet {
	var kept []Subnet
	for _, name := range slices.Sorted(maps.Keys(best)) {
		if kind := zones[name].Type; kind == "" || kind == usualZone {
			kept = append(kept, best[name])
		}
	}

	return kept
}

// Pick finds the wanted subnets by ID, then those by name, each group in the
// order of the annotation. Each must exist exactly once, and be listed once.
func Pick(subnets []Subnet, wanted []string) ([]Subnet, error) {
	ids, names := lists.Split(wanted, isID)
	picked := make([]Subnet, 0, len(wanted))
	var wrong []string
	for _, item := range slices.Concat(ids, names) {
		found := lists.Filter(subnets, func(s Subnet) bool {
			return s.ID == item || !isID(item) && s.Tags[nameTag] == item
		})
		if len(found) != 1 {
			wrong = append(wrong, fmt.Sprintf("%s (%d found)", item, len(found)))

			continue
		}
		again := func(s Subnet) bool { return s.ID == found[0].ID }
		if slices.ContainsFunc(picked, again) {
			wrong = append(wrong, item+" (listed twice)")

			continue
		}
		picked = append(picked, found[0])
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("%w: each of the subnets must be there once: %s", errNoChoice, strings.Join(wrong, ", "))
	}
	if len(picked) == 0 {
		return nil, fmt.Errorf("%w: none are named", errNoChoice)
	}

	return picked, nil
}

func isID(item string) bool { return strings.HasPrefix(item, subnetIDPrefix) }
