package change

import (
	"maps"
	"sync"
	"time"
)

const (
	// refusalAge is how long a member counts as refused at most: a cloud may be upgraded.
	refusalAge = time.Hour
	// memberAge is how long it does for the first time. It is doubled for each further
	// refusal, up to refusalAge: Octavia refuses a subnet also if Neutron does not respond
	// (octavia: common/validate.py, subnet_exists).
	memberAge = 2 * time.Minute
)

// Refusals stores the members that Octavia has refused, for all plans of a process, so that requests that
// would fail are not sent for a while. The zero value is empty. It is safe for concurrent use.
// Nil is empty, and stores nothing.
type Refusals struct {
	mu sync.Mutex
	// members are by pool and member.
	members map[string]map[string]memberRefusal
}

type memberRefusal struct {
	cause string
	at    time.Time
	// age is how long it counts.
	age time.Duration
}

// RefusedMembers are members that Octavia has refused, by the ID of the pool and by the
// settings of the member as a text.
type RefusedMembers map[string]map[string]RefusedMember

// RefusedMember is a member that Octavia has refused.
type RefusedMember struct {
	// Cause is the message of Octavia.
	Cause string
	// Over means that it is to be tried again.
	Over bool
}

// AddMember stores that Octavia has refused a member of a pool, and its message.
func (r *Refusals) AddMember(pool, member, cause string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropOldMembers()
	if r.members == nil {
		r.members = map[string]map[string]memberRefusal{}
	}
	if r.members[pool] == nil {
		r.members[pool] = map[string]memberRefusal{}
	}
	age := memberAge
	if before, ok := r.members[pool][member]; ok {
		age = min(2*before.age, refusalAge)
	}
	r.members[pool][member] = memberRefusal{cause, time.Now(), age}
}

// Members returns the members of pools that Octavia has refused lately, nil for none.
func (r *Refusals) Members(pools []string) RefusedMembers {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropOldMembers()
	var found RefusedMembers
	for _, pool := range pools {
		if len(r.members[pool]) == 0 {
			continue
		}
		if found == nil {
			found = RefusedMembers{}
		}
		found[pool] = map[string]RefusedMember{}
		for member, refusal := range r.members[pool] {
			found[pool][member] = RefusedMember{Cause: refusal.cause, Over: time.Since(refusal.at) >= refusal.age}
		}
	}

	return found
}

// dropOldMembers drops refusals that were not repeated, also those of pools that are gone.
func (r *Refusals) dropOldMembers() {
	maps.DeleteFunc(r.members, func(_ string, of map[string]memberRefusal) bool {
		maps.DeleteFunc(of, func(_ string, refusal memberRefusal) bool { return time.Since(refusal.at) >= 2*refusalAge })

		return len(of) == 0
	})
}
