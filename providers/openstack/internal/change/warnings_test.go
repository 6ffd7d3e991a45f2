package change_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	quota := apierr.Mark(apierr.ErrQuota, &client.Error{Message: "Quota has been met for resources: Listener.", RequestID: "req-1"})
	e := &change.Env{Refused: new(change.Refusals)}
	for range 2 { // each is stored once
		if err := e.WarnOfQuota("lb", "listener for TCP/80", quota); !errors.Is(err, apierr.ErrQuota) {
			t.Errorf("error = %v", err)
		}
		e.WarnOfMembers("lb", []string{"b", "a", "a"}, errors.New("invalid address"))
		e.RefuseOption("ovn", features.Proxy, errors.New("not supported"))
	}
	_ = e.WarnOfQuota("lb", "listener for TCP/81", errors.New("not about a quota")) // checked by the warnings
	want := []service.Warning{
		{Reason: change.QuotaExceeded, Message: "Load balancer lb has no listener for TCP/80, which exceeds a quota of the project (Quota has been met for resources: Listener)"},
		{Reason: change.TargetRefused, Message: "Load balancer lb sends nothing to members that Octavia refuses: a, b (invalid address)"},
		{Reason: change.OptionRefused, Message: `Load balancers of provider "ovn" are without an option that it refuses: the PROXY protocol (not supported)`},
	}
	if diff := cmp.Diff(want, e.Warnings()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]features.Option{features.Proxy}, e.Refused.Of("ovn")); diff != "" {
		t.Error(diff)
	}
}

// Which errors are about options.
func TestIsOptionRefusal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		fault  simserver.Fault
		want   bool
	}{
		"501": {reason: "the driver does not have it", fault: openstack.Error(501, "", "Provider 'ovn' does not support a requested option."), want: true},
		"400": {reason: "the API has checked it", fault: openstack.Error(400, "", "Validation failure."), want: true},
		"409": {reason: "the state is not right", fault: openstack.Error(409, "", "Conflict.")},
		"403": {reason: "that is about rights", fault: openstack.Denied()},
		"500": {reason: "nothing is known", fault: simserver.Status(500)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, exact, func(f *fixture) {
				f.Interceptor().Inject(opPut, simserver.Always(), test.fault)
				err := f.Write(f.t.Context(), f.lb, f.rename("a"))
				if got := change.IsOptionRefusal(err); err == nil || got != test.want {
					f.t.Errorf("%s: %t for %v", test.reason, got, err)
				}
			})
		})
	}
	if change.IsOptionRefusal(nil) || change.IsOptionRefusal(errors.New("not of a service")) {
		t.Error("it is not a refusal")
	}
}

// OS-LB-12: an option counts as refused for an hour, for one provider.
func TestRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var none *change.Refusals
		none.Add("ovn", features.Proxy)
		if got := none.Of("ovn"); got != nil {
			t.Errorf("nothing is stored: %v", got)
		}
		var r change.Refusals
		check := func(reason, provider string, want ...features.Option) {
			t.Helper()
			if diff := cmp.Diff(want, r.Of(provider)); diff != "" {
				t.Errorf("%s: %s", reason, diff)
			}
		}
		check("nothing was refused", "a")
		r.Add("a", features.Timeouts)
		time.Sleep(30 * time.Minute)
		r.Add("a", features.AllowedCIDRs)
		check("both", "a", features.AllowedCIDRs, features.Timeouts)
		check("another provider", "b")
		time.Sleep(30 * time.Minute)
		check("one is tried again", "a", features.AllowedCIDRs)
		r.Add("a", features.AllowedCIDRs)
		time.Sleep(59 * time.Minute)
		check("it was refused again", "a", features.AllowedCIDRs)
		time.Sleep(time.Minute)
		check("all are tried again", "a")
	})
}

// OS-LB-12: a member counts as refused for two minutes, and twice as long each time, up to an
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
			if diff := cmp.Diff(want, r.Members(pools)); diff != "" {
				t.Errorf("%s: %s", reason, diff)
			}
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
