package openstack

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/securitygroup"
)

// changes are the plans of a sync, in their order: what the security group lets in for what follows, the
// load balancer, and what the group lets in no more.
type changes struct {
	opens, steps, closes change.Plan
	// address means that there are steps about the floating IP.
	address  bool
	warnings []service.Warning
	// incomplete and lasting are what the plans leave, see [desired].
	incomplete, lasting []service.Gap
}

func (c *changes) isEmpty() bool { return len(c.opens)+len(c.steps)+len(c.closes) == 0 }

// diff plans the way from the observed to the desired state of a load balancer that exists:
//
//  1. The security group lets in what members are to get.
//  2. The load balancer gets the tags and the names of the Service.
//  3. Listeners, pools, members and health monitors; then those that the Service no longer
//     needs are removed.
//  4. The floating IP.
//  5. The security group lets in nothing else.
//
// If not everything was understood, nothing is removed.
func (in input) diff(o *observed, d *desired) (*changes, error) {
	c := &changes{}
	if !o.created {
		parts, findings := octavia.Diff(o.parts, d.balancer)
		c.steps, c.warnings, c.lasting = parts, findings.Warnings, findings.Gaps
	}
	if !in.create {
		if err := checkUpdate(c.steps); err != nil {
			return nil, err
		}
	}
	if in.create {
		claim := octavia.Claim(o.parts, d.balancer, in.config.MaxSharedLB)
		address, warnings := floatingip.Diff(o.floating, d.floating)
		c.warnings = slices.Concat(c.warnings, warnings, in.fixed(o, d))
		c.address = len(address) > 0
		c.steps = slices.Concat(claim, c.steps, address)
	}
	group := c.diffGroup(o, d)
	c.opens, c.closes = group.Additions(), group.Removals()
	if d.addOnly {
		c.steps, c.closes = c.steps.Additions(), c.closes.Additions()
	}

	return c, nil
}

// diffGroup plans the security group, or its deletion if groups are not managed any more.
func (c *changes) diffGroup(o *observed, d *desired) change.Plan {
	if d.group == nil {
		return securitygroup.DiffDelete(o.group)
	}
	gaps, warnings := securitygroup.Incomplete(o.group, d.group)
	c.warnings, c.incomplete = append(c.warnings, warnings...), gaps

	steps := securitygroup.Diff(o.group, d.group)
	if len(o.former) > 0 {
		return steps.Additions() // clients may use them until the Service leaves them
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
