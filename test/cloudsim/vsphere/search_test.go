package vsphere

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	spec := large()
	spec.VCenters[0].Datacenters[1].VMs = []VMSpec{{
		Name: "copy", Hostname: "node.example", UUID: "56492e42-22ad-3911-6d72-59cc8f26bc90", NICs: []NIC{{IPs: []string{"10.0.0.1"}}},
	}}
	v := start(t, spec).VCenter("vc")
	index := object.NewSearchIndex(login(t, v).Client)
	dcA, dcB := object.NewDatacenter(nil, v.dcs[0].dc.Self), object.NewDatacenter(nil, v.dcs[1].dc.Self)
	ctx := t.Context()
	const uuid = "56492e42-22ad-3911-6d72-59cc8f26bc90"
	cases := map[string]struct {
		reason string
		find   func() (object.Reference, error)
		want   string
	}{
		"UUIDInDatacenter": {"the datacenter limits the search", func() (object.Reference, error) { return index.FindByUuid(ctx, dcB, uuid, true, nil) }, "copy"},
		"UUIDOfAnyCase":    {"UUIDs have no case", func() (object.Reference, error) { return index.FindByUuid(ctx, dcA, strings.ToUpper(uuid), true, nil) }, "node"},
		"UUIDAnywhere":     {"the first one made", func() (object.Reference, error) { return index.FindByUuid(ctx, nil, uuid, true, nil) }, "node"},
		"UUIDUnknown": {"nothing", func() (object.Reference, error) {
			return index.FindByUuid(ctx, nil, "00000000-0000-0000-0000-000000000000", true, nil)
		}, ""},
		"InstanceUUID":  {"not the BIOS UUID", func() (object.Reference, error) { return index.FindByUuid(ctx, nil, uuid, true, new(true)) }, ""},
		"Hosts":         {"none are found", func() (object.Reference, error) { return index.FindByUuid(ctx, nil, uuid, false, nil) }, ""},
		"DNSName":       {"of the datacenter", func() (object.Reference, error) { return index.FindByDnsName(ctx, dcB, "node.example", true) }, "copy"},
		"DNSNameOfCase": {"host names match exactly", func() (object.Reference, error) { return index.FindByDnsName(ctx, dcB, "Node.example", true) }, ""},
		"IP":            {"the VM's own address", func() (object.Reference, error) { return index.FindByIp(ctx, dcA, "10.0.0.1", true) }, "node"},
		"IPOfSecondNIC": {"other addresses are not indexed", func() (object.Reference, error) { return index.FindByIp(ctx, dcA, "172.17.0.1", true) }, ""},
		"Off":           {"a guest that is off has no name", func() (object.Reference, error) { return index.FindByDnsName(ctx, nil, "in-vapp", true) }, ""},
	}
	for name, tc := range cases {
		ref, err := tc.find()
		if err != nil {
			t.Errorf("%s: %v", name, err)

			continue
		}
		if (ref == nil) != (tc.want == "") || ref != nil && ref.Reference() != v.VM(tc.want).Reference() {
			t.Errorf("%s, %s: found %v, want %q", name, tc.reason, ref, tc.want)
		}
	}
	all, err := index.FindAllByDnsName(ctx, nil, "node.example", true)
	if err != nil || len(all) != 2 {
		t.Errorf("all of that name: %v, %v", all, err)
	}
	if all, err := index.FindAllByUuid(ctx, nil, uuid, true, nil); err != nil || len(all) != 2 {
		t.Errorf("all of that UUID: %v, %v", all, err)
	}
	if all, err := index.FindAllByIp(ctx, dcA, "10.0.0.1", true); err != nil || len(all) != 1 {
		t.Errorf("all of that address in one datacenter: %v, %v", all, err)
	}
	if err := v.VM("node").HideConfig(true); err != nil {
		t.Fatal(err)
	}
	if ref, err := index.FindByUuid(ctx, dcA, uuid, true, nil); ref != nil || err != nil {
		t.Errorf("a VM without a configuration: %v, %v", ref, err)
	}
}
