package inventory

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	// memorySize bounds the answers that are kept one by one. Instances that
	// are listed do not count.
	memorySize = 1 << 14
	// interest is how long after its last question an instance counts as one
	// that will be asked for again.
	interest = 10 * time.Minute
	// muchUsed is how many answers a list gives while a pass over nodes goes on.
	muchUsed = 50
)

// answer is what EC2 said of one ID, nil for nothing, or of one name.
type answer struct {
	instance *Instance
	named    []*Instance
	// at is when EC2 was asked, asked when somebody last wanted to know.
	at, asked time.Time
}

// list is what EC2 said of the whole cluster, or the part of it that came before
// the list failed. Such a part has no names, as another instance of the same name
// may be missing in it.
type list struct {
	byID   map[string]*Instance
	byName map[string][]*Instance
	// complete is false if a part is missing.
	complete bool
	// begun is how old its instances may be, ended is when the last page came.
	begun, ended time.Time
	// served is how many questions it has answered.
	served int
}

// memory keeps answers. It is safe for concurrent use.
type memory struct {
	// maxAge and missingAge are the ages at which an instance, and that there
	// is none, are no longer answered.
	maxAge, missingAge time.Duration

	mu    sync.Mutex
	list  list
	ids   map[string]answer
	names map[string]answer
}

func newMemory(maxAge, missingAge time.Duration) *memory {
	return &memory{maxAge: maxAge, missingAge: missingAge, ids: map[string]answer{}, names: map[string]answer{}}
}

// fresh reports whether what was asked at a moment is young enough at another one.
func fresh(at, now time.Time, age time.Duration) bool { return !at.IsZero() && now.Sub(at) < age }

// listed reports whether the list is fresh, also if a part of it is missing.
func (m *memory) listed(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fresh(m.list.ended, now, m.maxAge)
}

// busy reports whether the list has just gone out of date and was much used: it
// will be again.
func (m *memory) busy(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.list.served > muchUsed && fresh(m.list.ended, now, 2*m.maxAge)
}

// lookUp gives an instance, nil if there is none, and whether that is known.
func (m *memory) lookUp(id string, now time.Time) (found *Instance, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, told := m.ids[id]
	if told {
		a.asked = now
		m.ids[id] = a
	}
	inList := m.list.byID[id]
	if inList != nil && fresh(m.list.ended, now, m.maxAge) && !a.at.After(m.list.begun) {
		m.list.served++
		return inList, true
	}
	return a.instance, told && fresh(a.at, now, m.ageOf(a.instance != nil))
}

// lookUpName gives the instances with a name, and whether they are known.
func (m *memory) lookUpName(name string, now time.Time) (found []*Instance, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, told := m.names[name]
	inList := m.list.byName[name]
	if len(inList) > 0 && fresh(m.list.ended, now, m.maxAge) && !a.at.After(m.list.begun) {
		m.list.served++
		return inList, true
	}
	return a.named, told && fresh(a.at, now, m.ageOf(len(a.named) > 0))
}

func (m *memory) ageOf(found bool) time.Duration {
	if found {
		return m.maxAge
	}
	return m.missingAge
}

// storeList replaces the list, which is complete or failed.
func (m *memory) storeList(instances []*Instance, complete bool, begun, ended time.Time) {
	l := list{byID: make(map[string]*Instance, len(instances)), byName: make(map[string][]*Instance, len(instances)), complete: complete, begun: begun, ended: ended}
	for _, i := range instances {
		if _, twice := l.byID[i.ID]; twice {
			continue // it moved from one page to the next meanwhile
		}
		l.byID[i.ID] = i
		if complete && i.PrivateDNSName != "" {
			l.byName[i.PrivateDNSName] = append(l.byName[i.PrivateDNSName], i)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = l
}

// store keeps what EC2 said when asked for IDs: those that are not found do not
// exist. More may have been found than were asked for.
func (m *memory) store(ids []string, found []*Instance, at, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.prune(m.ids, now)
	for _, id := range ids {
		m.keep(id, answer{at: at, asked: now})
	}
	for _, i := range found {
		m.keep(i.ID, answer{instance: i, at: at, asked: now})
	}
}

// keep remembers an answer for an ID, and when it was really asked for: an
// instance that is only read along with others is forgotten in time. Callers
// hold the lock.
func (m *memory) keep(id string, a answer) {
	if before, ok := m.ids[id]; ok {
		a.asked = before.asked
	}
	m.ids[id] = a
}

// storeName keeps what EC2 said when asked for a name.
func (m *memory) storeName(name string, found []*Instance, at, now time.Time) {
	m.store(nil, found, at, now)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.prune(m.names, now)
	m.names[name] = answer{named: found, at: at, asked: now}
}

// prune makes room: what nobody asked for goes first, then anything. Forgetting
// is harmless. Callers hold the lock.
func (m *memory) prune(answers map[string]answer, now time.Time) {
	if len(answers) < memorySize {
		return
	}
	maps.DeleteFunc(answers, func(_ string, a answer) bool { return !fresh(a.asked, now, interest) })
	for key := range answers {
		if len(answers) < memorySize*3/4 {
			return
		}
		delete(answers, key)
	}
}

// wanted gives up to n IDs beside some of instances that will be asked for soon:
// they were before, the list does not have them, and what is known is out of
// date.
func (m *memory) wanted(n int, beside sets.Set[string], now time.Time) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []string
	for id, a := range m.ids {
		if len(ids) >= n {
			break
		}
		if a.instance != nil && !beside.Has(id) && m.list.byID[id] == nil && fresh(a.asked, now, interest) && !fresh(a.at, now, m.maxAge) {
			ids = append(ids, id)
		}
	}
	return ids
}

// instances gives the list, if it is complete and younger than that.
func (m *memory) instances(now time.Time, age time.Duration) []*Instance {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.list.complete || !fresh(m.list.ended, now, age) {
		return nil
	}
	return slices.Collect(maps.Values(m.list.byID))
}
