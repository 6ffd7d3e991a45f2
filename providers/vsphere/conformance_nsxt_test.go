package vsphere

import (
	"testing"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/vspheretest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
)

// nsxtAdapter is the test cloud of the suites for load balancers and routes: a manager beside a
// vCenter.
type nsxtAdapter struct {
	*vspheretest.Manager

	vms *adapter
	// ids are the provider IDs of the VMs that have an address.
	ids map[string]string
}

var _ explore.Cloud = (*nsxtAdapter)(nil)

func newNSXTAdapter(t testing.TB, spec nsxt.Spec) *nsxtAdapter {
	t.Helper()
	vms, _ := newAdapter(t).(*adapter)

	return &nsxtAdapter{vspheretest.StartManager(t, spec), vms, map[string]string{}}
}

// connect makes the provider with more sections of the cloud-config.
func (a *nsxtAdapter) connect(t testing.TB, sections string) (*cloud, informers.SharedInformerFactory) {
	t.Helper()
	times := hasty()
	times.session.Dial, times.nsxt.Dial = a.vms.vcenter.Dial, a.Dial
	times.nsxtLogins = login.NewGuard(login.Limits{
		Interval: 15 * time.Second, PerPassword: 2, PerAccount: 3, // the manager locks no account so soon
		Delays: []time.Duration{5 * time.Second}, DelaysIfAccepted: []time.Duration{5 * time.Second},
	}, clock.RealClock{})

	return connectInformed(t, configOf(a.vms.vcenter)+sections+a.Section(t), kubetest.NewClientset(), times)
}

// Create adds a VM.
func (a *nsxtAdapter) Create(t testing.TB, m conformance.Machine) instance.Ref {
	t.Helper()
	ref := a.vms.Create(t, m)
	for _, ip := range append(m.IPs, m.IPv6...) {
		a.ids[ip] = ref.ProviderID
	}

	return ref
}

// Delete deletes a VM.
func (a *nsxtAdapter) Delete(t testing.TB, ref instance.Ref) {
	t.Helper()
	a.vms.Delete(t, ref)
	for ip, id := range a.ids {
		if id == ref.ProviderID {
			delete(a.ids, ip)
		}
	}
}

// SetPower changes the power of a VM.
func (a *nsxtAdapter) SetPower(t testing.TB, ref instance.Ref, power conformance.Power) {
	t.Helper()
	a.vms.SetPower(t, ref, power)
}
