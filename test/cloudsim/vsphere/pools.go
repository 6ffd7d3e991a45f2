package vsphere

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// pool is a resource pool or vApp.
type pool struct {
	entity  mo.Entity
	vms     *[]types.ManagedObjectReference
	compute *[]types.ManagedObjectReference // hosts
}

func (d *datacenter) addRootPool(parent mo.Entity, compute *mo.ComputeResource) *pool {
	entity := &simulator.ResourcePool{}
	ref := d.putPool(parent, &entity.ResourcePool, entity, "ResourcePool", rootPoolName)
	entity.Owner = parent.Entity().Self
	compute.ResourcePool = &ref

	return &pool{entity: entity, vms: &entity.Vm, compute: &compute.Host}
}

// addPools adds resource pools and vApps below a pool.
func (d *datacenter) addPools(path string, parent *pool, pools, vapps []PoolSpec) {
	above := poolOf(parent.entity)
	for _, spec := range pools {
		entity := &simulator.ResourcePool{}
		entity.Owner = above.Owner
		ref := d.putPool(parent.entity, &entity.ResourcePool, entity, "ResourcePool", spec.Name)
		above.ResourcePool = append(above.ResourcePool, ref)
		d.addPool(path, spec, &pool{entity: entity, vms: &entity.Vm, compute: parent.compute})
	}
	for _, spec := range vapps {
		entity := &simulator.VirtualApp{}
		entity.Owner = above.Owner
		entity.ParentFolder = &d.dc.VmFolder
		entity.VAppConfig = new(types.VAppConfigInfo)
		ref := d.putPool(parent.entity, &entity.ResourcePool, entity, "VirtualApp", spec.Name)
		above.ResourcePool = append(above.ResourcePool, ref)
		d.addPool(path, spec, &pool{entity: entity, vms: &entity.Vm, compute: parent.compute})
	}
}

func (d *datacenter) addPool(path string, spec PoolSpec, made *pool) {
	path += "/" + spec.Name
	d.pools[path] = made
	d.v.tags.attach(made.entity.Entity().Self, spec.Tags)
	d.addPools(path, made, spec.Pools, spec.VApps)
}

func (d *datacenter) putPool(parent mo.Entity, fields *mo.ResourcePool, entity mo.Entity, kind, name string) types.ManagedObjectReference {
	allocation := types.DefaultResourceConfigSpec()
	fields.Name = name
	fields.Summary = &types.ResourcePoolSummary{Name: name, Config: allocation}
	fields.Config = allocation

	return d.v.put(parent, entity, kind)
}

func poolOf(entity mo.Entity) *mo.ResourcePool {
	switch e := entity.(type) {
	case *simulator.ResourcePool:
		return &e.ResourcePool
	case *simulator.VirtualApp:
		return &e.ResourcePool
	}
	panic(fmt.Sprintf("%T is not a resource pool", entity))
}
