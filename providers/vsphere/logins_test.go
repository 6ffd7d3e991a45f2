package vsphere

import (
	"fmt"
	"strings"
	"testing"

	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// VS-AUTH-7: all vCenters of a cloud-config share the limit of refused logins: with a
// wrong password they do not lock the account, although all connect at the same
// time.
func TestVCentersDoNotLockTheAccount(t *testing.T) {
	t.Parallel()
	spec := sim.Spec{Linked: make([][]string, 1)}
	for i := range 6 {
		name := fmt.Sprintf("vc-%d", i)
		spec.VCenters = append(spec.VCenters, sim.VCenterSpec{Name: name})
		spec.Linked[0] = append(spec.Linked[0], name)
	}
	fleet, err := sim.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
	first := fleet.VCenters()[0]
	var text strings.Builder
	fmt.Fprintf(&text, "[Global]\nuser = %q\npassword = wrong\n", first.User())
	for _, vc := range fleet.VCenters() {
		text.WriteString(section(vc.Name(), vc))
	}
	b := fixture{cloud: connect(t, text.String()), t: t, fleet: fleet}
	b.eventually("the login to each vCenter fails", func() error {
		vcenters, _ := b.current()
		for _, vc := range vcenters {
			if vc.Inventory.Status().Err == nil {
				return fmt.Errorf("%s has not failed", vc.Name)
			}
		}
		if len(vcenters) != len(spec.VCenters) {
			return fmt.Errorf("%d vCenters are known", len(vcenters))
		}

		return nil
	})
	if n := len(first.RefusedLogins()); n != 1 || first.Lockouts() != 0 {
		t.Errorf("%d refused logins, %d lockouts, want 1 and none", n, first.Lockouts())
	}
}
