package vsphere

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// TestTakes (VS-AUTH-5, FW-CONFIG-16): a user and a password in a proven file replace those in use without
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
		"no file that can be used":             rotated + "[Labels\n",
		"a vCenter more, with credentials too": rotated + section("other", vc),
	} {
		if file, err := config.Parse("cloud.conf", []byte(text)); err == nil && b.Takes(t.Context(), file, provider.Proof{}) {
			t.Errorf("%s: the cloud takes the file", reason)
		}
	}
	if b.isLoggedIn(rotated) == nil {
		t.Error("nothing has replaced the session")
	}
	if !b.Takes(t.Context(), parse(t, rotated), provider.Proof{}) {
		t.Fatal("the cloud does not take other credentials")
	}
	b.eventually("the session is replaced", func() error { return b.isLoggedIn(rotated) })
	if n := len(vc.RefusedLogins()); n != 0 {
		t.Errorf("%d logins were refused", n)
	}
}

// TestPasswordReachesFileFirst (VS-AUTH-5, FW-CONFIG-11): a password that is in the file before vCenter has it is tried
// once vCenter refuses the old one, after one refused login.
func TestPasswordReachesFileFirst(t *testing.T) {
	t.Parallel()
	b := newFixture(t, "", one())
	vc := b.fleet.VCenters()[0]
	b.eventually("the session is that of the old file", func() error { return b.isLoggedIn(b.text) })
	file := strings.Replace(b.text, vc.Password(), "rotated", 1)
	if b.isLoggedIn(file) == nil {
		t.Error("nothing is logged in with the new password")
	}
	vc.SetPassword("rotated")
	vc.TerminateSessions()
	b.eventually("the new password is used", func() error { return b.isLoggedIn(file) })
	if n := len(vc.RefusedLogins()); n > 1 {
		t.Errorf("%d logins were refused", n)
	}
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
