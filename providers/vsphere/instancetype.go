package vsphere

import (
	"fmt"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

// osNames are the short names of guest systems, by the guest ID of vSphere. It
// is part of a label, so it must not change: systems that are younger than the
// table stay "unknown".
var osNames = shortOSNames()

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

// shortOSNames makes the table out of its rules. In a pattern * is the short
// name; where all names of a rule have one short name, it comes after a >.
func shortOSNames() map[string]string {
	rules := []struct {
		patterns string
		names    string
	}{
		{"*_64Guest *Guest", "asianux3 asianux4 centos6 centos7 debian4 debian5 debian6 debian7 debian8 debian9 debian10 " +
			"oracleLinux6 oracleLinux7 rhel3 rhel4 rhel5 rhel6 rhel7 sles10 sles11 sles12 solaris10"},
		{"*_64Guest", "asianux5 asianux7 rhel8 rhel9 rhel10 solaris11"},
		{"*64Guest *Guest", "darwin fedora freebsd mandriva opensuse oracleLinux suse ubuntu"},
		{"*64Guest", "coreos"},
		{"*Guest", "centos centos64 dos eComStation eComStation2 mandrake netware4 netware5 netware6 nld9 oes " +
			"openServer5 openServer6 os2 rhel2 sjds sles sles64 solaris6 solaris7 solaris8 solaris9 " +
			"vmkernel vmkernel5 vmkernel6 vmkernel65 win31 win95 win98"},
		{"darwin*_64Guest > darwin", "10 11 12 13 14 15 16"},
		{"darwin*Guest > darwin", "10 11"},
		{"*LinuxGuest > linux", "generic other other24x other26x other3x"},
		{"*Linux64Guest > linux", "other other24x other26x other3x"},
		{"*Guest *Guest64 > other", "other"},
		{"*Guest > rhel", "redhat"},
		{"*64Guest > photon", "vmwarePhoton"},
		{"windows7*Guest > win7", "_64 "},
		{"windows8*Guest > win8", "_64 "},
		{"windows9*Guest > win10", "_64 "},
		{"windows*Server64Guest > win*server", "7 8"},
		{"windows*Server64Guest > win10server", "9"},
	}
	table := map[string]string{}
	for _, rule := range rules {
		patterns, short, given := strings.Cut(rule.patterns, " > ")
		if !given {
			short = "*"
		}
		for name := range strings.SplitSeq(rule.names, " ") {
			for pattern := range strings.SplitSeq(patterns, " ") {
				table[strings.Replace(pattern, "*", name, 1)] = strings.Replace(short, "*", name, 1)
			}
		}
	}
	// These have their names in lower case.
	for stem := range strings.SplitSeq("turboLinux winLonghorn winNetDatacenter winNetEnterprise winNetStandard winVista winXPPro", " ") {
		table[stem+"Guest"] = strings.ToLower(stem)
		table[stem+"64Guest"] = strings.ToLower(stem)
	}
	for stem := range strings.SplitSeq("unixWare7 win2000AdvServ win2000Pro win2000Serv windowsHyperV winMe winNetBusiness winNetWeb winNT winXPHome", " ") {
		table[stem+"Guest"] = strings.ToLower(stem)
	}

	return table
}
