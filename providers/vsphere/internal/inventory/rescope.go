package inventory

// settle decides for the VMs that changes concern whether they count: those that
// moved, and those that stand below a place that did.
func (s *state) settle(e *effect) {
	if e.rescope {
		before := s.scope
		s.scope = s.tree.scope(s.datacenters)
		if !s.scope.equal(before) {
			e.moved = append(e.moved, s.between(before, s.scope)...)
		}
	}
	for _, rec := range e.vms {
		s.settleVM(rec)
	}
	if len(e.moved) == 0 {
		return
	}
	visited := map[*place]bool{}
	for _, p := range e.moved {
		s.settleBelow(p, visited)
	}
}

// between lists the datacenters that are in one scope and not in the other.
func (s *state) between(a, b scope) []*place {
	if a.all && b.all {
		return nil // whichever there are, all VMs count
	}
	var found []*place
	for dc := range s.tree.datacenters {
		if a.contains(dc) != b.contains(dc) {
			found = append(found, dc)
		}
	}
	for r := range a.in {
		if p, ok := s.tree.places[r]; ok && !p.known {
			found = append(found, p)
		}
	}

	return found
}

func (s *state) settleBelow(p *place, visited map[*place]bool) {
	if visited[p] {
		return
	}
	visited[p] = true
	for _, rec := range p.vms {
		s.settleVM(rec)
	}
	for _, below := range p.below {
		s.settleBelow(below, visited)
	}
}

func (s *state) settleVM(rec *record) {
	s.settled++
	rec.datacenter = datacenterOf(&rec.reported)
	rec.placed = s.scope.all || rec.datacenter != nil
	rec.inScope = s.scope.contains(rec.datacenter)
	rec.wasInScope = rec.wasInScope || rec.inScope
}
