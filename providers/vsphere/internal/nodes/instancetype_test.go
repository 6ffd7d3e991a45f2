package nodes

import (
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

// TestInstanceType (VS-TYPE-1): the type has CPUs, memory and the short name of the guest system.
func TestInstanceType(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		vm     inventory.Details
		want   string
	}{
		"example":         {"CPUs, memory and guest ID of the VM", inventory.Details{NumCPU: 2, MemoryMB: 4096, GuestID: "ubuntu64Guest"}, "vsphere-vm.cpu-2.mem-4gb.os-ubuntu"},
		"little memory":   {"512 MB", inventory.Details{NumCPU: 1, MemoryMB: 512, GuestID: "otherGuest"}, "vsphere-vm.cpu-1.mem-0gb.os-other"},
		"rounded down":    {"integer division", inventory.Details{NumCPU: 8, MemoryMB: 16383, GuestID: "rhel9_64Guest"}, "vsphere-vm.cpu-8.mem-15gb.os-rhel9"},
		"windows 2019":    {"unlisted, keep it so", inventory.Details{NumCPU: 4, MemoryMB: 8192, GuestID: "windows2019srv_64Guest"}, "vsphere-vm.cpu-4.mem-8gb.os-unknown"},
		"no guest system": {"unlisted", inventory.Details{NumCPU: 4, MemoryMB: 8192}, "vsphere-vm.cpu-4.mem-8gb.os-unknown"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := instanceType(&tc.vm); got != tc.want {
				t.Errorf("%s: want %s, got %s", tc.reason, tc.want, got)
			}
		})
	}
}

// TestUnknownOS (VS-TYPE-1): what is not in the table has no short name, also if it looks like what is.
func TestUnknownOS(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"debian11_64Guest", "rhel8Guest", "centos8_64Guest", "ubuntu_64Guest", "UBUNTU64GUEST", "windows7ServerGuest", "coreosGuest", "darwin12Guest", "genericLinux64Guest", "winMe64Guest", "unknown"} {
		vm := inventory.Details{GuestID: id}
		if got := instanceType(&vm); !strings.HasSuffix(got, ".os-unknown") {
			t.Errorf("%s is not in the table, got %s", id, got)
		}
	}
}
