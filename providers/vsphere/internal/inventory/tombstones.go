package inventory

import "time"

// maxTombstones is how many VMs have a tombstone after they left.
const maxTombstones = 1 << 14

// tombstone records that a VM once was the one with a UUID, and when that
// ended.
type tombstone struct {
	ref Ref
	at  uint64 // the change that ended it
	// when is the time of that change.
	when time.Time
}

// tombstones are the VMs that once had a UUID. The oldest are dropped first.
type tombstones struct {
	limit  int
	byUUID map[string][]tombstone
	order  []string // the UUID of each entry, oldest first
}

func newTombstones(limit int) *tombstones {
	return &tombstones{limit: limit, byUUID: map[string][]tombstone{}}
}

// add records that a VM stopped being the one with this UUID.
func (m *tombstones) add(uuid string, d tombstone) {
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
		m.dropOldest()
	}
}

func (m *tombstones) dropOldest() {
	uuid := m.order[0]
	m.order = m.order[1:]
	if rest := m.byUUID[uuid][1:]; len(rest) > 0 {
		m.byUUID[uuid] = rest
	} else {
		delete(m.byUUID, uuid)
	}
}

// of lists the VMs that once had the UUID.
func (m *tombstones) of(uuid string) []tombstone { return m.byUUID[uuid] }
