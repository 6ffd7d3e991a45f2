package octavia

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// replacement is how long a listener that was deleted may take to be replaced, even if the
// run is canceled meanwhile: its port is not served.
const replacement = time.Minute

// create is the listener in a request, without a pool.
func (l *DesiredListener) create() client.ListenerCreate {
	made := client.ListenerCreate{
		Name: l.Name, Protocol: string(l.Protocol), Port: int(l.Number), ConnectionLimit: new(int(l.ConnectionLimit)),
		TLSContainerRef: l.TLSRef, Tags: l.Tags,
	}
	if l.ForwardedFor {
		made.InsertHeaders = map[string]string{forwardedFor: "true"}
	}
	if l.AllowedCIDRs != nil {
		made.AllowedCIDRs = prefixTexts(l.AllowedCIDRs)
	}
	if t := l.Timeouts; t != nil {
		made.TimeoutClientData, made.TimeoutMemberConnect = new(int(t.ClientData)), new(int(t.MemberConnect))
		made.TimeoutMemberData, made.TimeoutTCPInspect = new(int(t.MemberData)), new(int(t.TCPInspect))
	}

	return made
}

// String is the listener with its settings.
func (l *DesiredListener) String() string {
	text := fmt.Sprintf("%s, %s/%d, connection limit %d", l.Name, l.Protocol, l.Number, l.ConnectionLimit)
	if l.ForwardedFor {
		text += ", header " + forwardedFor
	}
	if l.TLSRef != "" {
		text += ", certificate " + l.TLSRef
	}
	if l.AllowedCIDRs != nil {
		text += ", allowed CIDRs " + plan.Words(l.AllowedCIDRs)
	}
	if t := l.Timeouts; t != nil {
		text += fmt.Sprintf(", timeouts %d %d %d %d ms", t.ClientData, t.MemberConnect, t.MemberData, t.TCPInspect)
	}

	return text + tagText(l.Tags)
}

func tagText(tags []string) string {
	if len(tags) == 0 {
		return ""
	}

	return ", tags " + plan.Commas(tags)
}

// recreated is a listener that exists in a request that creates it again, with all that a request
// can have.
func recreated(l *client.Listener) client.ListenerCreate {
	return client.ListenerCreate{
		ListenerUserSettings: l.ListenerUserSettings, Name: l.Name, Description: l.Description, Protocol: l.Protocol, Port: l.Port, ConnectionLimit: new(l.ConnectionLimit),
		InsertHeaders: l.InsertHeaders, TLSContainerRef: l.TLSContainerRef, AllowedCIDRs: l.AllowedCIDRs,
		TimeoutClientData: l.TimeoutClientData, TimeoutMemberConnect: l.TimeoutMemberConnect,
		TimeoutMemberData: l.TimeoutMemberData, TimeoutTCPInspect: l.TimeoutTCPInspect,
		Tags: l.Tags, DefaultPoolID: l.DefaultPoolID,
	}
}

// createListener returns a step that creates the listener of the port.
func (t *target) createListener() change.Step {
	text := fmt.Sprintf("create listener %s; %s", &t.port.Listener, t.poolText())

	return t.step(kindCreateListener, text, func(ctx context.Context, env *change.Env) error {
		return t.postListener(ctx, env)
	})
}

// postListener creates the listener of the port with its pool. One that replaces another
// listener keeps what a user has set, as far as the new protocol has it.
func (t *target) postListener(ctx context.Context, env *change.Env) error {
	pool, err := t.poolID(env)
	if err != nil {
		return err
	}

	made := t.port.Listener.create()
	made.DefaultPoolID = pool
	if old := t.listener; old != nil {
		made.Description, made.AdminUp = old.Description, old.AdminUp
		made.InsertHeaders = headers(old.InsertHeaders, &t.port.Listener)
		made.Tags = append(lists.Distinct(old.Tags), lists.Without(made.Tags, old.Tags)...)
	}

	return t.write(ctx, env, func(ctx context.Context) error {
		_, err := env.Octavia.CreateListener(ctx, t.loadBalancer, made)

		return err
	})
}

// updateListener returns a step that changes the settings of the listener.
func (t *target) updateListener(update client.ListenerUpdate, text string) change.Step {
	text = fmt.Sprintf("update listener %s (%s): %s", t.listener.Name, t.listener.ID, text)

	return t.step(kindUpdateListener, text, func(ctx context.Context, env *change.Env) error {
		return t.putListener(ctx, env, update)
	})
}

func (t *target) putListener(ctx context.Context, env *change.Env, update client.ListenerUpdate) error {
	return t.write(ctx, env, func(ctx context.Context) error {
		_, err := env.Octavia.UpdateListener(ctx, t.listener.ID, update)

		return err
	})
}

// moveListener returns a step that makes the listener use the pool of the port.
func (t *target) moveListener() change.Step {
	text := fmt.Sprintf("move listener %s (%s) to %s", t.listener.Name, t.listener.ID, t.poolText())
	if t.attached != nil {
		text += fmt.Sprintf(" from pool %s (%s)", t.attached.Name, t.attached.ID)
	}
	step := t.step(kindUpdateListener, text, func(ctx context.Context, env *change.Env) error {
		pool, err := t.poolID(env)
		if err != nil {
			return err
		}

		return t.move(ctx, env, pool)
	})
	if t.attached == nil {
		return step
	}

	return needing(step, t.needs...).Removal()
}

// move makes the listener use a pool.
func (t *target) move(ctx context.Context, env *change.Env, pool string) error {
	err := t.putListener(ctx, env, client.ListenerUpdate{DefaultPoolID: client.Set(pool)})
	if err == nil {
		env.IDs.Set(t.key(keyMoved), pool)
	}

	return err
}

// replaceListener returns a step that replaces the listener by one of another protocol.
//
// Octavia permits no second listener on the port, so that the port is not served between
// the deletion and the creation. Everything that can fail without that is done before: the
// pool has its members and its health monitor, and the new listener is requested once while
// the old one is there. Octavia validates it, certificate included, before it finds that
// the port is in use (octavia: api/v2/controllers/listener.py). If the new listener is
// refused after all, the old one is created again.
func (t *target) replaceListener() change.Step {
	text := fmt.Sprintf("replace listener %s (%s), %s/%d, by %s; %s",
		t.listener.Name, t.listener.ID, t.listener.Protocol, t.listener.Port, &t.port.Listener, t.poolText())
	step := t.step(kindReplaceListener, text, func(ctx context.Context, env *change.Env) error {
		pool, err := t.poolID(env)
		if err != nil {
			return err
		}
		err = t.postListener(ctx, env)
		if err != nil && !isOccupied(err) && !errors.Is(err, apierr.ErrQuota) {
			return err // the old one still serves
		}
		if err := t.removeListener(ctx, env); err != nil {
			return err
		}
		if err != nil {
			err = t.fillPort(ctx, env)
		}
		if err == nil {
			env.IDs.Set(t.key(keyMoved), pool)
		}

		return err
	})

	return needing(step, t.needs...)
}

// isOccupied reports whether Octavia refuses a listener because another one has the port.
func isOccupied(err error) bool {
	conflict, ok := client.ConflictOf(err)

	return ok && conflict.Kind == client.KindListener && conflict.Reason == client.ReasonDuplicate
}

func (t *target) removeListener(ctx context.Context, env *change.Env) error {
	return t.write(ctx, env, func(ctx context.Context) error { return env.Octavia.DeleteListener(ctx, t.listener.ID) })
}

// fillPort creates the listener of a port whose old listener was deleted, or else that one.
func (t *target) fillPort(ctx context.Context, env *change.Env) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), replacement)
	defer cancel()
	err := t.postListener(ctx, env)
	if err == nil || client.MayBeApplied(err) || !apierr.IsRefusal(err) {
		return err
	}
	restored := t.write(ctx, env, func(ctx context.Context) error {
		_, err := env.Octavia.CreateListener(ctx, t.loadBalancer, recreated(t.listener))

		return err
	})
	if restored != nil {
		return errors.Join(err, fmt.Errorf("create the old listener again: %w", restored))
	}

	return fmt.Errorf("the old listener is created again, since the new one is refused: %w", err)
}
