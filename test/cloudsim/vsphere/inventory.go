package vsphere

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	defaultNetwork = "VM Network"
	datastoreName  = "datastore1"
	rootPoolName   = "Resources"
	hostMemory     = 256 << 30
	hostCores      = 32
	hostMHz        = 2600
)

// datacenter stores where its objects are.
type datacenter struct {
	v         *VCenter
	name      string
	dc        *simulator.Datacenter
	hosts     []*host
	pools     map[string]*pool                        // by "cluster/pool/…"
	networks  map[string]types.ManagedObjectReference // by name
	datastore *simulator.Datastore
	placed    int // VMs placed in turn so far
}

// host and the compute resource it belongs to.
type host struct {
	*simulator.HostSystem

	root *pool
}

// build makes the inventory of the spec.
func (v *VCenter) build(spec VCenterSpec) error {
	v.tags.create(spec.Tags)
	for _, dc := range spec.Datacenters {
		if err := v.addDatacenter(dc); err != nil {
			return fmt.Errorf("datacenter %q: %w", dc.Name, err)
		}
	}

	return nil
}

func (v *VCenter) addDatacenter(spec DatacenterSpec) error {
	root := v.registry.Get(v.registry.Get(serviceInstance).(*simulator.ServiceInstance).Content.RootFolder).(*simulator.Folder)
	parent, err := v.makeFolders(root, spec.Folder)
	if err != nil {
		return err
	}
	d := &datacenter{
		v:        v,
		name:     spec.Name,
		dc:       simulator.NewDatacenter(v.context, &parent.Folder),
		pools:    make(map[string]*pool),
		networks: make(map[string]types.ManagedObjectReference),
	}
	d.dc.Name = spec.Name
	v.dcs = append(v.dcs, d)
	v.tags.attach(d.dc.Self, spec.Tags)
	for _, ref := range d.dc.Network {
		d.networks[v.registry.Get(ref).(*mo.Network).Name] = ref
	}
	d.addDatastore()
	d.addCompute(spec)
	for _, folder := range spec.Folders {
		made, err := v.makeFolders(d.vmFolder(), folder.Path)
		if err != nil {
			return err
		}
		v.tags.attach(made.Self, folder.Tags)
	}
	for i := range spec.VMs {
		if _, err := d.addVM(spec.VMs[i]); err != nil {
			return err
		}
	}

	return nil
}

func (d *datacenter) vmFolder() *simulator.Folder {
	return d.v.registry.Get(d.dc.VmFolder).(*simulator.Folder)
}

// makeFolders returns the folder at path below parent, making what is missing.
func (v *VCenter) makeFolders(parent *simulator.Folder, path string) (*simulator.Folder, error) {
	for name := range strings.SplitSeq(path, "/") {
		if name == "" {
			continue
		}
		if child, ok := v.registry.FindByName(name, parent.ChildEntity).(*simulator.Folder); ok {
			parent = child

			continue
		}
		body := parent.CreateFolder(v.context, &types.CreateFolder{This: parent.Self, Name: name})
		made, ok := body.(*methods.CreateFolderBody)
		if !ok || made.Res == nil {
			return nil, fmt.Errorf("create folder %q of %q: %s", name, path, body.Fault().String)
		}
		parent = v.registry.Get(made.Res.Returnval).(*simulator.Folder)
	}

	return parent, nil
}

// put adds an object to the inventory under parent and sets its reference.
func (v *VCenter) put(parent, child mo.Entity, kind string) types.ManagedObjectReference {
	child.Entity().Self.Type = kind
	v.registry.NewEntity(child)
	if m, ok := child.(*machine); ok && m.reference != "" {
		m.Self.Value, m.reference = m.reference, ""
	}
	v.registry.PutEntity(parent, child)

	return child.Entity().Self
}

// putInFolder adds an object to a folder.
func (v *VCenter) putInFolder(parent types.ManagedObjectReference, child mo.Entity, kind string) types.ManagedObjectReference {
	folder := v.registry.Get(parent).(*simulator.Folder)
	ref := v.put(folder, child, kind)
	folder.ChildEntity = append(folder.ChildEntity, ref)
	v.feed.touch(true, folder.Self)

	return ref
}

func (d *datacenter) addDatastore() {
	url := fmt.Sprintf("ds:///vmfs/volumes/%s/", makeUUID("datastore", d.v.name, d.name))
	d.datastore = &simulator.Datastore{}
	d.datastore.Name = datastoreName
	d.datastore.Info = &types.LocalDatastoreInfo{DatastoreInfo: types.DatastoreInfo{Name: datastoreName, Url: url}}
	d.datastore.Summary = types.DatastoreSummary{Name: datastoreName, Url: url, Accessible: true, Type: "VMFS"}
	ref := d.v.putInFolder(d.dc.DatastoreFolder, d.datastore, "Datastore")
	d.datastore.Summary.Datastore = &ref
	d.dc.Datastore = append(d.dc.Datastore, ref)
}

// network returns the port group of that name, making it when it is missing.
func (d *datacenter) network(name string) types.ManagedObjectReference {
	if ref, ok := d.networks[name]; ok {
		return ref
	}
	network := &mo.Network{Name: name}
	network.ManagedEntity.Name = name
	ref := d.v.putInFolder(d.dc.NetworkFolder, network, "Network")
	network.Summary = &types.NetworkSummary{Network: &ref, Name: name, Accessible: true}
	d.dc.Network = append(d.dc.Network, ref)
	d.networks[name] = ref
	for _, h := range d.hosts {
		h.Network = append(h.Network, ref)
	}

	return ref
}

func (d *datacenter) addCompute(spec DatacenterSpec) {
	if len(spec.Clusters) == 0 && len(spec.Hosts) == 0 {
		spec.Clusters = []ClusterSpec{{Name: spec.Name + "-cluster"}}
	}
	for _, cluster := range spec.Clusters {
		d.addCluster(cluster)
	}
	for _, h := range spec.Hosts {
		summary := new(types.ComputeResourceSummary)
		compute := &mo.ComputeResource{Summary: summary, ConfigurationEx: new(types.ComputeResourceConfigInfo)}
		compute.Name = h.Name
		d.v.putInFolder(d.dc.HostFolder, compute, "ComputeResource")
		root := d.addRootPool(compute, compute)
		d.pools[h.Name] = root
		d.addHost(compute, compute, summary, root, h)
	}
}

func (d *datacenter) addCluster(spec ClusterSpec) {
	summary := &types.ClusterComputeResourceSummary{UsageSummary: new(types.ClusterUsageSummary)}
	cluster := &simulator.ClusterComputeResource{}
	cluster.Name = spec.Name
	cluster.Summary = summary
	cluster.ConfigurationEx = new(types.ClusterConfigInfoEx)
	ref := d.v.putInFolder(d.dc.HostFolder, cluster, "ClusterComputeResource")
	d.v.tags.attach(ref, spec.Tags)
	root := d.addRootPool(cluster, &cluster.ComputeResource)
	d.pools[spec.Name] = root
	if len(spec.Hosts) == 0 {
		spec.Hosts = []HostSpec{{Name: spec.Name + "-host-1"}}
	}
	for _, h := range spec.Hosts {
		d.addHost(cluster, &cluster.ComputeResource, &summary.ComputeResourceSummary, root, h)
	}
	d.addPools(spec.Name, root, spec.Pools, spec.VApps)
}

func (d *datacenter) addHost(parent mo.Entity, compute *mo.ComputeResource, summary *types.ComputeResourceSummary, root *pool, spec HostSpec) {
	h := &simulator.HostSystem{}
	h.Name = spec.Name
	h.Runtime = types.HostRuntimeInfo{
		ConnectionState: types.HostSystemConnectionStateConnected,
		PowerState:      types.HostSystemPowerStatePoweredOn,
	}
	ref := d.v.put(parent, h, "HostSystem")
	h.Summary = types.HostListSummary{
		Host: &ref,
		Hardware: &types.HostHardwareSummary{
			Vendor: "Simulated", Model: "Host", Uuid: makeUUID("host", d.v.name, d.name, spec.Name),
			MemorySize: hostMemory, CpuModel: "Simulated CPU", CpuMhz: hostMHz,
			NumCpuPkgs: 2, NumCpuCores: hostCores, NumCpuThreads: 2 * hostCores,
		},
		Runtime:       &h.Runtime,
		Config:        types.HostConfigSummary{Name: spec.Name, Port: 902},
		OverallStatus: types.ManagedEntityStatusGreen,
	}
	h.Datastore = []types.ManagedObjectReference{d.datastore.Self}
	h.Network = slices.Clone(d.dc.Network)
	compute.Host = append(compute.Host, ref)
	compute.Datastore, compute.Network = h.Datastore, h.Network
	summary.NumHosts++
	summary.NumEffectiveHosts++
	summary.NumCpuCores += hostCores
	summary.NumCpuThreads += 2 * hostCores
	summary.TotalCpu += hostCores * hostMHz
	summary.TotalMemory += hostMemory
	summary.OverallStatus = types.ManagedEntityStatusGreen
	d.hosts = append(d.hosts, &host{h, root})
	d.v.tags.attach(ref, spec.Tags)
}

// place returns where a VM goes.
func (d *datacenter) place(spec VMSpec) (*host, *pool, error) {
	candidates := d.hosts
	var in *pool
	if spec.Pool != "" {
		path := strings.Trim(spec.Pool, "/")
		if in = d.pools[path]; in == nil {
			return nil, nil, fmt.Errorf("no pool %q", spec.Pool)
		}
		candidates = slices.DeleteFunc(slices.Clone(candidates), func(h *host) bool { return !slices.Contains(*in.compute, h.Self) })
	}
	if spec.Host != "" {
		i := slices.IndexFunc(candidates, func(h *host) bool { return h.Name == spec.Host })
		if i < 0 {
			return nil, nil, fmt.Errorf("no host %q for pool %q", spec.Host, cmp.Or(spec.Pool, "any"))
		}
		candidates = candidates[i : i+1]
	}
	chosen := candidates[d.placed%len(candidates)]
	d.placed++
	if in == nil {
		in = chosen.root
	}

	return chosen, in, nil
}
