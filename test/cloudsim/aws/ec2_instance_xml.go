package aws

import (
	"cmp"
	"time"
)

// imageID is the image of all instances.
const imageID = "ami-0c2b8ca1dad447f8a"

const wireTime = "2006-01-02T15:04:05.000Z"

func stamp(t time.Time) string { return t.UTC().Format(wireTime) }

type describeInstancesResult struct {
	Reservations []*reservationXML `xml:"reservationSet>item"`
	NextToken    *string           `xml:"nextToken"`
}

type reservationXML struct {
	ID        string        `xml:"reservationId"`
	Owner     string        `xml:"ownerId"`
	Instances []instanceXML `xml:"instancesSet>item"`
}

type instanceXML struct {
	ID              string        `xml:"instanceId"`
	ImageID         string        `xml:"imageId"`
	State           *stateXML     `xml:"instanceState"`
	PrivateDNSName  string        `xml:"privateDnsName"`
	PublicDNSName   string        `xml:"dnsName"`
	Type            string        `xml:"instanceType"`
	Launched        string        `xml:"launchTime"`
	Placement       *placementXML `xml:"placement"`
	SubnetID        string        `xml:"subnetId,omitempty"`
	VPCID           string        `xml:"vpcId,omitempty"`
	PrivateIP       string        `xml:"privateIpAddress,omitempty"`
	PublicIP        string        `xml:"ipAddress,omitempty"`
	IPv6            string        `xml:"ipv6Address,omitempty"`
	SourceDestCheck *bool         `xml:"sourceDestCheck"`
	Groups          []groupXML    `xml:"groupSet>item"`
	Architecture    string        `xml:"architecture"`
	Tags            []tagXML      `xml:"tagSet>item"`
	Interfaces      []instanceENI `xml:"networkInterfaceSet>item"`
}

type stateXML struct {
	Code int    `xml:"code"`
	Name string `xml:"name"`
}

type placementXML struct {
	Zone    string `xml:"availabilityZone"`
	ZoneID  string `xml:"availabilityZoneId"`
	Group   string `xml:"groupName"`
	Tenancy string `xml:"tenancy"`
}

type groupXML struct {
	ID   string `xml:"groupId"`
	Name string `xml:"groupName"`
}

type tagXML struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

// instanceENI is a network interface as DescribeInstances shows it.
type instanceENI struct {
	interfaceXML
	Attachment *attachmentXML `xml:"attachment"`
}

// reservations renders instances, those of one reservation together.
func (c *Cloud) reservations(instances []*instance) []*reservationXML {
	var all []*reservationXML
	byID := make(map[string]*reservationXML)
	for _, i := range instances {
		r := byID[i.reservation]
		if r == nil {
			r = &reservationXML{ID: i.reservation, Owner: c.opts.AccountID}
			byID[i.reservation] = r
			all = append(all, r)
		}
		r.Instances = append(r.Instances, c.renderInstance(i))
	}

	return all
}

func (c *Cloud) renderInstance(i *instance) instanceXML {
	out := instanceXML{
		ID: i.id, ImageID: imageID, PrivateDNSName: i.privateDNS, Type: i.kind, Launched: stamp(i.launched),
		SubnetID: i.subnet, VPCID: i.vpc, Architecture: "x86_64", Tags: renderTags(i.tags),
	}
	if !c.sparse {
		out.State = &stateXML{stateCodes[i.state], i.state}
		out.Placement = &placementXML{Zone: i.zone, ZoneID: c.zoneIDOf(i.zone), Tenancy: "default"}
	}
	for n, eni := range c.interfacesOf(i) {
		if n == 0 {
			out.PrivateIP, out.PublicDNSName = eni.addrs[0].String(), eni.publicDNS
			if eni.publicIP.IsValid() {
				out.PublicIP = eni.publicIP.String()
			}
			if len(eni.addrs6) > 0 {
				out.IPv6 = eni.addrs6[0].String()
			}
			out.SourceDestCheck = new(eni.sourceDestCheck)
			out.Groups = c.renderGroups(eni.groups)
		}
		out.Interfaces = append(out.Interfaces, instanceENI{c.renderInterface(eni), renderAttachment(eni.attachment)})
	}

	return out
}

func (c *Cloud) renderGroups(ids []string) []groupXML {
	out := make([]groupXML, 0, len(ids))
	for _, id := range ids {
		if g := c.group(id); g != nil {
			out = append(out, groupXML{id, g.name})
		}
	}

	return out
}

func renderTags(tags map[string]string) []tagXML {
	out := make([]tagXML, 0, len(tags))
	for _, key := range sortedKeys(tags) {
		out = append(out, tagXML{key, tags[key]})
	}

	return out
}

// attachmentXML is the attachment of an interface in a description of an
// instance.
type attachmentXML struct {
	ID                  string `xml:"attachmentId"`
	Device              int32  `xml:"deviceIndex"`
	Card                int32  `xml:"networkCardIndex"`
	Status              string `xml:"status"`
	Time                string `xml:"attachTime"`
	DeleteOnTermination bool   `xml:"deleteOnTermination"`
}

func renderAttachment(a *attachment) *attachmentXML {
	if a == nil {
		return nil
	}

	return &attachmentXML{
		ID: a.id, Device: a.device, Status: cmp.Or(a.status, "attached"), Time: stamp(a.at), DeleteOnTermination: true,
	}
}
