package aws

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// routeTable is a table with its routes; the local ones are implied.
type routeTable struct {
	tagged
	simstate.Created
	id, vpc  string
	main     bool
	subnets  []string // explicit associations
	routes   []*route
	original []netip.Prefix // destinations of the builder's routes
}

type route struct {
	destination netip.Prefix
	gateway     string // igw-…, vgw-… or nat-…
	eni         string
	gone        bool // the gateway was deleted
	given       bool // by the builder
}

// RouteTableSpec describes a route table. The local routes of the VPC need not
// be named.
type RouteTableSpec struct {
	// ID is made up when empty.
	ID string
	// VPC is the ID of its VPC.
	VPC string
	// Main makes it the main table of the VPC.
	Main bool
	// Subnets are the IDs of the subnets that are associated with it.
	Subnets []string
	// Routes are its routes.
	Routes []RouteSpec
	// Tags are its tags.
	Tags map[string]string
}

// RouteSpec describes a route to one target.
type RouteSpec struct {
	// Destination is an IPv4 or IPv6 range.
	Destination string
	// Gateway is the ID of an internet or NAT gateway: igw-…, nat-….
	Gateway string
	// Gone has the gateway deleted, so that the route is a black hole:
	// docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Route.html, "state".
	Gone bool
	// Interface is the ID of a network interface.
	Interface string
	// Instance is the ID of an instance; its primary interface is the target.
	Instance string
}

// AddRouteTable makes a route table and returns its ID.
func (c *Cloud) AddRouteTable(spec RouteTableSpec) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.vpc(spec.VPC) == nil {
		wrong("no VPC %q", spec.VPC)
	}
	if spec.Main {
		c.mainTable(spec.VPC).main = false
	}
	for _, id := range spec.Subnets {
		if s := c.subnet(id); s == nil || s.vpc != spec.VPC {
			wrong("no subnet %q in %s", id, spec.VPC)
		}
		for _, other := range c.ec2.tables.byID {
			other.subnets = slices.DeleteFunc(other.subnets, func(taken string) bool { return taken == id })
		}
	}

	return c.addTable(&routeTable{vpc: spec.VPC, main: spec.Main, subnets: slices.Clone(spec.Subnets)}, spec).id
}

func (c *Cloud) addTable(t *routeTable, spec RouteTableSpec) *routeTable {
	t.tagged, t.Created, t.id = newTagged(spec.Tags, true), c.created(), orNew(c, &c.ec2.tables, spec.ID, "rtb")
	c.ec2.tables.put(t.id, t)
	for _, r := range spec.Routes {
		c.addRoute(t, r)
	}

	return t
}

// MainRouteTable returns the ID of a VPC's main route table.
func (c *Cloud) MainRouteTable(vpc string) string {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.mainTable(vpc).id
}

func (c *Cloud) mainTable(vpc string) *routeTable {
	for _, t := range c.ec2.tables.byID {
		if t.vpc == vpc && t.main {
			return t
		}
	}
	wrong("no main route table in %q", vpc)

	return nil
}

// AddRoute adds a route to a table, as another client would.
func (c *Cloud) AddRoute(table string, spec RouteSpec) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.ec2.tables.get(table)
	if t == nil {
		wrong("no route table %q", table)
	}
	c.addRoute(t, spec)
}

func (c *Cloud) addRoute(t *routeTable, spec RouteSpec) {
	r := &route{destination: must(netip.ParsePrefix(spec.Destination)).Masked(), gateway: spec.Gateway, gone: spec.Gone, eni: spec.Interface, given: true}
	if spec.Instance != "" {
		r.eni = c.primary(c.mustInstance(spec.Instance)).id
	}
	if c.routeTo(t, r.destination) != nil {
		wrong("route to %s exists already in %s", r.destination, t.id)
	}
	t.routes = append(t.routes, r)
	t.original = append(t.original, r.destination)
}

// routeTo returns the route of the table with exactly that destination.
func (c *Cloud) routeTo(t *routeTable, destination netip.Prefix) *route {
	for _, r := range t.routes {
		if r.destination == destination {
			return r
		}
	}

	return nil
}

// Routes returns the routes of a table without the local ones, sorted, each as
// "destination target state".
func (c *Cloud) Routes(table string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.ec2.tables.get(table)
	if t == nil {
		return nil
	}
	var out []string
	for _, r := range t.routes {
		out = append(out, c.routeText(r))
	}
	slices.Sort(out)

	return out
}

func (c *Cloud) routeText(r *route) string {
	instance, state := c.routeState(r)
	target := r.gateway
	if r.eni != "" {
		target = instance
		if target == "" {
			target = r.eni
		}
	}

	return r.destination.String() + " " + target + " " + state
}

// routeState returns the instance that a route leads to, and its state. Routes
// to stopped instances, and to gateways and network interfaces that are gone, are
// black holes.
func (c *Cloud) routeState(r *route) (instance, state string) {
	if r.gone {
		return "", "blackhole"
	}
	if r.eni == "" {
		return "", "active"
	}
	eni := c.ec2.interfaces.get(r.eni)
	if eni == nil || eni.attachment == nil {
		return "", "blackhole"
	}
	i := c.instance(eni.attachment.instance)
	switch {
	case i == nil:
		return "", "active"
	case !i.up():
		return i.id, "blackhole"
	}

	return i.id, "active"
}

var tableFields = fieldsOf[*routeTable]{
	"vpc-id": func(_ *Cloud, t *routeTable) []string { return one(t.vpc) },
}

// describeRouteTables implements DescribeRouteTables.
func (c *Cloud) describeRouteTables(p params) (any, error) {
	found, next, err := describe(c, p, kindOf[*routeTable]{
		resources: &c.ec2.tables, ids: "RouteTableId", noun: "routeTable ID", code: "InvalidRouteTableID", fields: tableFields,
		most: 100, id: func(t *routeTable) string { return t.id }, created: func(t *routeTable) *simstate.Created { return &t.Created },
	})
	if err != nil {
		return nil, err
	}
	result := &describeTablesResult{NextToken: next}
	for _, t := range found {
		out := tableXML{ID: t.id, VPCID: t.vpc, Owner: c.opts.AccountID, Routes: c.renderRoutes(t), Tags: renderTags(t.tags)}
		if t.main {
			out.Associations = append(out.Associations, tableAssociation{"rtbassoc-" + t.id[4:], t.id, "", true, "associated"})
		}
		for _, s := range t.subnets {
			out.Associations = append(out.Associations, tableAssociation{"rtbassoc-" + s[len("subnet-"):], t.id, s, false, "associated"})
		}
		result.Tables = append(result.Tables, out)
	}

	return result, nil
}

type describeTablesResult struct {
	Tables    []tableXML `xml:"routeTableSet>item"`
	NextToken *string    `xml:"nextToken"`
}

type tableXML struct {
	ID           string             `xml:"routeTableId"`
	VPCID        string             `xml:"vpcId"`
	Owner        string             `xml:"ownerId"`
	Routes       []routeXML         `xml:"routeSet>item"`
	Associations []tableAssociation `xml:"associationSet>item"`
	Tags         []tagXML           `xml:"tagSet>item"`
}

type tableAssociation struct {
	ID     string `xml:"routeTableAssociationId"`
	Table  string `xml:"routeTableId"`
	Subnet string `xml:"subnetId,omitempty"`
	Main   bool   `xml:"main"`
	State  string `xml:"associationState>state"`
}

type routeXML struct {
	IPv4      string `xml:"destinationCidrBlock,omitempty"`
	IPv6      string `xml:"destinationIpv6CidrBlock,omitempty"`
	Gateway   string `xml:"gatewayId,omitempty"`
	NAT       string `xml:"natGatewayId,omitempty"`
	Instance  string `xml:"instanceId,omitempty"`
	Owner     string `xml:"instanceOwnerId,omitempty"`
	Interface string `xml:"networkInterfaceId,omitempty"`
	State     string `xml:"state"`
	Origin    string `xml:"origin"`
}

// renderRoutes returns all routes of the table, the local ones first.
func (c *Cloud) renderRoutes(t *routeTable) []routeXML {
	v := c.vpc(t.vpc)
	var routes []routeXML
	for _, cidr := range v.cidrs {
		routes = append(routes, routeXML{IPv4: cidr.String(), Gateway: "local", State: "active", Origin: "CreateRouteTable"})
	}
	if v.ipv6.IsValid() {
		routes = append(routes, routeXML{IPv6: v.ipv6.String(), Gateway: "local", State: "active", Origin: "CreateRouteTable"})
	}
	for _, r := range t.routes {
		out := routeXML{Gateway: r.gateway, Interface: r.eni, Origin: "CreateRoute"}
		if strings.HasPrefix(r.gateway, "nat-") {
			out.NAT, out.Gateway = r.gateway, ""
		}
		if out.Instance, out.State = c.routeState(r); out.Instance != "" {
			out.Owner = c.opts.AccountID
		}
		if c.ec2.hideRouteInstances {
			out.Instance, out.Owner = "", ""
		}
		if r.destination.Addr().Is4() {
			out.IPv4 = r.destination.String()
		} else {
			out.IPv6 = r.destination.String()
		}
		routes = append(routes, out)
	}

	return routes
}
