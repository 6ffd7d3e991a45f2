package vsphere

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// searchIndex finds VMs as a vCenter does: inside the given datacenter, UUIDs in
// any case. Host names match exactly. Searches for hosts find none.
type searchIndex struct {
	simulator.SearchIndex

	v *VCenter
}

// search returns the VMs that match, those created first in front.
func (s *searchIndex) search(dc *types.ManagedObjectReference, vmSearch bool, match func(*machine) bool) []types.ManagedObjectReference {
	var found []*machine
	for _, m := range s.v.vms {
		if vmSearch && (dc == nil || m.dc.dc.Self == *dc) && match(m) {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b *machine) int { return cmp.Compare(a.number, b.number) })
	var refs []types.ManagedObjectReference
	for _, m := range found {
		refs = append(refs, m.Self)
	}

	return refs
}

func byUUID(want string, instance *bool) func(*machine) bool {
	want = strings.ToLower(want) // as those of VMs are

	return func(m *machine) bool {
		if m.Config == nil {
			return false
		}
		if instance != nil && *instance {
			return m.Config.InstanceUuid == want
		}

		return m.Config.Uuid == want
	}
}

func first(refs []types.ManagedObjectReference) *types.ManagedObjectReference {
	if len(refs) == 0 {
		return nil
	}

	return &refs[0]
}

// FindByUuid implements the method of that name.
func (s *searchIndex) FindByUuid(_ *simulator.Context, req *types.FindByUuid) soap.HasFault { //nolint:revive // vcsim finds methods by the name in the API
	refs := s.search(req.Datacenter, req.VmSearch, byUUID(req.Uuid, req.InstanceUuid))

	return &methods.FindByUuidBody{Res: &types.FindByUuidResponse{Returnval: first(refs)}}
}

// FindAllByUuid implements the method of that name.
func (s *searchIndex) FindAllByUuid(_ *simulator.Context, req *types.FindAllByUuid) soap.HasFault { //nolint:revive // vcsim finds methods by the name in the API
	refs := s.search(req.Datacenter, req.VmSearch, byUUID(req.Uuid, req.InstanceUuid))

	return &methods.FindAllByUuidBody{Res: &types.FindAllByUuidResponse{Returnval: refs}}
}

// FindAllByDnsName implements the method of that name, by which the upstream controller finds VMs.
func (s *searchIndex) FindAllByDnsName(_ *simulator.Context, req *types.FindAllByDnsName) soap.HasFault { //nolint:revive // vcsim finds methods by the name in the API
	refs := s.search(req.Datacenter, req.VmSearch, func(m *machine) bool {
		return req.DnsName != "" && m.Guest.HostName == req.DnsName
	})

	return &methods.FindAllByDnsNameBody{Res: &types.FindAllByDnsNameResponse{Returnval: refs}}
}
