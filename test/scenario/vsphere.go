package scenario

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

func vsphereProvider() Provider {
	return Provider{
		Name: "vsphere",
		Demo: func() (Cloud, error) { return startVSphere(vsphereDemo(), "SMALL", 0) },
		// Of the sizes of a load balancer service, DLB alone has no limit of members in the
		// simulation: LARGE has 7,500, which all nodes behind all Services exceed.
		Fleet: func(n int, latency time.Duration) (Cloud, error) {
			return startVSphere(vsphereFleet(n), "DLB", latency)
		},
		// 5 of Steady are for the details of 5000 VMs; so are 10 of Initialize, with smaller reads
		// before, and 4 are for a Node that does not wait until the inventory has been read.
		// A manager is sent at most 20 calls a second: 100 Services take 12 each.
		Budget:        Budget{Initialize: 30, Steady: 10, Lifecycle: 1, Services: 120 * time.Second},
		LoadBalancers: []LoadBalancer{{Name: "nsx-t", Create: 14}},
	}
}

const (
	zoneCategory   = "k8s-zone"
	regionCategory = "k8s-region"
)

// site is a cluster, which is a zone, in a datacenter, which is a region.
type site struct {
	datacenter, region, cluster, zone string
}

// sites are two datacenters with three zones.
func sites() []site {
	return []site{
		{datacenter: "frankfurt", region: "eu", cluster: "frankfurt-1", zone: "eu-1"},
		{datacenter: "frankfurt", region: "eu", cluster: "frankfurt-2", zone: "eu-2"},
		{datacenter: "dallas", region: "us", cluster: "dallas-1", zone: "us-1"},
	}
}

// vsphereDemo lists the VMs of each site.
func vsphereDemo() [][]vsphere.VMSpec {
	vm := func(name, ip string, cpus, gigabytes int, guest string) vsphere.VMSpec {
		return vsphere.VMSpec{
			Name: name, CPUs: cpus, MemoryMB: gigabytes << 10, Guest: guest,
			NICs: []vsphere.NIC{{IPs: []string{ip}}},
		}
	}

	return [][]vsphere.VMSpec{
		{vm("control-1", "10.10.1.11", 2, 4, "ubuntu64Guest"), vm("worker-1", "10.10.1.21", 4, 16, "ubuntu64Guest")},
		{vm("worker-2", "10.10.2.22", 4, 16, "vmwarePhoton64Guest")},
		{vm("worker-3", "10.20.1.23", 8, 32, "rhel9_64Guest"), vm("worker-4", "10.20.1.24", 8, 32, "rhel9_64Guest")},
	}
}

// vsphereFleet spreads n VMs over the sites.
func vsphereFleet(n int) [][]vsphere.VMSpec {
	bySite := make([][]vsphere.VMSpec, len(sites()))
	for i, vm := range vsphere.Fleet("node", n) {
		bySite[i%len(bySite)] = append(bySite[i%len(bySite)], vm)
	}

	return bySite
}

// vsphereCloud is one simulated vCenter, and a simulated NSX-T manager.
type vsphereCloud struct {
	cloud    *vsphere.Cloud
	vcenter  *vsphere.VCenter
	manager  *nsxt.Cloud
	folder   string
	size     string // of the load balancer service
	machines []Machine
	replaced int
}

var (
	_ ServiceCloud = (*vsphereCloud)(nil)
	_ Shared       = (*vsphereCloud)(nil)
)

func startVSphere(vms [][]vsphere.VMSpec, size string, latency time.Duration) (Cloud, error) {
	spec := vsphere.VCenterSpec{
		Name: "vcenter", User: "demo@vsphere.local", Password: "only-a-demo",
		Datacenters: datacenters(vms),
	}
	cloud, err := vsphere.Start(vsphere.Spec{VCenters: []vsphere.VCenterSpec{spec}})
	if err != nil {
		return nil, fmt.Errorf("start simulated vCenter: %w", err)
	}
	c := &vsphereCloud{cloud: cloud, vcenter: cloud.VCenters()[0], size: size}
	if err := c.startManager(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.vcenter.SetLatency(latency)
	c.manager.Interceptor().SetLatency(latency)
	c.machines = c.list(vms)

	return c, nil
}

// startManager starts a manager with a tier-1 gateway and a pool of addresses.
func (c *vsphereCloud) startManager() (err error) {
	c.manager, err = nsxt.Start(nsxt.Spec{
		// How long a deleted object keeps what it refers to is not documented: not at all.
		DeletionTime: -1,
		Tier1s:       []nsxt.Tier1{{ID: "k8s", EdgeCluster: true}},
		Pools:        []nsxt.Pool{{ID: "public", Ranges: []string{"203.0.113.1-203.0.113.254", "198.51.100.1-198.51.100.254"}}},
	})
	if err != nil {
		return fmt.Errorf("start simulated NSX-T manager: %w", err)
	}
	if c.folder, err = os.MkdirTemp("", "nsxt-"); err != nil {
		return err
	}

	return os.WriteFile(c.certificate(), c.manager.CertificatePEM(), 0o600)
}

func (c *vsphereCloud) certificate() string { return filepath.Join(c.folder, "ca.pem") }

func datacenters(vms [][]vsphere.VMSpec) []vsphere.DatacenterSpec {
	var list []vsphere.DatacenterSpec
	for i, s := range sites() {
		if len(list) == 0 || list[len(list)-1].Name != s.datacenter {
			list = append(list, vsphere.DatacenterSpec{Name: s.datacenter, Tags: vsphere.Tags{regionCategory: {s.region}}})
		}
		dc := &list[len(list)-1]
		dc.Clusters = append(dc.Clusters, vsphere.ClusterSpec{Name: s.cluster, Tags: vsphere.Tags{zoneCategory: {s.zone}}})
		for _, vm := range vms[i] {
			vm.Pool = s.cluster
			dc.VMs = append(dc.VMs, vm)
		}
	}

	return list
}

func (c *vsphereCloud) list(vms [][]vsphere.VMSpec) []Machine {
	uuids := map[string]string{}
	for _, vm := range c.vcenter.VMs() {
		uuids[vm.Name()] = vm.UUID()
	}
	var machines []Machine
	for i, s := range sites() {
		for _, vm := range vms[i] {
			machines = append(machines, s.machine(vm.Name, uuids[vm.Name], vm.NICs[0].IPs[0]))
		}
	}

	return machines
}

// machine is what the node of a VM there is to have.
func (s site) machine(name, uuid, ip string) Machine {
	return Machine{
		Node:       controlplane.NodeSpec{Name: name, SystemUUID: firmwareUUID(uuid)},
		ProviderID: "vsphere://" + uuid,
		Zone:       s.zone,
		Region:     s.region,
		Address:    ip,
	}
}

// firmwareUUID is what the firmware shows of a VM's UUID to its guest: the
// first three fields are the other way round.
func firmwareUUID(u string) string {
	return u[6:8] + u[4:6] + u[2:4] + u[0:2] + "-" + u[11:13] + u[9:11] + "-" + u[16:18] + u[14:16] + u[18:]
}

func (c *vsphereCloud) Description() string {
	dcs, zones := map[string]bool{}, map[string]bool{}
	for _, s := range sites() {
		dcs[s.datacenter], zones[s.zone] = true, true
	}

	return fmt.Sprintf("vCenter at %s with %d datacenters, %d zones set by tags, %d VMs; NSX-T manager at %s with a tier-1 gateway",
		c.vcenter.Address(), len(dcs), len(zones), len(c.machines), c.manager.Host())
}

func (c *vsphereCloud) Config() string {
	host, port, err := net.SplitHostPort(c.vcenter.Address())
	if err != nil {
		panic(err) // it listens there
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[Global]\nprovider = vsphere\n\n")
	fmt.Fprintf(&b, "[VirtualCenter %q]\nport = %s\nuser = %q\npassword = %q\nca-file = %q\n\n",
		host, port, c.vcenter.User(), c.vcenter.Password(), c.vcenter.CAFile())
	fmt.Fprintf(&b, "[Labels]\nzone = %s\nregion = %s\n\n", zoneCategory, regionCategory)
	fmt.Fprintf(&b, "[LoadBalancer]\nsize = %s\n", c.size)
	b.WriteString("tier1-gateway-path = /infra/tier-1s/k8s\nip-pool-name = public\n")
	b.WriteString("tcp-app-profile-name = default-tcp-lb-app-profile\nudp-app-profile-name = default-udp-lb-app-profile\n\n")
	fmt.Fprintf(&b, "[NSXT]\nhost = %s\nuser = admin\npassword = secret\nca-file = %q\n", c.manager.Host(), c.certificate())

	return b.String()
}

// Environment is empty: a cloud-config is enough.
func (c *vsphereCloud) Environment() []string { return nil }

func (c *vsphereCloud) Machines() []Machine { return c.machines }

// AddForeign implements Shared with VMs in the same clusters.
func (c *vsphereCloud) AddForeign(n int) error {
	for i, vm := range vsphere.Fleet("foreign", n) {
		s := sites()[i%len(sites())]
		vm.Pool = s.cluster
		if _, err := c.vcenter.AddVM(s.datacenter, vm); err != nil {
			return err
		}
	}

	return nil
}

// Replace adds VMs with the addresses of those that are deleted.
func (c *vsphereCloud) Replace(n int) (deleted, added []Machine, err error) {
	deleted, c.machines = c.machines[:n:n], slices.Clone(c.machines[n:])
	for _, m := range deleted {
		if err := c.vcenter.VM(m.Node.Name).Destroy(); err != nil {
			return nil, nil, err
		}
		c.replaced++
		at := sites()[slices.IndexFunc(sites(), func(s site) bool { return s.zone == m.Zone })]
		vm, err := c.vcenter.AddVM(at.datacenter, vsphere.VMSpec{
			Name: fmt.Sprintf("new-%05d", c.replaced), Pool: at.cluster, NICs: []vsphere.NIC{{IPs: []string{m.Address}}},
		})
		if err != nil {
			return nil, nil, err
		}
		c.machines = append(c.machines, at.machine(vm.Name(), vm.UUID(), m.Address))
	}

	return deleted, c.machines[len(c.machines)-n:], nil
}

// Calls sets the long polls of the change feed apart.
func (c *vsphereCloud) Calls() Calls {
	const poll = "WaitForUpdatesEx"
	calls := Calls{Counted: c.vcenter.Calls(), Polls: map[string]int{}}
	if n, ok := calls.Counted[poll]; ok {
		calls.Polls[poll] = n
		delete(calls.Counted, poll)
	}
	maps.Copy(calls.Counted, c.manager.Interceptor().Calls())

	return calls
}

// Made implements ServiceCloud.
func (c *vsphereCloud) Made() []string { return c.manager.Leaks() }

// Writes implements ServiceCloud: nothing is written to vCenter.
func (c *vsphereCloud) Writes() Calls { return Calls{Counted: c.manager.Writes()} }

// SetProvisioning has the address of a load balancer realized after so long.
func (c *vsphereCloud) SetProvisioning(d time.Duration) {
	c.manager.SetRealizationTime("ip-allocations", d)
}

func (c *vsphereCloud) SetPower(name string, on bool) error {
	if on {
		return c.vcenter.VM(name).PowerOn()
	}

	return c.vcenter.VM(name).PowerOff()
}

func (c *vsphereCloud) SetReachable(reachable bool) error {
	if reachable {
		return errors.Join(c.vcenter.Up(), c.manager.Server().Up())
	}
	c.vcenter.Down()
	c.manager.Server().Down()

	return nil
}

// Close ends both.
func (c *vsphereCloud) Close() error {
	errs := []error{c.cloud.Close(), os.RemoveAll(c.folder)}
	if c.manager != nil {
		errs = append(errs, c.manager.Close())
	}

	return errors.Join(errs...)
}
