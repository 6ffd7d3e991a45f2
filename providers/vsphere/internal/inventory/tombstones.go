package inventory

import "time"

// maxRemembered is how many VMs are remembered after they left.
const maxRemembered = 1 << 14

// departed says that a VM once was the one with a UUID, and when that ended.
type departed struct {
	ref Ref
	at  uint64 // the change that ended it
	// when is the time of that change.
	when time.Time
}

// memory knows which VMs once had a UUID. The oldest are forgotten first.
type memory struct {
	limit  int
	byUUID map[string][]departed
	order  []string // the UUID of each entry, oldest first
}

func newMemory(limit int) *memory {
	return &memory{limit: limit, byUUID: map[string][]departed{}}
}

// add notes that a VM stopped being the one with this UUID.
func (m *memory) add(uuid string, d departed) {
	if uuid == "" {
		return
	}
	entries := m.byUUID[uuid]
	for i := range entries {
		if entries[i].ref == d.ref {
			entries[i] = d

			return
		}
	}
	m.byUUID[uuid] = append(entries, d)
	m.order = append(m.order, uuid)
	if len(m.order) > m.limit {
		m.forgetOldest()
	}
}

func (m *memory) forgetOldest() {
	uuid := m.order[0]
	m.order = m.order[1:]
	if rest := m.byUUID[uuid][1:]; len(rest) > 0 {
		m.byUUID[uuid] = rest
	} else {
		delete(m.byUUID, uuid)
	}
}

// of lists the VMs that once had the UUID.
func (m *memory) of(uuid string) []departed { return m.byUUID[uuid] }
