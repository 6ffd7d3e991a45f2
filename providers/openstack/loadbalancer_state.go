package openstack

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// state is what this process keeps of the operations on the load balancer of a Service. Only the
// operation that runs has it.
type state struct {
	// patched is what was written to the Service, which is synced again because of it, and created
	// the same of a load balancer that was pending at the end of the sync that created it.
	patched, created patch
	// since is when this process has first synced the load balancer.
	since time.Time
	// requested is nil if no load balancer was requested.
	requested *lastCreation
	// empty means that Octavia has refused the load balancer with all its parts.
	empty bool
	// repaired are pools that were repaired and have not been seen to be ACTIVE since.
	repaired sets.Set[string]
	// rulesOverQuota means that the security group lacks rules because of a quota: others are removed first.
	rulesOverQuota bool
	// duplicates are those that could not be deleted: once the current one is known by its ID, no list
	// has them.
	duplicates []string
	// stalls has since when load balancers cannot be changed, by ID.
	stalls map[string]stall
	// memberSubnet is the subnet that the Service wants for its members and that was compared
	// with theirs.
	memberSubnet string
}
