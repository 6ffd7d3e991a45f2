package vsphere

import (
	"net/url"
	"testing"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	clocktesting "k8s.io/utils/clock/testing"
)

// linked are two vCenters with one directory and one with its own.
func linked(t *testing.T) (*Cloud, *clocktesting.FakeClock) {
	t.Helper()
	c := clocktesting.NewFakeClock(time.Now())

	return start(t, Spec{
		VCenters: []VCenterSpec{{Name: "a"}, {Name: "b"}, {Name: "alone"}},
		Linked:   [][]string{{"a", "b"}},
		Clock:    c,
	}), c
}

// try logs in to the SOAP API and out again.
func try(t *testing.T, v *VCenter, password string) error {
	t.Helper()
	c, err := tryLogin(t.Context(), v, password)
	if err == nil {
		t.Cleanup(c.CloseIdleConnections)

		return c.Logout(t.Context())
	}

	return err
}

// tryREST logs in to the REST API and out again.
func tryREST(t *testing.T, v *VCenter, user, password string) error {
	t.Helper()
	c := bareREST(t, v)
	if err := c.Login(t.Context(), url.UserPassword(user, password)); err != nil {
		return err
	}

	return c.Logout(t.Context())
}

// bareREST is a client without a session.
func bareREST(t *testing.T, v *VCenter) *rest.Client {
	t.Helper()
	c := rest.NewClient(&vim25.Client{Client: soap.NewClient(v.URL(), true)})
	t.Cleanup(c.CloseIdleConnections)

	return c
}

func TestFailedLoginsLockTheAccount(t *testing.T) {
	t.Parallel()
	cloud, clock := linked(t)
	a, b, alone := cloud.VCenter("a"), cloud.VCenter("b"), cloud.VCenter("alone")
	for i := range 4 {
		clock.Step(40 * time.Second)
		v := []*VCenter{a, b}[i%2]
		if err := try(t, v, "wrong"); !isFault(err, &types.InvalidLogin{}) {
			t.Fatalf("wrong password: %v", err)
		}
	}
	if err := try(t, b, b.Password()); err != nil || a.Lockouts() != 0 {
		t.Errorf("after 4 failures: %v, %d lockouts", err, a.Lockouts())
	}
	if err := tryREST(t, b, `VSPHERE.LOCAL\Administrator`, "wrong"); !isUnauthorized(err) {
		t.Errorf("wrong password for REST: %v", err)
	}
	for _, v := range []*VCenter{a, b} {
		if err := try(t, v, v.Password()); !isFault(err, &types.InvalidLogin{}) {
			t.Errorf("right password for SOAP of a locked account: %v", err)
		}
		if err := tryREST(t, v, v.User(), v.Password()); !isUnauthorized(err) {
			t.Errorf("right password for REST of a locked account: %v", err)
		}
	}
	if err := try(t, alone, alone.Password()); err != nil {
		t.Errorf("vCenter with a directory of its own: %v", err)
	}
	if n := len(a.RefusedLogins()); n != 9 || a.Lockouts() != 1 || b.Lockouts() != 1 || alone.Lockouts() != 0 {
		t.Errorf("%d logins refused, %d, %d and %d lockouts, want 9, 1, 1 and 0", n, a.Lockouts(), b.Lockouts(), alone.Lockouts())
	}
	clock.Step(lockoutDuration)
	if err := try(t, a, a.Password()); err != nil {
		t.Errorf("after the unlock time: %v", err)
	}
}
