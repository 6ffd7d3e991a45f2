package securitygroup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// maxWrites is how often the groups of a port are written if it is changed meanwhile. Nova
// and the agents of Neutron change ports at any time.
const maxWrites = 4

// errNotApplied means that Neutron has accepted a change of a port, and the port in its
// response has other groups.
var errNotApplied = apierr.Mark(apierr.ErrConflict, errors.New("the port does not have the groups that were written"))

// addTo adds the group to ports.
func addTo(group groupRef, members []member) change.Plan {
	if len(members) == 0 {
		return nil
	}
	text := fmt.Sprintf("add security group %s to the ports of %s", group, plan.FewCommas(members))

	return change.Plan{plan.NewStep("UpdatePort", text, func(ctx context.Context, env *change.Env) error {
		refused, err := writeAll(ctx, env, group, members, true)
		if len(refused.members) > 0 {
			env.Warn(service.Warn(NotAdded, "Security group %s is not added to ports that OpenStack does not allow to change: %s (%s)",
				group.name, plan.FewCommas(refused.members), change.Message(refused.cause)))
		}

		return err
	}).Isolate()}
}

// removeFrom takes the group off ports.
func removeFrom(group groupRef, members []member) change.Plan {
	if len(members) == 0 {
		return nil
	}
	text := fmt.Sprintf("remove security group %s from the ports %s", group, plan.FewCommas(members))

	return change.Plan{plan.NewStep("UpdatePort", text, func(ctx context.Context, env *change.Env) error {
		refused, err := writeAll(ctx, env, group, members, false)
		if len(refused.members) > 0 {
			env.Warn(service.Warn(NotRemoved, "Security group %s is not removed from ports that OpenStack does not allow to change: %s (%s)",
				group.name, plan.FewCommas(refused.members), change.Message(refused.cause)))
		}

		return err
	}).Removal().Dispensable()}
}

// keyKept, followed by its ID, is the key of a group that stays, since ports keep it.
const keyKept = "kept security group "

// takeFrom takes the group off ports before it is deleted. Ports that OpenStack does not
// allow to change keep it, and it stays.
func takeFrom(group groupRef, members []member) change.Plan {
	steps := removeFrom(group, members)
	for i := range steps {
		steps[i].Do = plan.NewStep(steps[i].Kind, steps[i].Text, func(ctx context.Context, env *change.Env) error {
			refused, err := writeAll(ctx, env, group, members, false)
			if len(refused.members) > 0 {
				env.Warn(service.Warn(NotRemoved, "Security group %s stays, since OpenStack does not allow to remove it from ports: %s (%s)",
					group.name, plan.FewCommas(refused.members), change.Message(refused.cause)))
			}
			if len(refused.members) > 0 && refused.isAll {
				env.IDs.Set(keyKept+group.ID, group.ID)

				return nil
			}

			return err
		}).Dispensable().Do
	}

	return steps
}

// refusal are the ports that OpenStack does not allow to change.
type refusal struct {
	members []member
	cause   error
	// isAll means that there was no other error.
	isAll bool
}

// writeAll writes the groups of ports. The failure of one does not concern the others.
func writeAll(ctx context.Context, env *change.Env, group groupRef, members []member, with bool) (refusal, error) {
	var refused refusal
	id, err := env.IDs.Resolve(group.Ref)
	if err != nil {
		return refused, err
	}
	var errs []error
	for _, m := range members {
		w := portWriter{network: env.Network, group: id, with: with}
		err := w.writeAlone(ctx, env, m.port)
		if err == nil {
			continue
		}
		errs = append(errs, fmt.Errorf("port %s: %w", m.port.ID, err))
		if errors.Is(err, apierr.ErrDenied) || errors.Is(err, apierr.ErrInvalid) {
			refused.members, refused.cause = append(refused.members, m), err
		}
		if concernsAll(ctx, err) {
			break
		}
	}

	refused.isAll = len(errs) == len(refused.members)

	return refused, errors.Join(errs...)
}

// portWriter adds a group to a port, or takes it off.
type portWriter struct {
	network *client.NetworkService
	group   string
	with    bool
}

// writeAlone writes the groups of a port while no other plan does.
func (w portWriter) writeAlone(ctx context.Context, env *change.Env, port *client.Port) error {
	if env.Ports != nil {
		unlock, err := env.Ports.Lock(ctx, port.ID)
		if err != nil {
			return err
		}
		defer unlock()
	}

	return w.write(ctx, port)
}

// write writes the groups of a port, unless they are as they should be. If the port was
// changed since it was read, it is read again:
//
//	Neutron responds with                     then
//	412, another revision                     the groups are written again, some times
//	404 or 400, and the port has not changed  it is refused
//	404, and the port is gone                 it has no groups
func (w portWriter) write(ctx context.Context, port *client.Port) error {
	var err error
	for range maxWrites {
		if w.isDone(port) {
			return nil
		}
		if err = w.put(ctx, port); err == nil || !errors.Is(err, apierr.ErrConflict) && !errors.Is(err, apierr.ErrInvalid) {
			return err
		}
		fresh, readErr := w.read(ctx, port.ID)
		switch {
		case readErr != nil:
			return errors.Join(err, readErr)
		case fresh == nil && isMissing(err) && !w.with:
			return nil
		case fresh == nil, errors.Is(err, apierr.ErrInvalid) && isSame(port, fresh):
			return err
		}
		port = fresh
	}

	return err
}

// isDone reports whether nothing is to be written. A port without port security has no
// groups and needs none.
func (w portWriter) isDone(port *client.Port) bool {
	return !port.HasPortSecurity() || slices.Contains(port.SecurityGroups, w.group) == w.with && !w.hasTag(port)
}

// hasTag reports whether a port has the ID of a group that it loses as a tag, by which old
// versions of the upstream cloud controller manager found it.
func (w portWriter) hasTag(port *client.Port) bool {
	return !w.with && slices.Contains(port.Tags, w.group)
}

// put writes the groups of a port once, and checks the response.
func (w portWriter) put(ctx context.Context, port *client.Port) error {
	if w.hasTag(port) {
		if err := w.network.DeletePortTag(ctx, port.ID, w.group); err != nil {
			return err
		}
		fresh, err := w.read(ctx, port.ID) // the revision is another one now
		if err != nil || fresh == nil {
			return err
		}
		port = fresh
	}
	groups := slices.DeleteFunc(slices.Clone(port.SecurityGroups), func(id string) bool { return id == w.group })
	if w.with {
		groups = append(groups, w.group)
	}
	written, err := w.network.UpdateSecurityGroups(ctx, port.ID, groups, port.Revision)
	if err == nil && slices.Contains(written.SecurityGroups, w.group) != w.with {
		return errNotApplied
	}

	return err
}

// read returns the port as it is now, nil if a list does not show it.
func (w portWriter) read(ctx context.Context, id string) (*client.Port, error) {
	ports, err := w.network.PortsByIDFull(ctx, []string{id})
	if err != nil || len(ports) == 0 {
		return nil, err
	}

	return ports[0], nil
}

// isMissing reports whether Neutron responds that the port, or one of its groups, does not
// exist.
func isMissing(err error) bool {
	e, ok := errors.AsType[*client.Error](err)

	return ok && e.Status == http.StatusNotFound
}

// isSame reports whether a port was not changed between two reads.
func isSame(a, b *client.Port) bool {
	same := a.Revision == nil || b.Revision == nil || *a.Revision == *b.Revision

	return same && slices.Equal(a.SecurityGroups, b.SecurityGroups) && a.HasPortSecurity() == b.HasPortSecurity()
}
