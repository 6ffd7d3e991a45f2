package aws

// securityGroup is a group with its inbound rules.
type securityGroup struct {
	tagged
	birth
	id, name, description, vpc string
	rules                      []*rule
	given                      bool // by the builder
}

// rule is one inbound rule with one source.
type rule struct {
	id          string
	protocol    string
	from, to    int32 // -1 for all, where the protocol has any
	kind        sourceKind
	source      string // CIDR, prefix list ID or group ID
	description string
	given       bool // by the builder
}

type sourceKind int

const (
	fromIPv4 sourceKind = iota
	fromIPv6
	fromPrefixList
	fromGroup
)
