package aws

// Zone is an availability zone or something like it.
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
		if i < 2 || region[i-1] == '-' {
			short = append(short, region[i])
		}
	}
	return string(short) + "-" + rest
}
