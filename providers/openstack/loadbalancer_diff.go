package openstack

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/securitygroup"
)

// diff plans the way from the observed to the desired state of a load balancer that exists:
//
//  1. The security group lets in what members are to get.
//  2. The load balancer gets the tags and the names of the Service.
//  3. Listeners, pools, members and health monitors; then those that the Service no longer
//     needs are removed.
//  4. The floating IP.
//  5. The security group lets in nothing else.
//
// A failure keeps what follows from removing anything, but for one of the security group,
// which Octavia does not depend on. If not everything was understood, nothing is removed.
func (r *run) diff(o *observed, d *desired) (change.Plan, error) {
	var steps change.Plan
	if !o.created {
		parts, findings := octavia.Diff(o.parts, d.balancer)
		r.warn(findings.Warnings...)
		d.lasting = append(d.lasting, findings.Gaps...)
		steps = parts
	}
	if !r.create {
		if err := checkUpdate(steps); err != nil {
			return nil, err
		}
	}
	if r.create {
		claim := octavia.Claim(o.parts, d.balancer, r.Config.LoadBalancer.MaxSharedLB)
		address, warnings := floatingip.Diff(o.floating, d.floating)
		r.warn(warnings...)
		r.warnFixed(o, d)
		d.plansFloatingIP = len(address) > 0
		steps = slices.Concat(claim, steps, address)
	}
	before, after := change.Defer(r.diffGroup(o, d))
	steps = slices.Concat(before, steps, after)
	if d.addOnly {
		steps = steps.Additions()
	}

	return steps, nil
}

// diffGroup plans the security group, or its deletion if groups are not managed any more.
func (r *run) diffGroup(o *observed, d *desired) change.Plan {
	if d.group == nil {
		return securitygroup.DiffDelete(o.group)
	}
	gaps, warnings := securitygroup.Incomplete(o.group, d.group)
	r.warn(warnings...)
	d.incomplete = append(d.incomplete, gaps...)

	steps := securitygroup.Diff(o.group, d.group)
	if len(r.others) > 0 {
		return steps.Additions() // clients may use the others until they are left
	}

	return steps
}

// errListeners means that the listeners of a load balancer are not as the Service wants them.
var errListeners = apierr.Mark(apierr.ErrConflict, errors.New("the listeners must be synced first"))

// checkUpdate returns an error if a listener is missing or is not as it should be, which an
// update does not change.
func checkUpdate(steps change.Plan) error {
	at := slices.IndexFunc(steps, func(step change.Step) bool { return strings.Contains(step.Kind, "Listener") })
	if at < 0 {
		return nil
	}

	return fmt.Errorf("%w: %s", errListeners, plan.FewCommas([]string{steps[at].Text}))
}
