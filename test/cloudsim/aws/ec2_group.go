package aws

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// defaultGroup is the name of the group that every VPC has.
const defaultGroup = "default"

// securityGroup is a group with its inbound rules.
type securityGroup struct {
	tagged
	simstate.Created
	id, name, description, vpc string
	rules                      []*rule
	original                   []*rule     // those of the builder
	earlier                    []ruleState // those before, oldest first; see Delays
	given                      bool        // by the builder
}

var (
	groupID = regexp.MustCompile(`^sg-[0-9a-f]+$`)
	// groupText is what names and descriptions of groups and rules may hold.
	groupText = regexp.MustCompile(`^[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]{0,255}$`)
)

const groupCharacters = "a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*"

func noGroup(id string) *apiError {
	return fail("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
}

// SecurityGroupSpec describes a security group.
type SecurityGroupSpec struct {
	// ID is made up when empty.
	ID string
	// VPC is the ID of its VPC.
	VPC string
	// Name and Description are its name and description.
	Name, Description string
	// Rules are its inbound rules.
	Rules []Rule
	// Tags are its tags.
	Tags map[string]string
}

// AddSecurityGroup makes a security group and returns its ID.
func (c *Cloud) AddSecurityGroup(spec SecurityGroupSpec) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.vpc(spec.VPC) == nil {
		wrong("no VPC %q", spec.VPC)
	}

	return c.addGroup(spec).id
}

func (c *Cloud) addGroup(spec SecurityGroupSpec) *securityGroup {
	if c.groupNamed(spec.VPC, spec.Name) != nil {
		wrong("security group %q exists already in %s", spec.Name, spec.VPC)
	}
	g := &securityGroup{
		tagged: newTagged(spec.Tags, true), Created: c.created(), id: orNew(c, &c.ec2.groups, spec.ID, "sg"),
		name: spec.Name, description: spec.Description, vpc: spec.VPC, given: true,
	}
	if !groupID.MatchString(g.id) {
		wrong("%q is no security group ID", g.id)
	}
	c.ec2.groups.put(g.id, g)
	for _, r := range spec.Rules {
		c.addRule(g, r)
	}

	return g
}

func (c *Cloud) groupNamed(vpc, name string) *securityGroup {
	for _, g := range c.ec2.groups.byID {
		if g.vpc == vpc && g.name == name {
			return g
		}
	}

	return nil
}

// wantedGroup returns the group that a request names by its ID.
func (c *Cloud) wantedGroup(p params) (*securityGroup, error) {
	if err := p.require("GroupId"); err != nil {
		return nil, err
	}
	id := p.str("GroupId")
	if !groupID.MatchString(id) {
		return nil, fail("InvalidGroupId.Malformed", "Invalid id: \"%s\" (expecting \"sg-...\")", id)
	}
	if g := c.group(id); g != nil && c.changeable(&g.Created) {
		return g, nil
	}

	return nil, noGroup(id)
}

// createSecurityGroup implements CreateSecurityGroup.
func (c *Cloud) createSecurityGroup(p params) (any, error) {
	if err := p.require("GroupName", "GroupDescription"); err != nil {
		return nil, err
	}
	name, description, vpcID := p.str("GroupName"), p.str("GroupDescription"), p.str("VpcId")
	v := c.vpc(vpcID)
	if vpcID == "" {
		return nil, fail("VPCIdNotSpecified", "No default VPC for this user")
	}
	tags, err := tagSpecifications(p, "security-group")
	switch {
	case err != nil:
		return nil, err
	case v == nil:
		return nil, fail("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", vpcID)
	case !groupText.MatchString(name):
		return nil, fail("InvalidParameterValue", "Value (%s) for parameter GroupName is invalid. Character sets beyond ASCII are not supported.", name)
	case len(name) >= 3 && name[:3] == "sg-":
		return nil, fail("InvalidParameterValue", "Value (%s) for parameter GroupName is invalid. Group names may not be in the format sg-*", name)
	case !groupText.MatchString(description):
		return nil, fail("InvalidParameterValue", "Value (%s) for parameter GroupDescription is invalid. Valid descriptions are strings less than 256 characters from the following set: %s", description, groupCharacters)
	case c.groupNamed(v.id, name) != nil:
		return nil, fail("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", name, v.id)
	}
	g := &securityGroup{
		tagged: newTagged(tags, false), Created: c.created(), id: c.newID("sg"), name: name, description: description, vpc: v.id,
	}
	c.ec2.groups.put(g.id, g)

	return &struct {
		ID   string   `xml:"groupId"`
		ARN  string   `xml:"securityGroupArn"`
		Tags []tagXML `xml:"tagSet>item"`
	}{g.id, c.arn("ec2", "security-group/"+g.id), renderTags(g.tags)}, nil
}

// deleteSecurityGroup implements DeleteSecurityGroup.
func (c *Cloud) deleteSecurityGroup(p params) (any, error) {
	g, err := c.wantedGroup(p)
	switch {
	case err != nil:
		return nil, err
	case g.name == defaultGroup:
		return nil, fail("CannotDelete", "the specified group: \"%s\" name: \"%s\" cannot be deleted by a user", g.id, g.name)
	case c.attached(g.id) || c.referenced(g):
		return nil, fail("DependencyViolation", "resource %s has a dependent object", g.id)
	}
	c.ec2.groups.remove(g.id)
	if g.given {
		c.ec2.lost = append(c.ec2.lost, "lost security-group "+g.name)
	}

	return &struct {
		Return bool   `xml:"return"`
		ID     string `xml:"groupId"`
	}{true, g.id}, nil
}

// referenced reports whether a rule of another group names the group.
func (c *Cloud) referenced(g *securityGroup) bool {
	for _, other := range c.ec2.groups.byID {
		if other != g && slices.ContainsFunc(other.rules, func(r *rule) bool { return r.kind == fromGroup && r.source == g.id }) {
			return true
		}
	}

	return false
}

var groupFields = fieldsOf[*securityGroup]{
	"group-id":                func(_ *Cloud, g *securityGroup) []string { return one(g.id) },
	"group-name":              func(_ *Cloud, g *securityGroup) []string { return one(g.name) },
	"vpc-id":                  func(_ *Cloud, g *securityGroup) []string { return one(g.vpc) },
	"ip-permission.group-id":  ofRules(func(r *rule) string { return r.sourceOf(fromGroup) }),
	"ip-permission.from-port": ofRules(func(r *rule) string { return strconv.Itoa(int(r.from)) }),
}

func ofRules(get func(*rule) string) func(*Cloud, *securityGroup) []string {
	return func(c *Cloud, g *securityGroup) []string {
		var values []string
		for _, r := range c.visibleRules(g) {
			values = append(values, one(get(r))...)
		}

		return values
	}
}

// describeSecurityGroups implements DescribeSecurityGroups.
func (c *Cloud) describeSecurityGroups(p params) (any, error) {
	for _, id := range p.list("GroupId") {
		if !groupID.MatchString(id) {
			return nil, fail("InvalidGroupId.Malformed", "Invalid id: \"%s\" (expecting \"sg-...\")", id)
		}
	}
	found, next, err := describe(c, p, kindOf[*securityGroup]{
		resources: &c.ec2.groups, ids: "GroupId", noun: "security group", code: "InvalidGroup", fields: groupFields,
		id: func(g *securityGroup) string { return g.id }, created: func(g *securityGroup) *simstate.Created { return &g.Created },
	})
	if err != nil {
		return nil, err
	}
	result := &describeGroupsResult{NextToken: next}
	for _, g := range found {
		result.Groups = append(result.Groups, securityGroupXML{
			ID: g.id, ARN: c.arn("ec2", "security-group/"+g.id), Name: g.name, Description: g.description, VPCID: g.vpc,
			Owner: c.opts.AccountID, Permissions: c.renderPermissions(c.visibleRules(g)), Egress: c.renderPermissions(everywhere()),
			Tags: renderTags(g.tags),
		})
	}

	return result, nil
}

type describeGroupsResult struct {
	Groups    []securityGroupXML `xml:"securityGroupInfo>item"`
	NextToken *string            `xml:"nextToken"`
}

type securityGroupXML struct {
	ID          string          `xml:"groupId"`
	ARN         string          `xml:"securityGroupArn"`
	Name        string          `xml:"groupName"`
	Description string          `xml:"groupDescription"`
	VPCID       string          `xml:"vpcId"`
	Owner       string          `xml:"ownerId"`
	Permissions []permissionXML `xml:"ipPermissions>item"`
	Egress      []permissionXML `xml:"ipPermissionsEgress>item"`
	Tags        []tagXML        `xml:"tagSet>item"`
}
