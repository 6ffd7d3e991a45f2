package vsphere

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// TestTakes (VS-AUTH-11, FW-CONFIG-16): a user and a password in a proven file replace those in use without
// another process. A file with another setting does not.
func TestTakes(t *testing.T) {
	t.Parallel()
	b := newFixture(t, "", one())
	vc := b.fleet.VCenters()[0]
	old := b.text
	b.eventually("the session is that of the old file", func() error { return b.isLoggedIn(old) })
	vc.SetPassword("rotated")
	rotated := textOf(vc)
	for reason, text := range map[string]string{
		"another setting":                      rotated + "[Labels]\nzone = k8s-zone\n",
		"no file that can be used":             rotated + "port = x\n",
		"a vCenter more, with credentials too": rotated + section("other", vc),
	} {
		if b.Takes(t.Context(), parse(t, text), provider.Proof{}) {
			t.Errorf("%s: the cloud takes the file", reason)
		}
	}
	if !b.Takes(t.Context(), parse(t, rotated), provider.Proof{}) {
		t.Fatal("the cloud does not take other credentials")
	}
	b.eventually("the session is replaced", func() error { return b.isLoggedIn(rotated) })
	if n := len(vc.RefusedLogins()); n != 0 {
		t.Errorf("%d logins were refused", n)
	}
}

// TestPasswordReachesFileFirst (VS-AUTH-11, FW-CONFIG-11): a password that is in the file before vCenter has it is
// tried without a call. Until vCenter accepts it, and after the former file is back, the session is that of the old
// one, also after vCenter has ended it.
func TestPasswordReachesFileFirst(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakeClock(time.Now())
	times := quick
	times.session.LoginGuard = login.NewGuard(login.DefaultLimits(), clock)
	b := newFixture(t, "", one())
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.cloud = connectTo(t, b.text, kubetest.NewClientset(), times)
	vc := b.fleet.VCenters()[0]
	old, file := b.text, strings.Replace(b.text, vc.Password(), "rotated", 1)
	b.eventually("the session is that of the old file", func() error { return b.isLoggedIn(old) })
	clock.Step(login.DefaultLimits().Interval)
	for _, reason := range []string{"the session works", "the session has ended"} {
		b.eventually("the new password is refused", func() error {
			if b.isLoggedIn(file) == nil || len(vc.RefusedLogins()) == 0 {
				return errors.New("it is not")
			}

			return nil
		})
		b.eventually(reason, func() error { return b.hasSession(vc.Password()) })
		vc.TerminateSessions()
	}
	b.eventually("the former file is back", func() error { return b.isLoggedIn(old) })
	vc.SetPassword("rotated")
	b.eventually("the new password is used", func() error {
		clock.Step(time.Second)

		return b.isLoggedIn(file)
	})
	if n := len(vc.RefusedLogins()); n > 2 { // one for each API
		t.Errorf("%d logins were refused", n)
	}
}

// hasSession returns an error unless the session was made with a password.
func (b fixture) hasSession(password string) error {
	vcenters, err := b.current()
	if err != nil {
		return err
	}
	vc := b.fleet.VCenters()[0]
	if !vcenters[0].session.LoggedIn(b.t.Context(), session.Credentials{User: vc.User(), Password: config.Secret(password)}) {
		return errors.New("the session is another one")
	}

	return nil
}

// textOf returns the cloud-config for a vCenter with its current password.
func textOf(vc *sim.VCenter) string {
	return fmt.Sprintf("[Global]\nuser = %q\npassword = %q\n%s", vc.User(), vc.Password(), section(vc.Name(), vc))
}

func (b fixture) isLoggedIn(text string) error {
	if !b.LoggedIn(b.t.Context(), parse(b.t, text)) {
		return errors.New("the session is another one")
	}

	return nil
}
