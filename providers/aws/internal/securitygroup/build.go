package securitygroup

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Choice is the choice of the groups of a load balancer.
type Choice struct {
	// Groups are in order, the primary one first. Nil does not change those of
	// a network load balancer.
	Groups []plan.Ref
	// Managed is the group among them that this package creates and maintains,
	// nil if users provide all of them.
	Managed *Managed
}

// Managed is the desired state of a group.
type Managed struct {
	Name, Description string
	// Tags are for creation.
	Tags  map[string]string
	Rules Rules
	// Existing is the observed group, nil if it does not exist.
	Existing *Group
}

// ref refers to the group in a plan.
func (m *Managed) ref() plan.Ref {
	ref := plan.Ref{Key: change.SecurityGroupKey(m.Name)}
	if m.Existing != nil {
		ref.ID = m.Existing.ID
	}

	return ref
}

// ForClassic chooses the groups of a classic load balancer:
//
//	annotation security-groups    those
//	or ElbSecurityGroup           that
//	or                            one that is made
//	and extra-security-groups     after it
func ForClassic(r *request.Request, c request.Config, groups Groups) Choice {
	choice := Choice{}
	switch {
	case len(r.SecurityGroups) > 0:
		choice.Groups = refs(r.SecurityGroups)
	case c.ClassicSecurityGroup != "":
		choice.Groups = refs([]string{c.ClassicSecurityGroup})
	default:
		choice.Managed = managed(r, c, groups.Named(request.ClassicGroupName(r.Name)))
		choice.Managed.Name = request.ClassicGroupName(r.Name)
		choice.Managed.Description = classicDescription(r)
		choice.Groups = []plan.Ref{choice.Managed.ref()}
	}
	for _, extra := range refs(r.ExtraSecurityGroups) {
		if !slices.ContainsFunc(choice.Groups, func(ref plan.Ref) bool { return ref.ID == extra.ID }) {
			choice.Groups = append(choice.Groups, extra)
		}
	}

	return choice
}

// ForNetwork chooses the groups of a network load balancer. Attached are those
// that it has, nil if there is no load balancer yet:
//
//	mode         load balancer       groups
//	not Managed                      as they are, none at first
//	Managed      without groups      none: AWS cannot add the first one later
//	Managed      otherwise           those of the annotation security-groups
//	Managed      otherwise           or one that is made
func ForNetwork(r *request.Request, c request.Config, attached []string, groups Groups) Choice {
	switch {
	case !c.ManagedNetworkGroups, attached != nil && len(attached) == 0:
		return Choice{}
	case len(r.SecurityGroups) > 0:
		return Choice{Groups: refs(r.SecurityGroups)}
	}
	name := request.NetworkGroupName(c.ClusterName, r.Service, r.UID)
	existing := groups.Named(name)
	if existing == nil {
		existing = earlier(Owned(groups, r, c, attached), attached)
	}
	m := managed(r, c, existing)
	m.Name, m.Description = name, networkDescription
	if existing != nil {
		m.Name = existing.Name
	}

	return Choice{Groups: []plan.Ref{m.ref()}, Managed: m}
}

// earlier returns the group that was created for the load balancer under
// another name of the cluster. It continues to be used, so that it never
// conflicts with another one.
func earlier(owned []*Group, attached []string) *Group {
	for _, group := range owned {
		if group.Description == networkDescription && slices.Contains(attached, group.ID) {
			return group
		}
	}

	return nil
}

func managed(r *request.Request, c request.Config, existing *Group) *Managed {
	tags := map[string]string{}
	maps.Copy(tags, r.Tags)
	maps.Copy(tags, c.Cluster.Tags())

	return &Managed{Tags: tags, Rules: frontRules(r), Existing: existing}
}

// frontRules returns the rules for clients: each port from each source range,
// and the messages of path MTU discovery.
func frontRules(r *request.Request) Rules {
	rules := Rules{}
	for _, cidr := range r.SourceRanges {
		source := prefix(cidr)
		for _, port := range r.Ports {
			rules[Rule{Protocol: transport(port.Protocol), From: port.Port, To: port.Port, Source: source}] = ""
		}
		rules[mtuRule(source)] = ""
	}

	return rules
}

// transport returns the EC2 protocol of a port. For EC2, TLS is TCP.
func transport(protocol v1.Protocol) string {
	if protocol == v1.ProtocolUDP {
		return udp
	}

	return tcp
}

// refs refers to groups by ID, without empty ones and duplicates.
func refs(ids []string) []plan.Ref {
	ids = lists.Filter(ids, func(id string) bool { return id != "" })

	return lists.Map(lists.Distinct(ids), plan.ID)
}
