package octavia

import (
	"fmt"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// diffMonitor plans to change the health monitor of the pool:
//
//	wanted  there           type differs
//	yes     no                             create
//	yes     yes             no             change what differs; repair it if it is in ERROR
//	yes     yes             yes            delete and create
//	no      of the Service                 delete
//	no      of a user                      nothing
//
// A pool has one health monitor at most. Without one, its members count as up.
func (t *target) diffMonitor() {
	want := t.port.Pool.Monitor
	var seen *client.HealthMonitor
	if t.pool != nil {
		if seen = t.pool.Monitor; seen == nil && t.pool.MonitorID != "" {
			err := fmt.Errorf("port %s: health monitor %s of the pool is not known", t.port.key(), t.pool.MonitorID)
			t.addIsolated(change.Abort(apierr.Mark(apierr.ErrUnavailable, err)))

			return
		}
	}
	switch {
	case want == nil && seen == nil:
	case want == nil:
		if t.ownsBelow(request.PartMonitor, seen.Name, seen.Tags) {
			t.addIsolated(t.deleteMonitor().Removal())
		}
	case seen == nil:
		t.needsMonitor()
		t.addIsolated(t.createMonitor())
	case seen.Type != string(want.Type):
		t.needsMonitor()
		t.addIsolated(t.replaceMonitor().Removal())
	default:
		_, text := monitorUpdate(seen, want)
		if text == "" && t.hasFailed(seen.Provisioning) {
			text = repairText
		}
		if text != "" {
			t.needsMonitor()
			t.addIsolated(t.updateMonitor(text))
		}
	}
}

func (t *target) needsMonitor() {
	if t.moves() {
		t.needs = append(t.needs, t.key(keyMonitor))
	}
}

// monitorUpdate returns the change of a health monitor, and its text, which is empty if
// there is nothing to change.
func monitorUpdate(seen *client.HealthMonitor, want *DesiredMonitor) (client.MonitorUpdate, string) {
	var update client.MonitorUpdate
	var texts []string
	for _, number := range []struct {
		name string
		seen int
		want int32
		set  *client.Change[int]
	}{
		{"delay", seen.Delay, want.Delay, &update.Delay},
		{"timeout", seen.Timeout, want.Timeout, &update.Timeout},
		{"retries", seen.MaxRetries, want.MaxRetries, &update.MaxRetries},
		{"retries down", seen.MaxRetriesDown, want.MaxRetriesDown, &update.MaxRetriesDown},
	} {
		if number.seen != int(number.want) {
			*number.set = client.Set(int(number.want))
			texts = append(texts, fmt.Sprintf("%s %d", number.name, number.want))
		}
	}
	if want.Type != features.MonitorHTTP {
		return update, strings.Join(texts, ", ")
	}
	for _, text := range []struct {
		name, seen, want string
		set              *client.Change[string]
	}{
		{"method", seen.HTTPMethod, want.HTTPMethod, &update.HTTPMethod},
		{"path", seen.URLPath, want.URLPath, &update.URLPath},
		{"codes", seen.ExpectedCodes, want.ExpectedCodes, &update.ExpectedCodes},
	} {
		if text.seen != text.want {
			*text.set = client.Set(text.want)
			texts = append(texts, text.name+" "+text.want)
		}
	}

	return update, strings.Join(texts, ", ")
}
