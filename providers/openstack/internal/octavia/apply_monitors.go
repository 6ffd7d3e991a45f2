package octavia

import (
	"context"
	"errors"
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// create is the health monitor in a request.
func (m *DesiredMonitor) create() client.MonitorCreate {
	return client.MonitorCreate{
		Name: m.Name, Type: string(m.Type), Delay: int(m.Delay), Timeout: int(m.Timeout), MaxRetries: int(m.MaxRetries),
		MaxRetriesDown: int(m.MaxRetriesDown), HTTPMethod: m.HTTPMethod, URLPath: m.URLPath, ExpectedCodes: m.ExpectedCodes, Tags: m.Tags,
	}
}

// String is the health monitor with its settings.
func (m *DesiredMonitor) String() string {
	text := fmt.Sprintf("%s, %s, delay %d s, timeout %d s, retries %d, retries down %d",
		m.Name, m.Type, m.Delay, m.Timeout, m.MaxRetries, m.MaxRetriesDown)
	if m.HTTPMethod != "" {
		text += fmt.Sprintf(", %s %s is %s", m.HTTPMethod, m.URLPath, m.ExpectedCodes)
	}

	return text + tagText(m.Tags)
}

// monitorAgain is a health monitor that exists in a request that creates it again.
func monitorAgain(m *client.HealthMonitor) client.MonitorCreate {
	return client.MonitorCreate{
		Name: m.Name, Type: m.Type, Delay: m.Delay, Timeout: m.Timeout, MaxRetries: m.MaxRetries, MaxRetriesDown: m.MaxRetriesDown,
		HTTPMethod: m.HTTPMethod, URLPath: m.URLPath, ExpectedCodes: m.ExpectedCodes, Tags: m.Tags,
	}
}

// createMonitor returns a step that creates the health monitor of the pool.
func (t *target) createMonitor() change.Step {
	text := fmt.Sprintf("create health monitor %s; %s", t.port.Pool.Monitor, t.poolText())

	return t.step(kindCreateMonitor, text, t.monitorStep)
}

// updateMonitor returns a step that changes the settings of the health monitor.
func (t *target) updateMonitor(text string) change.Step {
	m := t.pool.Monitor

	return t.step(kindUpdateMonitor, fmt.Sprintf("update health monitor %s (%s): %s", m.Name, m.ID, text), t.monitorStep)
}

// replaceMonitor returns a step that replaces the health monitor by one of another type.
func (t *target) replaceMonitor() change.Step {
	m := t.pool.Monitor
	text := fmt.Sprintf("replace health monitor %s (%s), %s, by %s", m.Name, m.ID, m.Type, t.port.Pool.Monitor)

	return t.step(kindReplaceMonitor, text, t.monitorStep)
}

// deleteMonitor returns a step that deletes the health monitor.
func (t *target) deleteMonitor() change.Step {
	m := t.pool.Monitor
	text := fmt.Sprintf("delete health monitor %s (%s), %s", m.Name, m.ID, m.Type)

	return t.step(kindDeleteMonitor, text, t.dropMonitor)
}

// monitorStep makes the health monitor of the pool the wanted one, and stores that it is.
func (t *target) monitorStep(ctx context.Context, env *change.Env) error {
	if err := t.applyMonitor(ctx, env); err != nil {
		return err
	}
	pool, err := t.poolID(env)
	if err == nil {
		env.IDs.Set(t.key(keyMonitor), pool)
	}

	return err
}

// applyMonitor makes the health monitor of the pool the wanted one. A monitor that had to
// go for it is created again if the new one is refused.
func (t *target) applyMonitor(ctx context.Context, env *change.Env) error {
	var seen *client.HealthMonitor
	if t.pool != nil {
		seen = t.pool.Monitor
	}
	want := t.port.Pool.Monitor
	switch {
	case want == nil:
		return nil
	case seen != nil && seen.Type == string(want.Type):
		return t.putMonitor(ctx, env, seen, want)
	case seen != nil:
		if err := t.dropMonitor(ctx, env); err != nil {
			return err
		}
	}
	err := t.postMonitor(ctx, env, want.create())
	if seen == nil || err == nil || client.MayBeApplied(err) || !apierr.IsRefusal(err) {
		return err
	}
	if restored := t.postMonitor(ctx, env, monitorAgain(seen)); restored != nil {
		return errors.Join(err, fmt.Errorf("create the old health monitor again: %w", restored))
	}

	return err
}

func (t *target) putMonitor(ctx context.Context, env *change.Env, seen *client.HealthMonitor, want *DesiredMonitor) error {
	update, text := monitorUpdate(seen, want)
	switch {
	case text == "" && seen.Provisioning != client.ProvisioningError:
		return nil
	case text == "":
		update.Delay = client.Set(seen.Delay)
	}

	return t.writePool(ctx, env, func(ctx context.Context, _ string) error {
		_, err := env.Octavia.UpdateHealthMonitor(ctx, seen.ID, update)

		return err
	})
}

func (t *target) postMonitor(ctx context.Context, env *change.Env, monitor client.MonitorCreate) error {
	return t.writePool(ctx, env, func(ctx context.Context, pool string) error {
		_, err := env.Octavia.CreateHealthMonitor(ctx, pool, monitor)

		return err
	})
}

func (t *target) dropMonitor(ctx context.Context, env *change.Env) error {
	return t.writePool(ctx, env, func(ctx context.Context, _ string) error {
		return env.Octavia.DeleteHealthMonitor(ctx, t.pool.Monitor.ID)
	})
}
