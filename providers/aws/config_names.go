package aws

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// The parts of the name of a region: us-gov-west-1 is number 1 in the west of the area us-gov.
var (
	areas = []string{
		"af", "ap", "ca", "cn", "eu", "eu-isoe", "eusc-de", "il", "me", "mx", "sa", "us", "us-gov", "us-iso", "us-isob", "us-isof",
	}
	directions = []string{"central", "east", "north", "northeast", "northwest", "south", "southeast", "southwest", "west"}
	regionName = regexp.MustCompile(`^([a-z]+(?:-[a-z]+)?)-([a-z]+)-([0-9]+)$`)
)

// checkRegion warns of a region whose name differs from those of AWS, unless it is that of a cloud with the API of AWS.
func (r *resolver) checkRegion(key config.Name, region string) {
	if problem := regionProblem(region); problem != "" && !r.hasOverride(region) {
		r.Warnf(key, "%s", problem)
	}
}

// regionProblem returns what is wrong with the name of a region. AWS adds regions: numbers are not compared.
func regionProblem(region string) string {
	parts := regionName.FindStringSubmatch(region)
	switch {
	case region == "":
		return ""
	case parts == nil:
		return fmt.Sprintf("%q is not a region such as us-west-2", region)
	case slices.Contains(areas, parts[1]) && slices.Contains(directions, parts[2]):
		return ""
	}
	problem := fmt.Sprintf("%q is not a known region", region)
	area, direction := config.Nearest(parts[1], areas...), config.Nearest(parts[2], directions...)
	if area != "" && direction != "" {
		problem += fmt.Sprintf(", did you mean %s-%s-%s?", area, direction, parts[3])
	}

	return problem
}

// hasOverride reports whether there is an endpoint for a region, whose name is up to that cloud then.
func (r *resolver) hasOverride(region string) bool {
	for _, o := range r.config.ServiceOverride {
		if strings.TrimSpace(o.Region) == region {
			return true
		}
	}

	return false
}

// checkIDs warns of IDs that AWS does not have.
func (r *resolver) checkIDs() {
	g := r.config.Global
	for _, id := range []struct{ key, value, prefix string }{
		{"VPC", g.VPC, "vpc-"},
		{"SubnetID", g.SubnetID, "subnet-"},
		{"RouteTableID", g.RouteTableID, "rtb-"},
		{"ElbSecurityGroup", g.ElbSecurityGroup, "sg-"},
	} {
		if rest, ok := strings.CutPrefix(id.value, id.prefix); id.value != "" && (!ok || !idSuffix.MatchString(rest)) {
			r.warnf(id.key, "%q is not an ID such as %s0123456789abcdef0", id.value, id.prefix)
		}
	}
}

var idSuffix = regexp.MustCompile(`^[0-9a-z]+$`)
