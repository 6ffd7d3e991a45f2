package octavia

import (
	"fmt"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// target is a wanted port with what there is of it. It holds what its steps need.
type target struct {
	*differ

	port         *Port
	loadBalancer string
	// listener is nil if there is none on the port.
	listener *client.Listener
	// attached is the pool that the listener uses, nil if it has none.
	attached *Pool
	// pool is the pool that the port keeps: the attached one, or one that no listener uses
	// yet. It is nil if there is none to keep.
	pool *Pool
	// needs are the keys of the steps that must succeed before the listener moves to another
	// pool.
	needs []string
}

// The keys under which the steps of a port store IDs.
const (
	keyPool    = "pool"
	keyMembers = "members"
	keyMonitor = "monitor"
	keyMoved   = "pool of the listener"
)

func (t *target) key(what string) string {
	return fmt.Sprintf("%s of port %s", what, t.port.key())
}

// poolText names the pool in texts of steps.
func (t *target) poolText() string {
	ref := plan.Ref{Key: "new"}
	name := t.port.Pool.Name
	if t.pool != nil {
		ref.ID, name = t.pool.ID, t.pool.Name
	}

	return fmt.Sprintf("pool %s (%s)", name, ref)
}

// attach finds the pool of the listener. It is an error if that is not known.
func (t *target) attach() error {
	if t.listener == nil || t.listener.DefaultPoolID == "" {
		return nil
	}
	if t.attached = t.seen.Pools[t.listener.DefaultPoolID]; t.attached == nil || t.attached.Unread {
		return apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("port %s: pool %s of the listener was not read", t.port.key(), t.listener.DefaultPoolID))
	}

	return nil
}

// choosePool finds the pool that the port keeps:
//
//	the pool of the listener, with the wanted protocol and for this listener only, unless it is in
//	ERROR although it was repaired
//	else a pool of the Service with the name of the port and the wanted protocol, which an
//	interrupted run has left
func (t *target) choosePool() {
	if t.attached != nil && t.fits(t.attached) && t.users[t.attached.ID] == 1 && !t.isLost(t.attached) {
		t.pool = t.attached
	} else {
		for _, p := range t.spares() {
			if !p.Unread && p.Name == t.port.Pool.Name && t.fits(p) {
				t.pool = p

				break
			}
		}
	}
	if t.pool != nil {
		t.taken[t.pool.ID] = true
	}
}

// isLost reports whether a pool is in ERROR although it was repaired.
func (t *target) isLost(p *Pool) bool {
	return p.Provisioning == client.ProvisioningError && t.desired.Repaired.Has(p.ID)
}

// fits reports whether a pool has the protocol that the port wants.
func (t *target) fits(p *Pool) bool {
	return features.Protocol(p.Protocol) == t.port.Pool.Protocol && !p.Provisioning.IsDeleted() &&
		p.Provisioning != client.ProvisioningPendingDelete
}

// moves reports whether the listener gets another pool than it has.
func (t *target) moves() bool { return t.pool == nil || t.pool != t.attached }

// diffPool plans to create or change the pool, its members and its health monitor. A pool that is
// broken is repaired before.
func (t *target) diffPool() {
	begin := len(t.plan)
	t.keepAlgorithm()
	if t.pool == nil {
		t.addIsolated(t.createPool())
	} else if update, text := poolUpdate(&t.pool.Pool, &t.port.Pool); text != "" {
		t.addIsolated(t.updatePool(update, text))
	}
	before := len(t.plan)
	t.diffParts()
	if t.pool != nil && t.isBroken(len(t.plan) > before) {
		t.plan = slices.Insert(t.plan, begin, t.repairPool().Isolate())
	}
}

// diffParts plans the changes of the members and the health monitor.
//
// Members that get a port for health checks come before the monitor that uses it; a
// monitor that is not wanted goes before the members lose that port.
func (t *target) diffParts() {
	if t.port.Pool.Monitor == nil {
		t.diffMonitor()
		t.diffMembers()
	} else {
		t.diffMembers()
		t.diffMonitor()
	}
}

// keepAlgorithm has a pool that exists keep its algorithm if the provider refuses the wanted
// one. A new pool is requested with it: there is nothing else to fall back to.
func (t *target) keepAlgorithm() {
	if t.pool == nil || t.pool.Algorithm == t.port.Pool.Algorithm || t.desired.Features.Algorithm(t.port.Pool.Algorithm) {
		return
	}
	t.findings.Warnings = append(t.findings.Warnings, service.Warn(request.MethodUnknown, "Port %s keeps the algorithm %s: the load balancer refuses %s",
		t.port.key(), t.pool.Algorithm, t.port.Pool.Algorithm))
	kept := *t.port
	kept.Pool.Algorithm = t.pool.Algorithm
	t.port = &kept
}

// isBroken reports whether a pool must be repaired: Octavia refuses changes of the members
// and the monitor of one that is not ACTIVE, although its load balancer is (octavia:
// api/v2/controllers/member.py). One that stays pending forever serves nevertheless.
func (t *target) isBroken(changes bool) bool {
	if t.seen.LoadBalancer.Provisioning != client.ProvisioningActive {
		return false
	}
	status := t.pool.Provisioning

	return status == client.ProvisioningError || changes && status.IsPending()
}

// poolUpdate returns the change of a pool, and its text, which is empty if there is
// nothing to change. Session persistence by cookies is that of a user.
func poolUpdate(seen *client.Pool, want *DesiredPool) (client.PoolUpdate, string) {
	var update client.PoolUpdate
	var texts []string
	if seen.Algorithm != want.Algorithm {
		update.Algorithm = client.Set(want.Algorithm)
		texts = append(texts, fmt.Sprintf("algorithm %s instead of %s", want.Algorithm, seen.Algorithm))
	}
	bySource := seen.Persistence != nil && seen.Persistence.Type == persistenceSourceIP
	switch {
	case want.KeepsAffinity && !bySource:
		update.Persistence = client.Set(*persistence(want))
		texts = append(texts, "session persistence "+persistenceSourceIP)
	case !want.KeepsAffinity && bySource:
		update.Persistence = client.SetNull[client.SessionPersistence]()
		texts = append(texts, "no session persistence")
	}

	return update, strings.Join(texts, ", ")
}

// removePool plans to delete the pool that the listener no longer uses, unless another
// listener or a user does.
func (t *target) removePool() {
	if t.attached == nil || t.attached == t.pool || t.taken[t.attached.ID] || t.users[t.attached.ID] > 1 {
		return
	}
	if !t.ownsBelow(request.PartPool, t.attached.Name, t.attached.Tags) {
		t.findings.Warnings = append(t.findings.Warnings, service.Warn(PoolKept,
			"Port %s no longer uses pool %s (%s), which is not deleted: it is that of a user", t.port.key(), t.attached.Name, t.attached.ID))

		return
	}
	t.taken[t.attached.ID] = true
	t.addIsolated(needing(deletePool(t.loadBalancer, t.attached), t.key(keyMoved)).Removal())
}
