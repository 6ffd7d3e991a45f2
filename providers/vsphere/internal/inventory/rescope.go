package inventory

// updateScope decides for the VMs that changes concern whether they count: those
// that moved, and those below an ancestor that did.
func (s *state) updateScope(e *changeSet) {
	if e.rescope {
		before := s.scope
		s.scope = s.tree.scope(s.datacenters)
		if !s.scope.equal(before) {
			e.moved = append(e.moved, s.between(before, s.scope)...)
		}
	}
	for _, rec := range e.vms {
		s.updateVMScope(rec)
	}
	if len(e.moved) == 0 {
		return
	}
	visited := map[*ancestor]bool{}
	for _, p := range e.moved {
		s.updateScopeBelow(p, visited)
	}
}

// between lists the datacenters that are in one scope and not in the other.
func (s *state) between(a, b scope) []*ancestor {
	if a.all && b.all {
		return nil // whichever there are, all VMs count
	}
	var found []*ancestor
	for dc := range s.tree.datacenters {
		if a.contains(dc) != b.contains(dc) {
			found = append(found, dc)
		}
	}
	for r := range a.in {
		if p, ok := s.tree.ancestors[r]; ok && !p.known {
			found = append(found, p)
		}
	}

	return found
}

func (s *state) updateScopeBelow(p *ancestor, visited map[*ancestor]bool) {
	if visited[p] {
		return
	}
	visited[p] = true
	for _, rec := range p.vms {
		s.updateVMScope(rec)
	}
	for _, below := range p.below {
		s.updateScopeBelow(below, visited)
	}
}

func (s *state) updateVMScope(rec *record) {
	s.scopeUpdates++
	rec.datacenter = datacenterOf(&rec.reported)
	rec.scopeKnown = s.scope.all || rec.datacenter != nil
	rec.inScope = s.scope.contains(rec.datacenter)
	rec.wasInScope = rec.wasInScope || rec.inScope
}
