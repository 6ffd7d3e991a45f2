package vsphere

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// All vCenters of a cloud-config share the limit of rejected logins: with a
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
		vcenters, _ := b.source.current()
		for _, vc := range vcenters {
			if vc.inventory.Status().Err == nil {
				return fmt.Errorf("%s has not failed", vc.name)
			}
		}
		if len(vcenters) != len(spec.VCenters) {
			return fmt.Errorf("%d vCenters are known", len(vcenters))
		}

		return nil
	})
	if n := len(first.RefusedLogins()); n != 2 || first.Lockouts() != 0 {
		t.Errorf("%d rejected logins, %d lockouts, want 2 and none", n, first.Lockouts())
	}
}

// VS-AUTH-7 over restarts: the processes of one cluster share the limit of rejected
// logins by a Lease, which has neither the password nor the user.
func TestRestartsDoNotLockTheAccount(t *testing.T) {
	t.Parallel()
	a := &adapter{vcenter: startVCenter(t, one())}
	client := kubetest.NewClientset()
	text := fmt.Sprintf("[Global]\nuser = %q\npassword = wr0ng\n%s", a.vcenter.User(), section("vc", a.vcenter))
	for range 4 {
		b := fixture{cloud: connectWith(t, text, client), t: t}
		b.eventually("the login fails", func() error {
			vcenters, _ := b.source.current()
			if len(vcenters) != 1 || vcenters[0].inventory.Status().Err == nil {
				return errors.New("it has not failed")
			}

			return nil
		})
	}
	// The delay after the first one is for all processes, and may have passed once.
	if n := len(a.vcenter.RefusedLogins()); n < 1 || n > 2 || a.vcenter.Lockouts() != 0 {
		t.Errorf("%d rejected logins of four processes, %d lockouts, want one or two and none", n, a.vcenter.Lockouts())
	}
	lease, err := client.CoordinationV1().Leases(login.LeaseNamespace).Get(t.Context(), login.LeaseName(ProviderName), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored := fmt.Sprint(lease.Annotations)
	if !strings.Contains(stored, `"refused":true`) || strings.Contains(stored, "wr0ng") || strings.Contains(stored, a.vcenter.User()) {
		t.Errorf("stored: %s", stored)
	}
}
