package policy

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"unique"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// MemberIPs are a set of addresses, comparable with ==. Equal sets share their memory: most pools
// of a cluster have all Nodes as members.
type MemberIPs unique.Handle[string]

// NewMemberIPs returns the set of some addresses.
func NewMemberIPs(ips []netip.Addr) MemberIPs {
	texts := lists.Map(ips, netip.Addr.String)
	slices.Sort(texts)

	return MemberIPs(unique.Make(strings.Join(slices.Compact(texts), " ")))
}

// All returns the addresses of the set.
func (m MemberIPs) All() []netip.Addr {
	var ips []netip.Addr
	for text := range strings.FieldsSeq(unique.Handle[string](m).Value()) {
		if ip, err := netip.ParseAddr(text); err == nil {
			ips = append(ips, ip)
		}
	}

	return ips
}

// MembersByIP returns the members of a pool with all of their fields.
func (o *Object) MembersByIP() map[netip.Addr]json.RawMessage {
	var members []json.RawMessage
	_ = json.Unmarshal(o.Raw["members"], &members) // a row has none
	all := map[netip.Addr]json.RawMessage{}
	for _, content := range members {
		var member memberIP
		_ = member.UnmarshalJSON(content) // never fails
		all[member.Addr] = content
	}

	return all
}

// memberIP is the address of a member, an invalid one if it cannot be read.
type memberIP struct{ netip.Addr }

// UnmarshalJSON reads a member.
func (m *memberIP) UnmarshalJSON(content []byte) error {
	var member struct {
		IPAddress string `json:"ip_address"`
	}
	_ = json.Unmarshal(content, &member)
	m.Addr, _ = netip.ParseAddr(member.IPAddress)

	return nil
}
