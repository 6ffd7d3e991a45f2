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
// any case. Searches for hosts find none.
type searchIndex struct {
	simulator.SearchIndex

	v *VCenter
}

// search returns the VMs with a UUID, those created first in front.
func (s *searchIndex) search(dc *types.ManagedObjectReference, vmSearch bool, uuid string, instance *bool) []types.ManagedObjectReference {
	uuid = strings.ToLower(uuid) // as those of VMs are
	var found []*machine
	for _, m := range s.v.vms {
		if !vmSearch || m.Config == nil || dc != nil && m.dc.dc.Self != *dc {
			continue
		}
		has := m.Config.Uuid
		if instance != nil && *instance {
			has = m.Config.InstanceUuid
		}
		if has == uuid {
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

func first(refs []types.ManagedObjectReference) *types.ManagedObjectReference {
	if len(refs) == 0 {
		return nil
	}

	return &refs[0]
}

// FindByUuid implements the method of that name.
func (s *searchIndex) FindByUuid(_ *simulator.Context, req *types.FindByUuid) soap.HasFault { //nolint:revive // vcsim finds methods by the name in the API
	refs := s.search(req.Datacenter, req.VmSearch, req.Uuid, req.InstanceUuid)

	return &methods.FindByUuidBody{Res: &types.FindByUuidResponse{Returnval: first(refs)}}
}

// FindAllByUuid implements the method of that name.
func (s *searchIndex) FindAllByUuid(_ *simulator.Context, req *types.FindAllByUuid) soap.HasFault { //nolint:revive // vcsim finds methods by the name in the API
	refs := s.search(req.Datacenter, req.VmSearch, req.Uuid, req.InstanceUuid)

	return &methods.FindAllByUuidBody{Res: &types.FindAllByUuidResponse{Returnval: refs}}
}
