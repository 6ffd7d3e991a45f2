package nodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

// sibling is a VM with the UUID of a Node.
type sibling struct {
	name, host string
	state      string // on, off or lost, which means that its host is out of reach
	address    comparison
}

// vm returns the sibling as a VM of a vCenter.
func (g sibling) vm(vc *VCenter) vm {
	v := &inventory.VM{
		Name: g.name, Ref: inventory.Ref{Value: g.name}, HostName: g.host,
		Power: types.VirtualMachinePowerStatePoweredOff, Connection: types.VirtualMachineConnectionStateConnected,
	}
	if g.state == "on" {
		v.Power = types.VirtualMachinePowerStatePoweredOn
	}
	if g.state == "lost" {
		v.Connection = types.VirtualMachineConnectionStateDisconnected
	}

	return vm{VM: v, vcenter: vc, current: true}
}

// TestPick (VS-NODE-4, VS-NODE-13) is the table of which VM with the UUID of the Node
// node-1 is that of the Node.
func TestPick(t *testing.T) {
	t.Parallel()
	const on, off, lost = "on", "off", "lost"
	type found = []sibling
	alone, before := "alone", "before"
	cases := map[string]struct {
		reason   string
		assigned string // how the VM a was assigned to the Node: alone, before or not
		others   []string
		found    found
		want     []string
	}{
		"RanAlone":                {"what came later are copies", alone, nil, found{{"a", "", on, 0}, {"b", "node-1", on, 0}}, []string{"a"}},
		"RanAloneAndIsOff":        {"the copy has not the name", alone, nil, found{{"a", "", off, 0}, {"b", "", on, 0}}, []string{"a"}},
		"RanAloneAndIsLost":       {"it may be running", alone, nil, found{{"a", "", lost, 0}, {"b", "node-1", on, 0}}, []string{"a"}},
		"FailedOver":              {"it is off, one runs with the name", alone, nil, found{{"a", "", off, 0}, {"b", "node-1", on, 0}}, []string{"b"}},
		"FailedOverKeepsItsName":  {"it is off, one runs with the name", alone, nil, found{{"a", "node-1", off, 0}, {"b", "node-1", on, 0}}, []string{"b"}},
		"TwoReplicas":             {"either could have replaced it", alone, nil, found{{"a", "", off, 0}, {"b", "node-1", on, 0}, {"c", "node-1", on, 0}}, []string{"a"}},
		"Renamed":                 {"no other one has the name", alone, nil, found{{"a", "other", on, 0}, {"b", "", on, 0}}, []string{"a"}},
		"RenamedAndAnotherFits":   {"the name decides", alone, nil, found{{"a", "other", on, 0}, {"b", "node-1", off, 0}}, []string{"b"}},
		"RenamedAndReplaced":      {"the name decides", alone, nil, found{{"a", "other", on, 0}, {"b", "node-1", on, 0}}, []string{"b"}},
		"Name":                    {"the name decides", "", nil, found{{"a", "other", on, 0}, {"b", "node-1", off, 0}, {"c", "", on, 0}}, []string{"b"}},
		"NameWithDomain":          {"a domain makes no difference", "", nil, found{{"a", "other", on, 0}, {"b", "NODE-1.example.org", on, 0}}, []string{"b"}},
		"NameAndRuns":             {"of two names that fit, the one that runs", before, nil, found{{"a", "node-1", off, 0}, {"b", "node-1", on, 0}}, []string{"b"}},
		"NameAndAddress":          {"of two that run, the one with the address", "", nil, found{{"a", "node-1", on, differs}, {"b", "node-1", on, agrees}}, []string{"b"}},
		"NameAndUnknownAddress":   {"it can be either", "", nil, found{{"a", "node-1", on, unknown}, {"b", "node-1", on, agrees}}, []string{"a", "b"}},
		"NameAndNoAddress":        {"it can be either", "", nil, found{{"a", "node-1", on, differs}, {"b", "node-1", on, differs}}, []string{"a", "b"}},
		"Runs":                    {"of two without a name, the one that runs", "", nil, found{{"a", "", off, 0}, {"b", "", on, 0}}, []string{"b"}},
		"OtherName":               {"that is another machine", "", nil, found{{"a", "", off, 0}, {"b", "other", on, 0}}, []string{"a"}},
		"OtherNamesAndAddress":    {"names of guests differ from Nodes", "", nil, found{{"a", "x", on, differs}, {"b", "x", on, agrees}, {"c", "x", off, differs}}, []string{"b"}},
		"AllOff":                  {"it can be either", "", nil, found{{"a", "", off, differs}, {"b", "", off, differs}}, []string{"a", "b"}},
		"Single":                  {"no other one", "", nil, found{{"a", "other", on, 0}}, []string{"a"}},
		"SharedSingle":            {"it can be that of the other Node", "", []string{"node-9"}, found{{"a", "other", on, 0}}, nil},
		"SharedSingleOfTheOther":  {"it is that of the other Node", "", []string{"node-9"}, found{{"a", "node-9", on, differs}}, nil},
		"SharedWithoutName":       {"the one that runs can be that of the other Node", "", []string{"node-9"}, found{{"a", "", off, differs}, {"b", "", on, differs}}, nil},
		"SharedName":              {"the name proves it", "", []string{"node-9"}, found{{"a", "node-1", on, 0}, {"b", "node-9", on, 0}}, []string{"a"}},
		"SharedAddress":           {"the address proves it", "", []string{"node-9"}, found{{"a", "x", on, agrees}, {"b", "x", on, differs}}, []string{"a"}},
		"SharedAddressOfOldNames": {"the address proves it", "", []string{"node-9"}, found{{"a", "x", on, agrees}, {"b", "", on, differs}}, []string{"a"}},
		"SharedBefore":            {"it was that of the Node", before, []string{"node-9"}, found{{"a", "x", on, 0}, {"b", "", on, 0}}, []string{"a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vc := &VCenter{Name: "vc", Inventory: inventory.New(nil, inventory.Config{Name: "vc"})}
			n := identity{name: "node-1", others: tc.others, address: func(v vm) comparison {
				i := 0
				for tc.found[i].name != v.Name {
					i++
				}

				return tc.found[i].address
			}}
			if tc.assigned != "" {
				n.assigned = assignment{at: sibling{name: "a"}.vm(vc).location(), sure: tc.assigned == alone}
			}
			picked := n.pick(lists.Map(tc.found, func(g sibling) vm { return g.vm(vc) }))
			got := lists.Map(picked, func(v vm) string { return v.Name })
			if diff := cmp.Diff(append([]string{}, tc.want...), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestProof (VS-NODE-4, VS-NODE-14) is the table of what a VM proves while another
// vCenter does not respond.
func TestProof(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason         string
		assigned, sure bool
		label, host    string
		want           proof
	}{
		"RanAlone":  {"others are copies", true, true, "", "", certain},
		"Labeled":   {"the label was written without a doubt", false, false, "vc", "", certain},
		"Before":    {"another one may run by now", true, false, "", "", likely},
		"Name":      {"another one may run, too", false, false, "", "node-1", likely},
		"Other":     {"it may be a copy", false, false, "", "other", mayBeCopy},
		"Elsewhere": {"the label names the vCenter that does not respond", false, false, "other", "", mayBeCopy},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vc := &VCenter{Name: "vc", Inventory: inventory.New(nil, inventory.Config{Name: "vc"})}
			v := sibling{name: "a", host: tc.host}.vm(vc)
			n := identity{name: "node-1", label: tc.label}
			if tc.assigned {
				n.assigned = assignment{at: v.location(), sure: tc.sure}
			}
			if got := n.proof(v); got != tc.want {
				t.Errorf("%s: %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
