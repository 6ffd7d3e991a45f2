package nodes

import (
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

// instanceType is the type of a VM as a Node's label has it. Memory is rounded
// down to whole gigabytes.
func instanceType(vm *inventory.Details) string {
	const megabytes = 1024
	name, ok := osNames[vm.GuestID]
	if !ok {
		name = "unknown"
	}

	return fmt.Sprintf("vsphere-vm.cpu-%d.mem-%dgb.os-%s", vm.NumCPU, vm.MemoryMB/megabytes, name)
}

// osNames are the short names of guest systems, by the guest ID of vSphere. A name is part of a
// label, so it must not change: systems that are younger than the table stay "unknown".
var osNames = map[string]string{
	"asianux3Guest": "asianux3", "asianux3_64Guest": "asianux3",
	"asianux4Guest": "asianux4", "asianux4_64Guest": "asianux4",
	"asianux5_64Guest": "asianux5",
	"asianux7_64Guest": "asianux7",
	"centosGuest":      "centos",
	"centos6Guest":     "centos6", "centos6_64Guest": "centos6",
	"centos64Guest": "centos64",
	"centos7Guest":  "centos7", "centos7_64Guest": "centos7",
	"coreos64Guest": "coreos",
	"darwin10Guest": "darwin", "darwin10_64Guest": "darwin", "darwin11Guest": "darwin", "darwin11_64Guest": "darwin",
	"darwin12_64Guest": "darwin", "darwin13_64Guest": "darwin", "darwin14_64Guest": "darwin", "darwin15_64Guest": "darwin",
	"darwin16_64Guest": "darwin", "darwin64Guest": "darwin", "darwinGuest": "darwin",
	"debian10Guest": "debian10", "debian10_64Guest": "debian10",
	"debian4Guest": "debian4", "debian4_64Guest": "debian4",
	"debian5Guest": "debian5", "debian5_64Guest": "debian5",
	"debian6Guest": "debian6", "debian6_64Guest": "debian6",
	"debian7Guest": "debian7", "debian7_64Guest": "debian7",
	"debian8Guest": "debian8", "debian8_64Guest": "debian8",
	"debian9Guest": "debian9", "debian9_64Guest": "debian9",
	"dosGuest":          "dos",
	"eComStationGuest":  "eComStation",
	"eComStation2Guest": "eComStation2",
	"fedora64Guest":     "fedora", "fedoraGuest": "fedora",
	"freebsd64Guest": "freebsd", "freebsdGuest": "freebsd",
	"genericLinuxGuest": "linux", "other24xLinux64Guest": "linux", "other24xLinuxGuest": "linux",
	"other26xLinux64Guest": "linux", "other26xLinuxGuest": "linux", "other3xLinux64Guest": "linux", "other3xLinuxGuest": "linux",
	"otherLinux64Guest": "linux", "otherLinuxGuest": "linux",
	"mandrakeGuest":   "mandrake",
	"mandriva64Guest": "mandriva", "mandrivaGuest": "mandriva",
	"netware4Guest":    "netware4",
	"netware5Guest":    "netware5",
	"netware6Guest":    "netware6",
	"nld9Guest":        "nld9",
	"oesGuest":         "oes",
	"openServer5Guest": "openServer5",
	"openServer6Guest": "openServer6",
	"opensuse64Guest":  "opensuse", "opensuseGuest": "opensuse",
	"oracleLinux64Guest": "oracleLinux", "oracleLinuxGuest": "oracleLinux",
	"oracleLinux6Guest": "oracleLinux6", "oracleLinux6_64Guest": "oracleLinux6",
	"oracleLinux7Guest": "oracleLinux7", "oracleLinux7_64Guest": "oracleLinux7",
	"os2Guest":   "os2",
	"otherGuest": "other", "otherGuest64": "other",
	"vmwarePhoton64Guest": "photon",
	"redhatGuest":         "rhel",
	"rhel10_64Guest":      "rhel10",
	"rhel2Guest":          "rhel2",
	"rhel3Guest":          "rhel3", "rhel3_64Guest": "rhel3",
	"rhel4Guest": "rhel4", "rhel4_64Guest": "rhel4",
	"rhel5Guest": "rhel5", "rhel5_64Guest": "rhel5",
	"rhel6Guest": "rhel6", "rhel6_64Guest": "rhel6",
	"rhel7Guest": "rhel7", "rhel7_64Guest": "rhel7",
	"rhel8_64Guest": "rhel8",
	"rhel9_64Guest": "rhel9",
	"sjdsGuest":     "sjds",
	"slesGuest":     "sles",
	"sles10Guest":   "sles10", "sles10_64Guest": "sles10",
	"sles11Guest": "sles11", "sles11_64Guest": "sles11",
	"sles12Guest": "sles12", "sles12_64Guest": "sles12",
	"sles64Guest":    "sles64",
	"solaris10Guest": "solaris10", "solaris10_64Guest": "solaris10",
	"solaris11_64Guest": "solaris11",
	"solaris6Guest":     "solaris6",
	"solaris7Guest":     "solaris7",
	"solaris8Guest":     "solaris8",
	"solaris9Guest":     "solaris9",
	"suse64Guest":       "suse", "suseGuest": "suse",
	"turboLinux64Guest": "turbolinux", "turboLinuxGuest": "turbolinux",
	"ubuntu64Guest": "ubuntu", "ubuntuGuest": "ubuntu",
	"unixWare7Guest":  "unixware7",
	"vmkernelGuest":   "vmkernel",
	"vmkernel5Guest":  "vmkernel5",
	"vmkernel6Guest":  "vmkernel6",
	"vmkernel65Guest": "vmkernel65",
	"windows9Guest":   "win10", "windows9_64Guest": "win10",
	"windows9Server64Guest": "win10server",
	"win2000AdvServGuest":   "win2000advserv",
	"win2000ProGuest":       "win2000pro",
	"win2000ServGuest":      "win2000serv",
	"win31Guest":            "win31",
	"windows7Guest":         "win7", "windows7_64Guest": "win7",
	"windows7Server64Guest": "win7server",
	"windows8Guest":         "win8", "windows8_64Guest": "win8",
	"windows8Server64Guest": "win8server",
	"win95Guest":            "win95",
	"win98Guest":            "win98",
	"windowsHyperVGuest":    "windowshyperv",
	"winLonghorn64Guest":    "winlonghorn", "winLonghornGuest": "winlonghorn",
	"winMeGuest":              "winme",
	"winNetBusinessGuest":     "winnetbusiness",
	"winNetDatacenter64Guest": "winnetdatacenter", "winNetDatacenterGuest": "winnetdatacenter",
	"winNetEnterprise64Guest": "winnetenterprise", "winNetEnterpriseGuest": "winnetenterprise",
	"winNetStandard64Guest": "winnetstandard", "winNetStandardGuest": "winnetstandard",
	"winNetWebGuest":  "winnetweb",
	"winNTGuest":      "winnt",
	"winVista64Guest": "winvista", "winVistaGuest": "winvista",
	"winXPHomeGuest":  "winxphome",
	"winXPPro64Guest": "winxppro", "winXPProGuest": "winxppro",
}
