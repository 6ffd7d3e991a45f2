package vsphere

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// member is a Node and its VM, as they really are. It is guarded by soak.mu.
type member struct {
	name, uuid, cluster, host string

	node      *v1.Node
	vm        *sim.VM
	created   time.Time
	tainted   bool
	busy      bool // something happens to the VM that nothing else must join
	destroyed bool
	// absent is since when no VM has the UUID; zero while one has.
	absent time.Time
	// changed is when the VM last changed in a way that the provider must see.
	changed   time.Time
	off       bool
	copies    int    // other VMs of the same UUID
	connected bool   // the vCenter sees the host
	ip        string // as the guest reports it
}

// zoneName is a name that the zone of a cluster has had since a time.
type zoneName struct {
	since time.Time
	name  string
}

// createNode makes a VM whose kubelet registers a Node.
func (s *soak) createNode(random *rand.Rand) {
	s.mu.Lock()
	s.created++
	number := s.created
	s.mu.Unlock()
	m := &member{
		name: fmt.Sprintf("node-%05d", number), cluster: clusters[random.IntN(len(clusters))], tainted: true, connected: true,
		created: time.Now(), changed: time.Now(), ip: addressOf(number),
	}
	m.host = s.host(random, m.cluster)
	vm, err := s.vc.AddVM("dc", sim.VMSpec{
		Name: m.name, Host: m.host, NICs: []sim.NIC{{IPs: []string{m.ip}}}, UUID: fmt.Sprintf("%08x-0000-4000-8000-42d0c0ffee00", number),
	})
	if err != nil {
		s.fail("%v", err)

		return
	}
	m.vm, m.uuid = vm, vm.UUID()
	s.register(m)
}

// register adds a Node to the cluster.
func (s *soak) register(m *member) {
	// A Node that was added when the process started is older than one that
	// joins later, but none may be deleted in its first five minutes.
	m.node = kubetest.Node(m.name, kubetest.Tainted(), kubetest.SystemUUID(m.uuid), kubetest.CreatedAt(m.created))
	s.mu.Lock()
	s.members[m.name] = m
	s.mu.Unlock()
	s.list(m.node)
	s.control.Go(func() { s.initialize(m) })
}

// host chooses a host of a cluster that is in the inventory.
func (s *soak) host(random *rand.Rand, cluster string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := random.IntN(soakHosts)
	for i := range soakHosts {
		if host := hostName(cluster, (first+i)%soakHosts); !s.removed.Has(host) {
			return host
		}
	}
	s.failed("all hosts of cluster %s are removed", cluster)

	return hostName(cluster, first)
}

// addressOf is an address that one Node alone has had.
func addressOf(number int) string { return fmt.Sprintf("10.%d.%d.1", number>>8, number&0xff) }

// list tells the provider of a Node.
func (s *soak) list(node *v1.Node) {
	if err := s.nodes.Update(node); err != nil {
		s.fail("%v", err)
	}
}

// names lists the Nodes in order.
func (s *soak) names() []string {
	names := make([]string, 0, len(s.members))
	for name := range s.members {
		names = append(names, name)
	}
	slices.Sort(names)

	return names
}

// take chooses a Node that matches and of which nothing else happens, or none. It
// is the caller's until it is released.
func (s *soak) take(random *rand.Rand, match func(*member) bool) *member {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := s.names()
	for _, i := range random.Perm(len(names))[:min(len(names), 20)] {
		if m := s.members[names[i]]; !m.busy && match(m) {
			m.busy = true

			return m
		}
	}

	return nil
}

// takeHost chooses all Nodes of a host, or none if something happens to one.
func (s *soak) takeHost(host string) []*member {
	s.mu.Lock()
	defer s.mu.Unlock()
	var taken []*member
	for _, name := range s.names() {
		if m := s.members[name]; m.host == host {
			if m.busy {
				return nil
			}
			taken = append(taken, m)
		}
	}
	for _, m := range taken {
		m.busy = true
	}

	return taken
}

func (s *soak) release(members ...*member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range members {
		m.busy = false
	}
}

// set changes what is true of a Node.
func (s *soak) set(m *member, change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	m.changed = time.Now()
}

// living matches Nodes that have been there for some time.
func living(m *member) bool {
	return !m.tainted && !m.destroyed && time.Since(m.created) > 10*time.Minute
}

// ready reports whether the kubelet of a Node reports.
func (m *member) ready() bool {
	return !m.destroyed && !m.off && m.connected && m.absent.IsZero() && m.copies == 0
}
