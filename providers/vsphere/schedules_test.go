package vsphere

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/schedules"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// TestSchedules (FW-NODE-1, FW-NODE-2, FW-NODE-6, FW-NODE-15, FW-NODE-16, VS-NODE-9): while the vCenter fails in every
// way, and VMs leave its inventory and come back, no Node of an existing VM is deleted, and those of others are soon
// after it works again. With a source that proves nothing, wrong ones are deleted, and the limit makes them fewer.
func TestSchedules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		trusting         bool
		text             string
		race, short, all int
	}{
		"proven":           {race: 1, short: 2, all: schedules.Group},
		"trusting":         {trusting: true, text: "[NodeDeletion]\nlimit = 0\n", race: 1, short: 1, all: 5},
		"trusting limited": {trusting: true, race: 1, short: 1, all: 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := &schedules.Report{Trusting: tc.trusting, Limited: tc.text == ""}
			t.Cleanup(func() { report.Print(t) })
			schedules.Groups(t, profile.Of(1, schedules.AllGroups, schedules.AllGroups), profile.Of(tc.race, tc.short, tc.all), func(t *testing.T, first, end int) {
				for seed := first; seed < end; seed++ {
					newScheduled(t, tc.text, tc.trusting).Run(t, seed, report)
				}
			})
		})
	}
}

// lastingAbsence is how long a VM leaves the inventory at most, which is shorter than for how long it must be
// missing.
const lastingAbsence = absence - 5*time.Second

// newScheduled makes a process whose cluster has the VMs of a new vCenter as Nodes.
func newScheduled(t *testing.T, text string, trusting bool) schedules.Cluster {
	t.Helper()
	s := newSoak(t, soakSize{page: 100 * time.Millisecond, config: text}, 0)
	var vms []*sim.VM
	var nodes []*v1.Node
	var hosts []string
	for i := range schedules.Nodes {
		hosts = append(hosts, hostName(clusters[i%2], i/2%soakHosts))
		vm, err := s.vc.AddVM("dc", sim.VMSpec{
			Name: fmt.Sprintf("node-%d", i), Host: hosts[i], NICs: []sim.NIC{{IPs: []string{addressOf(i)}}},
			UUID: fmt.Sprintf("%08x-0000-4000-8000-42d0c0ffee00", i),
		})
		s.must(err)
		node := kubetest.Node(vm.Name(), kubetest.ProviderID(id(vm)), kubetest.SystemUUID(vm.UUID()), kubetest.CreatedAt(time.Now().Add(-time.Hour)))
		s.list(node)
		vms, nodes = append(vms, vm), append(nodes, node)
	}
	s.start()
	c := s.process()
	for s.current() != nil {
		time.Sleep(time.Second)
	}
	if trusting {
		c.instances = instance.New(schedules.Trusting{Source: c.source}, instance.Options{
			Provider: ProviderName, DeletionLimit: c.config.deletionLimit, Nodes: c.source.Nodes,
		})
	}

	return schedules.Cluster{
		Nodes: nodes, Instances: c.instances, Fault: s.scheduledFault,
		Delete: func(i int) bool {
			if s.isRemoved(hosts[i]) {
				return false
			}
			s.must(vms[i].Destroy())

			return true
		},
		Remove: func(i int) { s.must(s.nodes.Delete(nodes[i])) },
		Close: func() {
			for _, d := range c.instances.Decisions() {
				if len(d.Reports) == 0 || !trusting && !strings.HasPrefix(d.Reports[0].Place, "vCenter ") {
					t.Errorf("who said that the VM is gone is not known: %+v", d)
				}
			}
			time.Sleep(lastingAbsence)
			s.stop()
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if err := c.Close(ctx); err != nil {
				t.Error(err)
			}
			s.events.Wait()
			if err := s.closeFleet(); err != nil {
				t.Error(err)
			}
		},
	}
}

// scheduledFault begins a fault of the vCenter, or of a part of its inventory.
func (s *soak) scheduledFault(random *rand.Rand) (what string, end func()) {
	faults := []struct {
		what  string
		begin func(*rand.Rand) (undo func())
	}{
		{"hangs", s.hang},
		{"calls are dropped", s.dropCalls},
		{"responses are cut", s.cutResponses},
		{"all sessions end", s.endSessions},
		{"idle connections are cut", s.cutIdle},
		{"the network is away", s.cutNetwork},
		{"slow", s.slow},
		{"a host is removed", s.takeHostAway},
		{"a host is removed", s.takeHostAway},
	}
	f := faults[random.IntN(len(faults))]

	return f.what, f.begin(random)
}

// isRemoved reports whether a host is not in the inventory.
func (s *soak) isRemoved(host string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.removed.Has(host)
}

// takeHostAway removes a host with its VMs from the inventory for less than a minute.
func (s *soak) takeHostAway(random *rand.Rand) func() {
	host := hostName(clusters[random.IntN(len(clusters))], random.IntN(soakHosts))
	s.mu.Lock()
	removed := s.removed.Has(host)
	s.removed.Insert(host)
	s.mu.Unlock()
	if removed {
		return func() {}
	}
	add, err := s.vc.RemoveHost(host)
	s.must(err)
	back := sync.OnceFunc(func() {
		add()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.removed.Delete(host)
	})
	time.AfterFunc(lastingAbsence, back)

	return back
}
