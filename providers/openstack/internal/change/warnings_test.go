package change_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	quota := apierr.Mark(apierr.ErrQuota, &client.Error{Message: "Quota has been met for resources: Listener.", RequestID: "req-1"})
	e := &change.Env{}
	for range 2 { // each is stored once
		openstacktest.Is(t, e.WarnOfQuota("lb", "listener for TCP/80", quota), apierr.ErrQuota)
		e.Warn(change.RefusedTargets("lb", []string{"b", "a", "a"}, "invalid address"))
	}
	_ = e.WarnOfQuota("lb", "listener for TCP/81", errors.New("not about a quota")) // checked by the warnings
	want := []service.Warning{
		{Reason: change.QuotaExceeded, Message: "Load balancer lb has no listener for TCP/80, which exceeds a quota of the project (Quota has been met for resources: Listener)"},
		{Reason: change.TargetRefused, Message: "Load balancer lb sends nothing to members that Octavia refuses: a, b (invalid address)"},
	}
	openstacktest.Check(t, "it", want, e.Warnings())
}

// OS-LB-36: a member counts as refused for two minutes, and twice as long each time, up to an
// hour. It is dropped if it is not refused again.
func TestRefusedMembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var none *change.Refusals
		none.AddMember("pool", "a", "no")
		if got := none.Members([]string{"pool"}); got != nil {
			t.Errorf("nothing is stored: %v", got)
		}
		var r change.Refusals
		check := func(reason string, want change.RefusedMembers, pools ...string) {
			t.Helper()
			openstacktest.Check(t, reason, want, r.Members(pools))
		}
		refused := func(over bool) change.RefusedMembers {
			return change.RefusedMembers{"pool": {"a": {Cause: "no", Over: over}}}
		}
		check("nothing was refused", nil, "pool")
		for age := 2 * time.Minute; age < 2*time.Hour; age *= 2 {
			r.AddMember("pool", "a", "no")
			time.Sleep(min(age, time.Hour) - time.Second)
			check("it is left out", refused(false), "pool", "other")
			check("another pool", nil, "other")
			time.Sleep(time.Second)
			check("it is tried again", refused(true), "pool")
		}
		time.Sleep(time.Hour)
		check("it was not refused again", nil, "pool")
	})
}
