package vsphere

import (
	"fmt"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

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

// TestOSNames goes through every short name of VS-TYPE-1, with the table written
// out here, and sees to it that there is nothing more.
func TestOSNames(t *testing.T) {
	t.Parallel()
	const table = `
asianux3_64Guest asianux3Guest = asianux3
asianux4_64Guest asianux4Guest = asianux4
centos6_64Guest centos6Guest = centos6
centos7_64Guest centos7Guest = centos7
debian4_64Guest debian4Guest = debian4
debian5_64Guest debian5Guest = debian5
debian6_64Guest debian6Guest = debian6
debian7_64Guest debian7Guest = debian7
debian8_64Guest debian8Guest = debian8
debian9_64Guest debian9Guest = debian9
debian10_64Guest debian10Guest = debian10
oracleLinux6_64Guest oracleLinux6Guest = oracleLinux6
oracleLinux7_64Guest oracleLinux7Guest = oracleLinux7
rhel3_64Guest rhel3Guest = rhel3
rhel4_64Guest rhel4Guest = rhel4
rhel5_64Guest rhel5Guest = rhel5
rhel6_64Guest rhel6Guest = rhel6
rhel7_64Guest rhel7Guest = rhel7
sles10_64Guest sles10Guest = sles10
sles11_64Guest sles11Guest = sles11
sles12_64Guest sles12Guest = sles12
solaris10_64Guest solaris10Guest = solaris10

asianux5_64Guest = asianux5
asianux7_64Guest = asianux7
rhel8_64Guest = rhel8
rhel9_64Guest = rhel9
rhel10_64Guest = rhel10
solaris11_64Guest = solaris11

darwin64Guest darwinGuest = darwin
fedora64Guest fedoraGuest = fedora
freebsd64Guest freebsdGuest = freebsd
mandriva64Guest mandrivaGuest = mandriva
opensuse64Guest opensuseGuest = opensuse
oracleLinux64Guest oracleLinuxGuest = oracleLinux
suse64Guest suseGuest = suse
ubuntu64Guest ubuntuGuest = ubuntu
coreos64Guest = coreos

centosGuest = centos
centos64Guest = centos64
dosGuest = dos
eComStationGuest = eComStation
eComStation2Guest = eComStation2
mandrakeGuest = mandrake
netware4Guest = netware4
netware5Guest = netware5
netware6Guest = netware6
nld9Guest = nld9
oesGuest = oes
openServer5Guest = openServer5
openServer6Guest = openServer6
os2Guest = os2
rhel2Guest = rhel2
sjdsGuest = sjds
slesGuest = sles
sles64Guest = sles64
solaris6Guest = solaris6
solaris7Guest = solaris7
solaris8Guest = solaris8
solaris9Guest = solaris9
vmkernelGuest = vmkernel
vmkernel5Guest = vmkernel5
vmkernel6Guest = vmkernel6
vmkernel65Guest = vmkernel65
win31Guest = win31
win95Guest = win95
win98Guest = win98

darwin10Guest darwin11Guest = darwin
darwin10_64Guest darwin11_64Guest darwin12_64Guest darwin13_64Guest darwin14_64Guest darwin15_64Guest darwin16_64Guest = darwin
genericLinuxGuest otherLinuxGuest other24xLinuxGuest other26xLinuxGuest other3xLinuxGuest = linux
otherLinux64Guest other24xLinux64Guest other26xLinux64Guest other3xLinux64Guest = linux
otherGuest otherGuest64 = other
redhatGuest = rhel
vmwarePhoton64Guest = photon

windows7Guest windows7_64Guest = win7
windows7Server64Guest = win7server
windows8Guest windows8_64Guest = win8
windows8Server64Guest = win8server
windows9Guest windows9_64Guest = win10
windows9Server64Guest = win10server

turboLinuxGuest turboLinux64Guest = turbolinux
unixWare7Guest = unixware7
win2000AdvServGuest = win2000advserv
win2000ProGuest = win2000pro
win2000ServGuest = win2000serv
windowsHyperVGuest = windowshyperv
winLonghornGuest winLonghorn64Guest = winlonghorn
winMeGuest = winme
winNetBusinessGuest = winnetbusiness
winNetDatacenterGuest winNetDatacenter64Guest = winnetdatacenter
winNetEnterpriseGuest winNetEnterprise64Guest = winnetenterprise
winNetStandardGuest winNetStandard64Guest = winnetstandard
winNetWebGuest = winnetweb
winNTGuest = winnt
winVistaGuest winVista64Guest = winvista
winXPHomeGuest = winxphome
winXPProGuest winXPPro64Guest = winxppro
`
	want := map[string]string{}
	for line := range strings.Lines(table) {
		if ids, short, ok := strings.Cut(strings.TrimSpace(line), " = "); ok {
			for id := range strings.SplitSeq(ids, " ") {
				want[id] = short
			}
		}
	}
	same(t, "the table", want, shortOSNames())
	for id, short := range want {
		vm := inventory.Details{NumCPU: 2, MemoryMB: 4096, GuestID: id}
		if got := instanceType(&vm); got != fmt.Sprintf("vsphere-vm.cpu-2.mem-4gb.os-%s", short) {
			t.Errorf("%s: got %s", id, got)
		}
	}
	for _, id := range []string{"debian11_64Guest", "rhel8Guest", "centos8_64Guest", "ubuntu_64Guest", "UBUNTU64GUEST", "windows7ServerGuest", "coreosGuest", "darwin12Guest", "genericLinux64Guest", "winMe64Guest", "unknown"} {
		vm := inventory.Details{GuestID: id}
		if got := instanceType(&vm); !strings.HasSuffix(got, ".os-unknown") {
			t.Errorf("%s is not in the table, got %s", id, got)
		}
	}
}
