// Package vspheretest has the simulated NSX-T manager as tests of this provider use it.
package vspheretest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// Tier1 is the path of the gateway that a manager has.
const Tier1 = "/infra/tier-1s/t1"

// Manager is a simulated NSX-T manager.
type Manager struct{ *nsxt.Cloud }

// StartManager starts a manager in memory, which ends with the test.
func StartManager(t testing.TB, spec nsxt.Spec) *Manager {
	t.Helper()
	spec.Server.InMemory = true
	spec.Tier1s = append([]nsxt.Tier1{{ID: "t1", EdgeCluster: true}}, spec.Tier1s...)
	cloud, err := nsxt.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})

	return &Manager{cloud}
}

// Section is the section of a cloud-config about the manager, with the account admin.
func (m *Manager) Section(t testing.TB) string {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "nsxt.pem")
	if err := os.WriteFile(ca, m.CertificatePEM(), 0o600); err != nil {
		t.Fatal(err)
	}

	return fmt.Sprintf("[NSXT]\nhost = %s\nuser = admin\npassword = secret\nca-file = %s\n", m.Host(), ca)
}

// Calls implements explore.Cloud.
func (m *Manager) Calls() int { return m.Interceptor().Total() }

// Writes implements conformance.MutableCloud.
func (m *Manager) Writes() int {
	n := 0
	for _, count := range m.Cloud.Writes() {
		n += count
	}

	return n
}

// InjectFault implements explore.Cloud.
func (m *Manager) InjectFault(_ testing.TB, i explore.Injection) (hits func() int) {
	when := simserver.From(i.First)
	if i.Once {
		when = simserver.Nth(i.First)
	}

	return m.Interceptor().Inject(simserver.Any, when, faultOf(i)).Hits
}

func faultOf(i explore.Injection) simserver.Fault {
	switch i.Fault {
	case explore.Throttled:
		return nsxt.Fault(http.StatusTooManyRequests, 0)
	case explore.Failed:
		return nsxt.Fault(http.StatusInternalServerError, 607)
	case explore.Dropped:
		return simserver.Drop()
	case explore.Lost:
		return simserver.DropResponse()
	case explore.Killed, explore.KilledLate:
	}

	return simserver.Kill(i.Kill, i.Fault.Applied())
}

// InjectFailure implements conformance.Cloud.
func (m *Manager) InjectFailure(_ testing.TB, failure conformance.Failure) {
	inject := func(fault simserver.Fault) { m.Interceptor().Inject(simserver.Any, simserver.Always(), fault) }
	switch failure {
	case conformance.Unreachable:
		m.Server().Down()
	case conformance.Hanging:
		m.Server().Hang()
	case conformance.Refusing:
		inject(nsxt.Fault(http.StatusForbidden, 403))
	case conformance.Throttling:
		inject(nsxt.Fault(http.StatusTooManyRequests, 0))
	case conformance.ProxyNotFound, conformance.ProxyOK, conformance.ProxyBadGateway:
		inject(simserver.Page(failure.Page()))
	}
}

// ClearFaults implements conformance.Cloud.
func (m *Manager) ClearFaults(t testing.TB) {
	t.Helper()
	m.Interceptor().Clear()
	if err := m.Server().Up(); err != nil {
		t.Fatal(err)
	}
}
