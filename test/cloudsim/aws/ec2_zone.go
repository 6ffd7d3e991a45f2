package aws

import (
	"cmp"
	"slices"
)

// Zone is an availability zone, local zone or wavelength zone.
type Zone struct {
	// Name is the zone's name in this account, such as us-west-2a.
	Name string
	// ID is the name that is the same in all accounts, such as usw2-az1.
	ID string
	// Type is availability-zone (the default), local-zone or wavelength-zone.
	Type string
	// Parent is the availability zone that a local zone belongs to.
	Parent string
}

const availabilityZone = "availability-zone"

func (z Zone) kind() string { return cmp.Or(z.Type, availabilityZone) }

func defaultZones(region string) []Zone {
	return []Zone{
		{Name: region + "a", ID: zoneID(region, "az2")},
		{Name: region + "b", ID: zoneID(region, "az1")},
		{Name: region + "c", ID: zoneID(region, "az3")},
		{Name: region + "-lax-1a", ID: zoneID(region, "lax1-az1"), Type: "local-zone", Parent: region + "a"},
	}
}

// zoneID shortens the region as AWS does: us-west-2 becomes usw2.
func zoneID(region, rest string) string {
	short := make([]byte, 0, len(region))
	for i := range len(region) {
		if region[i] != '-' && (i < 2 || region[i-1] == '-') {
			short = append(short, region[i])
		}
	}

	return string(short) + "-" + rest
}

func (c *Cloud) zone(name string) (Zone, bool) {
	i := slices.IndexFunc(c.opts.Zones, func(z Zone) bool { return z.Name == name })
	if i < 0 {
		return Zone{}, false
	}

	return c.opts.Zones[i], true
}

func (c *Cloud) zoneIDOf(name string) string {
	z, _ := c.zone(name)

	return z.ID
}

func (z Zone) optIn() string {
	if z.kind() == availabilityZone {
		return "opt-in-not-required"
	}

	return "opted-in"
}

// describeAvailabilityZones implements DescribeAvailabilityZones.
func (c *Cloud) describeAvailabilityZones(p params) (any, error) {
	names, ids := p.list("ZoneName"), p.list("ZoneId")
	for _, name := range names {
		if _, ok := c.zone(name); !ok {
			return nil, fail("InvalidParameterValue", "Invalid availability zone: [%s]", name)
		}
	}
	zones := slices.DeleteFunc(slices.Clone(c.opts.Zones), func(z Zone) bool {
		return len(names) > 0 && !slices.Contains(names, z.Name) || len(ids) > 0 && !slices.Contains(ids, z.ID)
	})

	return c.renderZones(zones), nil
}

type describeZonesResult struct {
	Zones []zoneXML `xml:"availabilityZoneInfo>item"`
}

type zoneXML struct {
	Name   string `xml:"zoneName"`
	ID     string `xml:"zoneId"`
	Type   string `xml:"zoneType"`
	State  string `xml:"zoneState"`
	Region string `xml:"regionName"`
	OptIn  string `xml:"optInStatus"`
	Group  string `xml:"groupName"`
	Border string `xml:"networkBorderGroup"`
	Parent string `xml:"parentZoneName,omitempty"`
}

func (c *Cloud) renderZones(zones []Zone) *describeZonesResult {
	var result describeZonesResult
	for _, z := range zones {
		result.Zones = append(result.Zones, zoneXML{
			Name: z.Name, ID: z.ID, Type: z.kind(), State: "available", Region: c.opts.Region, OptIn: z.optIn(),
			Group: c.opts.Region, Border: c.opts.Region, Parent: z.Parent,
		})
	}

	return &result
}
