package vsphere

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// churn changes VMs until end, and waits until they have ended. None
// of it excuses the provider from anything.
func (s *soak) churn(random *rand.Rand, end time.Time) {
	happenings := []func(*rand.Rand){
		s.replaceForeign, s.churnForeign, s.changeAddresses, s.migrate, s.renameZone, s.switchOff,
		s.destroyOrCreate, s.destroyOrCreate, s.reregister, s.clone, s.joinClone, s.disconnectHost, s.removeHost,
	}
	for n := uint64(0); time.Now().Before(end); n++ {
		happen := happenings[random.IntN(len(happenings))]
		own := rand.New(rand.NewPCG(random.Uint64(), n))
		s.events.Go(func() { happen(own) })
		time.Sleep(between(random, time.Second, s.size.churn))
	}
}

// between returns a time within bounds.
func between(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(most-least)))
}

// must reports a change that the simulated vCenter rejected.
func (s *soak) must(err error) {
	if err != nil {
		s.fail("%v", err)
	}
}

// replaceForeign destroys a VM that is no Node and makes another one.
func (s *soak) replaceForeign(random *rand.Rand) {
	i := random.IntN(len(s.foreign))
	vm, err := s.vc.AddVM("dc", sim.VMSpec{Name: fmt.Sprintf("other-%d", random.Uint32()), Pool: "foreign"})
	s.must(err)
	s.mu.Lock()
	old := s.foreign[i]
	s.foreign[i] = vm
	s.mu.Unlock()
	s.must(old.Destroy())
}

// churnForeign changes VMs that are no Nodes for some seconds: addresses, which
// the provider does not follow, names and power.
func (s *soak) churnForeign(random *rand.Rand) {
	s.note("VMs that are no Nodes change")
	for range 100 {
		s.mu.Lock()
		vm := s.foreign[random.IntN(len(s.foreign))]
		s.mu.Unlock()
		changes := []func() error{
			func() error {
				return vm.SetNICs(sim.NIC{IPs: []string{"192.0.2.1"}}, sim.NIC{IPs: []string{"192.0.2.2"}})
			},
			func() error { return vm.SetHostname(fmt.Sprintf("host-%d", random.Uint32())) },
			vm.PowerOff, vm.PowerOn,
		}
		_ = changes[random.IntN(len(changes))]() // it may have been destroyed meanwhile
		time.Sleep(50 * time.Millisecond)
	}
}

// changeAddresses changes the address of a Node, several times in a few seconds.
func (s *soak) changeAddresses(random *rand.Rand) {
	m := s.take(random, func(m *member) bool { return living(m) && m.ready() })
	if m == nil {
		return
	}
	defer s.release(m)
	for range 1 + random.IntN(3) {
		s.mu.Lock()
		s.created++ // for an address of its own
		ip := addressOf(s.created)
		s.mu.Unlock()
		s.note("%s has %s instead of %s", m.name, ip, m.ip)
		s.must(m.vm.SetNICs(sim.NIC{IPs: []string{ip}}))
		s.set(m, func() { m.ip = ip })
		time.Sleep(time.Second)
	}
}

// migrate moves a Node to another host.
func (s *soak) migrate(random *rand.Rand) {
	m := s.take(random, func(m *member) bool { return !m.destroyed && m.connected && m.copies == 0 && m.absent.IsZero() })
	if m == nil {
		return
	}
	defer s.release(m)
	host := s.host(random, m.cluster)
	s.note("%s moves to %s", m.name, host)
	s.must(m.vm.Migrate(host))
	s.set(m, func() { m.host = host })
}

// renameZone changes the name of the zone of a cluster.
func (s *soak) renameZone(random *rand.Rand) {
	cluster := clusters[random.IntN(len(clusters))]
	name := fmt.Sprintf("zone-%s-%d", cluster, random.Uint32())
	s.mu.Lock()
	names := s.zones[cluster]
	old := names[len(names)-1].name
	s.zones[cluster] = append(names, zoneName{time.Now(), name})
	s.mu.Unlock()
	s.note("zone %s is now %s", old, name)
	s.must(s.vc.RenameTag(zoneCategory, old, name))
}

// switchOff switches a Node off, and on again later.
func (s *soak) switchOff(random *rand.Rand) {
	m := s.take(random, func(m *member) bool { return living(m) && m.ready() })
	if m == nil {
		return
	}
	defer s.release(m)
	s.power(m, true)
	time.Sleep(between(random, 20*time.Second, 4*time.Minute))
	s.power(m, false)
}

// power switches a Node off or on.
func (s *soak) power(m *member, off bool) {
	s.note("%s is off: %t", m.name, off)
	if off {
		s.must(m.vm.PowerOff())
	} else {
		s.must(m.vm.PowerOn())
	}
	s.set(m, func() { m.off = off })
}

// destroyOrCreate keeps the number of Nodes about the same.
func (s *soak) destroyOrCreate(random *rand.Rand) {
	s.mu.Lock()
	present := 0
	for _, m := range s.members {
		if !m.destroyed {
			present++
		}
	}
	s.mu.Unlock()
	if present < s.size.nodes {
		s.note("a Node joins")
		s.createNode(random)

		return
	}
	if m := s.take(random, living); m != nil { // and never released
		s.note("%s is destroyed", m.name)
		s.must(m.vm.Destroy())
		s.set(m, func() { m.destroyed, m.absent = true, time.Now() })
	}
}

// reregister removes a Node from the inventory and adds it again, as administrators
// do to repair a VM.
func (s *soak) reregister(random *rand.Rand) {
	m := s.take(random, func(m *member) bool { return living(m) && m.ready() })
	if m == nil {
		return
	}
	defer s.release(m)
	s.power(m, true)
	s.note("%s is unregistered", m.name)
	s.must(m.vm.Unregister())
	s.set(m, func() { m.absent = time.Now() })
	time.Sleep(between(random, time.Second, 55*time.Second))
	s.note("%s is registered", m.name)
	s.must(m.vm.Register())
	s.set(m, func() { m.absent = time.Time{} })
	s.power(m, false)
}

// clone restores a copy of a Node with the same UUID beside it, and removes one of
// the two.
func (s *soak) clone(random *rand.Rand) {
	m := s.take(random, func(m *member) bool { return living(m) && m.ready() })
	if m == nil {
		return
	}
	defer s.release(m)
	s.note("%s is cloned", m.name)
	made, err := m.vm.Clone(m.name + "-restored")
	s.must(err)
	s.set(m, func() { m.copies = 1 })
	time.Sleep(between(random, time.Second, 2*time.Minute))
	old, replaced := made, random.IntN(2) == 0
	if replaced {
		old = m.vm
		s.set(m, func() { m.vm = made })
	}
	s.note("%s is destroyed", old.Name())
	s.must(old.Destroy())
	s.set(m, func() { m.copies = 0 })
	if replaced {
		// A copy is the VM of the Node once it was found alone while it ran. Off
		// before that, it is a copy that was left behind: the Node is gone.
		s.waitUnaffected(m, updatePeriod+checkPeriod)
	}
}

// joinClone has a clone of a Node join as another Node for some minutes, with a host
// name and an address of its own but with the same UUID.
func (s *soak) joinClone(random *rand.Rand) {
	m := s.take(random, func(m *member) bool { return living(m) && m.ready() })
	if m == nil {
		return
	}
	defer s.release(m)
	s.mu.Lock()
	s.created++
	joins := &member{
		name: fmt.Sprintf("node-%05d", s.created), uuid: m.uuid, cluster: m.cluster, host: m.host, ip: addressOf(s.created),
		created: time.Now(), changed: time.Now(), tainted: true, busy: true, connected: true,
	}
	s.mu.Unlock()
	s.note("%s joins, a clone of %s", joins.name, m.name)
	made, err := m.vm.Clone(joins.name)
	s.must(err)
	joins.vm = made
	s.must(made.SetHostname(joins.name))
	s.must(made.SetNICs(sim.NIC{IPs: []string{joins.ip}}))
	s.register(joins)
	time.Sleep(between(random, time.Minute, 8*time.Minute))
	for s.tainted(joins) && s.running.Err() == nil {
		time.Sleep(time.Second)
	}
	s.note("%s is removed", joins.name)
	s.mu.Lock()
	delete(s.members, joins.name)
	joins.destroyed = true // what describes it now may find nothing
	err = s.nodes.Delete(joins.node)
	s.mu.Unlock()
	s.must(errors.Join(err, made.Destroy()))
}

// tainted reports whether a Node is not initialized.
func (s *soak) tainted(m *member) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return m.tainted
}

// disconnectHost takes a host out of the vCenter's sight, sometimes so that the
// configuration of its VMs cannot be read.
func (s *soak) disconnectHost(random *rand.Rand) {
	host, hide := hostName(clusters[random.IntN(len(clusters))], random.IntN(soakHosts)), random.IntN(2) == 0
	members := s.takeHost(host)
	defer s.release(members...)
	s.note("host %s is disconnected, its %d VMs are hidden: %t", host, len(members), hide)
	set := func(state types.VirtualMachineConnectionState) {
		for _, m := range members {
			if m.destroyed {
				continue
			}
			s.must(m.vm.SetConnectionState(state))
			s.must(m.vm.HideConfig(hide && state != types.VirtualMachineConnectionStateConnected))
			s.set(m, func() { m.connected = state == types.VirtualMachineConnectionStateConnected })
		}
	}
	if hide {
		s.hide(true)
	}
	set(types.VirtualMachineConnectionStateDisconnected)
	time.Sleep(between(random, 10*time.Second, 4*time.Minute))
	set(types.VirtualMachineConnectionStateConnected)
	if hide {
		s.hide(false)
	}
	s.note("host %s is connected", host)
}

// removeHost removes a host with its VMs from the inventory and adds it again.
func (s *soak) removeHost(random *rand.Rand) {
	host := hostName(clusters[random.IntN(len(clusters))], random.IntN(soakHosts))
	members := s.takeHost(host)
	if len(members) == 0 {
		return
	}
	defer s.release(members...)
	s.mu.Lock()
	s.removed.Insert(host)
	s.mu.Unlock()
	add, err := s.vc.RemoveHost(host)
	s.must(err)
	s.note("host %s is removed with %d VMs", host, len(members))
	for _, m := range members {
		s.set(m, func() { m.absent = time.Now() })
	}
	time.Sleep(between(random, time.Second, 55*time.Second))
	add()
	for _, m := range members {
		s.set(m, func() { m.absent = time.Time{} })
	}
	s.mu.Lock()
	s.removed.Delete(host)
	s.mu.Unlock()
	s.note("host %s is added again", host)
}
