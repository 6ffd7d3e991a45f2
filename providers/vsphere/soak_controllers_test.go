package vsphere

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

const (
	// absence is how long a VM must have been absent for its Node to be deleted,
	// and deletion how long that may take.
	absence, deletion = time.Minute, 90 * time.Second
	// recovery is how long the provider may take to follow the changes after a
	// fault.
	recovery = 90 * time.Second
	// lostLogins is for how long logins may pause after a fault: a login whose
	// response was lost may have been rejected, and counts as such for that
	// long.
	lostLogins = 180 * time.Second
	// checkPeriod and updatePeriod are those of the controllers of Kubernetes.
	checkPeriod, updatePeriod = 5 * time.Second, 5 * time.Minute
	// seen is how long the provider may take to see a change.
	seen = 10 * time.Second
)

// tick calls do again and again until the controllers stop.
func (s *soak) tick(period time.Duration, do func()) {
	for {
		select {
		case <-s.running.Done():
			return
		case <-time.After(period):
			do()
		}
	}
}

// watchHealth observes each second whether the provider must work.
func (s *soak) watchHealth() {
	late := false
	s.tick(time.Second, func() {
		err := s.current()
		s.mu.Lock()
		defer s.mu.Unlock()
		f, now := &s.faults, time.Now()
		switch {
		case f.present:
			late = false
		case f.unread:
			f.healthy = time.Time{}
		case err != nil:
			f.healthy = time.Time{}
			if now.Sub(f.ended) > recovery && now.Sub(s.began) > recovery && !late && !s.loginsPause(err) {
				late = true
				s.failed("changes are not followed again: %v", err)
			}
		case f.healthy.IsZero():
			f.healthy, late = now, false
		}
		if !f.present && !f.rest && f.restHealthy.IsZero() {
			f.restHealthy = now
		}
		if f.present || f.rest {
			f.restHealthy = time.Time{}
		}
	})
}

// current returns an error if the provider does not follow the changes.
func (s *soak) current() error {
	vcenters, err := s.process().current()
	if err != nil {
		return err
	}

	return vcenters[0].Inventory.Current()
}

// loginsPause reports whether an error of the provider is a login that has to wait,
// because the last fault may have lost the responses to others. Callers hold the lock.
func (s *soak) loginsPause(err error) bool {
	return time.Since(s.faults.ended) < lostLogins+recovery && err != nil &&
		strings.Contains(err.Error(), "not tried again before")
}

// unaffected reports whether nothing excuses the provider for a time after a Node has
// changed. Callers hold the lock.
func (s *soak) unaffected(m *member, d time.Duration) bool {
	healthy := s.faults.healthy

	return !healthy.IsZero() && time.Since(healthy) > d && time.Since(m.changed) > d
}

// waitUnaffected waits until a Node was not affected by anything for so long.
func (s *soak) waitUnaffected(m *member, d time.Duration) {
	for {
		s.mu.Lock()
		done := s.unaffected(m, d) || s.running.Err() != nil
		s.mu.Unlock()
		if done {
			return
		}
		time.Sleep(checkPeriod)
	}
}

// initialize is what the node controller does with a new Node.
func (s *soak) initialize(m *member) {
	for delay := 5 * time.Millisecond; s.running.Err() == nil; delay = min(2*delay, 5*time.Second) {
		metadata, err := s.process().instances.InstanceMetadata(s.running, m.node)
		s.mu.Lock()
		if err == nil && metadata.NodeAddresses != nil {
			s.initialized(m, metadata)
			s.mu.Unlock()

			return
		}
		rest := s.faults.restHealthy
		if s.unaffected(m, 10*time.Second) && !s.loginsPause(err) && !rest.IsZero() && time.Since(rest) > time.Minute && m.absent.IsZero() && m.connected {
			s.failed("%s is not initialized: %v", m.name, err)
			s.mu.Unlock()

			return
		}
		s.mu.Unlock()
		time.Sleep(delay)
	}
}

// initialized takes over what was found of a new Node.
func (s *soak) initialized(m *member, metadata *cloudprovider.InstanceMetadata) {
	const remembered = 11 * time.Minute
	var valid []string
	for i, z := range s.zones[m.cluster] {
		if next := i + 1; next == len(s.zones[m.cluster]) || time.Since(s.zones[m.cluster][next].since) < remembered {
			valid = append(valid, z.name)
		}
	}
	if !slices.Contains(valid, metadata.Zone) {
		s.failed("%s is in zone %q, want one of %v", m.name, metadata.Zone, valid)
	}
	s.checkAddresses(m, metadata.NodeAddresses)
	m.tainted = false
	m.node = kubetest.Node(m.name, kubetest.ProviderID("vsphere://"+m.uuid), kubetest.SystemUUID(m.uuid), kubetest.CreatedAt(m.created))
	maps.Copy(m.node.Labels, metadata.AdditionalLabels)
	s.totals.initialized++
	_ = s.nodes.Update(m.node) // fails for keys that cannot be made
}

// checkAddresses checks the addresses of a Node that did not change just now.
func (s *soak) checkAddresses(m *member, addresses []v1.NodeAddress) {
	internal := ""
	for _, a := range addresses {
		if a.Type == v1.NodeInternalIP {
			internal = a.Address
		}
	}
	if internal != m.ip && time.Since(m.changed) > seen {
		s.failed("%s has the address %q, want %s", m.name, internal, m.ip)
	}
}

// present lists the Nodes that match.
func (s *soak) present(match func(*member) bool) []*member {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*member
	for _, name := range s.names() {
		if m := s.members[name]; match(m) {
			list = append(list, m)
		}
	}

	return list
}

// updateNodes describes all Nodes once in five minutes.
func (s *soak) updateNodes() {
	s.tick(updatePeriod, func() {
		var all sync.WaitGroup
		for _, m := range s.present(func(m *member) bool { return !m.tainted && !m.destroyed }) {
			s.mu.Lock()
			node := m.node
			s.mu.Unlock()
			all.Go(func() {
				metadata, err := s.process().instances.InstanceMetadata(s.running, node)
				s.mu.Lock()
				defer s.mu.Unlock()
				s.totals.metadata++
				switch {
				case !m.ready() || !s.unaffected(m, seen):
				case err != nil:
					s.failed("describe %s: %v", m.name, err)
				case metadata.ProviderID != "vsphere://"+m.uuid:
					s.failed("%s is %s", m.name, metadata.ProviderID)
				default:
					s.checkAddresses(m, metadata.NodeAddresses)
				}
			})
		}
		all.Wait()
	})
}

// checkNodes is what the node lifecycle controller does with Nodes that are not
// ready. Some that are ready pass for such.
func (s *soak) checkNodes() {
	random := s.random(1)
	s.tick(checkPeriod, func() {
		var all sync.WaitGroup
		for _, m := range s.present(func(m *member) bool { return !m.tainted && (!m.ready() || random.IntN(50) == 0) }) {
			all.Go(func() { s.checkNode(m) })
		}
		all.Wait()
		s.checkOverdue()
	})
}

// checkNode deletes a Node that does not exist, or finds out whether it is off.
func (s *soak) checkNode(m *member) {
	c := s.process()
	exists, err := c.instances.InstanceExists(s.running, m.node)
	s.mu.Lock()
	s.totals.exists++
	switch {
	case err != nil:
		if m.ready() && s.unaffected(m, seen) {
			s.failed("%s: %v", m.name, err)
		}
	case !exists:
		s.gone(m)
	}
	s.mu.Unlock()
	if err != nil || !exists {
		return
	}
	off, err := c.instances.InstanceShutdown(s.running, m.node)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case off && !m.off && time.Since(m.changed) > deletion:
		s.failed("%s is shut down", m.name)
	case !off && m.off && m.connected && m.absent.IsZero() && m.copies == 0 && s.unaffected(m, seen):
		s.failed("%s is not shut down: %v", m.name, err)
	}
}

// gone deletes a Node.
func (s *soak) gone(m *member) {
	since := time.Since(m.absent)
	switch {
	case m.absent.IsZero():
		s.failed("%s is gone, while its VM is there", m.name)
	case since < absence:
		s.failed("%s is gone after %s", m.name, since)
	case !s.faults.down.IsZero() && time.Since(s.faults.down) > 30*time.Second:
		s.failed("%s is gone, while the vCenter does not respond", m.name)
	}
	if !m.destroyed {
		return // or nothing would fit any more
	}
	if !s.faults.healthy.IsZero() && s.faults.healthy.Before(m.absent) {
		s.totals.slowest = max(s.totals.slowest, since)
	}
	s.totals.deleted++
	delete(s.members, m.name)
	_ = s.nodes.Delete(m.node) // fails for keys that cannot be made
}

// checkOverdue reports Nodes whose VM was destroyed long ago.
func (s *soak) checkOverdue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if m.destroyed && !m.absent.IsZero() && s.unaffected(m, deletion+checkPeriod) {
			s.failed("%s has not been deleted in %s", m.name, time.Since(m.absent))
			m.absent = time.Time{}
		}
	}
}
