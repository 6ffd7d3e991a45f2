package openstack_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

var begin = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// status returns the HTTP status of an error of gophercloud, 0 for none.
func status(err error) int {
	if response, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		return response.Actual
	}

	return 0
}

// TestLockedAccount tries a wrong password until the account is locked, which looks
// like a wrong password even with the right one, until the lock ends.
func TestLockedAccount(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(begin)
	cloud := start(t, openstack.Options{Clock: clock})
	wrong := cloud.AuthOptions(openstack.UserCCM)
	wrong.Password = "wrong"
	for range 5 {
		if _, err := cloud.Connect(t.Context(), wrong); status(err) != http.StatusUnauthorized {
			t.Fatalf("wrong password: %v, want 401", err)
		}
	}
	right := cloud.AuthOptions(openstack.UserCCM)
	clock.SetTime(begin.Add(30*time.Minute - time.Second))
	if _, err := cloud.Connect(t.Context(), right); status(err) != http.StatusUnauthorized || !cloud.Locked(openstack.UserCCM) {
		t.Errorf("right password of a locked account: %v, want 401", err)
	}
	clock.SetTime(begin.Add(30 * time.Minute))
	login(t, cloud, right)
	if _, err := cloud.Connect(t.Context(), wrong); status(err) != http.StatusUnauthorized || cloud.Locked(openstack.UserCCM) {
		t.Error("one failure after the lock must not lock again")
	}
}
