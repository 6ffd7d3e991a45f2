package inventory

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

const (
	foreignVMs = 10_000
	// vmLimit is how much memory a VM may take that is no Node of the cluster.
	vmLimit = 1 << 10
)

// wireVM is a VM of another user as a vCenter reports it: 4 virtual network
// cards and 16 interfaces of containers with up to 32 addresses each, and 64 KiB
// of metadata. Only what the filter requests is sent.
func wireVM(n int) types.ObjectUpdate {
	report := map[string]func() any{
		"name":                    func() any { return fmt.Sprintf("tenant-%03d-worker-%05d", n%200, n) },
		"parent":                  func() any { return Ref{Type: "Folder", Value: fmt.Sprintf("group-v%d", 1000+n%200)} },
		"resourcePool":            func() any { return Ref{Type: "ResourcePool", Value: fmt.Sprintf("resgroup-%d", 2000+n%50)} },
		"runtime.host":            func() any { return Ref{Type: "HostSystem", Value: fmt.Sprintf("host-%d", 3000+n%300)} },
		"runtime.powerState":      func() any { return types.VirtualMachinePowerStatePoweredOn },
		"runtime.connectionState": func() any { return types.VirtualMachineConnectionStateConnected },
		"summary.config.uuid":     func() any { return fmt.Sprintf("423740e7-c66e-05e3-9d0b-%012x", n) },
		"guest.hostName":          func() any { return fmt.Sprintf("tenant-%03d-worker-%05d.example.com", n%200, n) },
		"guest.ipAddress":         func() any { return fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&0xff, n&0xff) },
		"summary.config.guestId":  func() any { return "ubuntu64Guest" },
		"guest.net":               func() any { return wireNICs(n) },
		extraConfig(metadataKey): func() any {
			return types.OptionValue{Key: metadataKey, Value: strings.Repeat("a", maxMetadata)}
		},
	}
	var changes []any
	for _, path := range filterSpec(Ref{}).PropSet[0].PathSet {
		if value, ok := report[path]; ok {
			changes = append(changes, path, value())
		}
	}

	return enter(typeVM, fmt.Sprintf("vm-%d", 10_000+n), changes...)
}

func wireNICs(n int) types.ArrayOfGuestNicInfo {
	var infos []types.GuestNicInfo
	for nic := range 20 {
		info := types.GuestNicInfo{Network: "VM Network", DeviceConfigId: int32(4000 + nic)}
		if nic >= 4 {
			info.DeviceConfigId = noDevice
		}
		for ip := range 2 + (nic+n)%31 {
			info.IpAddress = append(info.IpAddress, fmt.Sprintf("10.%d.%d.%d", nic, n&0xff, ip))
		}
		infos = append(infos, info)
	}

	return types.ArrayOfGuestNicInfo{GuestNicInfo: infos}
}

// overTheWire is what the SDK decodes of a response to WaitForUpdatesEx.
func overTheWire(t *testing.T, updates []types.ObjectUpdate) []types.ObjectUpdate {
	t.Helper()
	var text bytes.Buffer
	sent := &methods.WaitForUpdatesExBody{Res: &types.WaitForUpdatesExResponse{
		Returnval: &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: updates}}},
	}}
	ok(t, xml.NewEncoder(&text).Encode(soap.Envelope{Body: sent}))
	got := &methods.WaitForUpdatesExBody{}
	decoder := xml.NewDecoder(&text)
	decoder.TypeFunc = types.TypeFunc()
	ok(t, decoder.Decode(&soap.Envelope{Body: got}))

	updates, _ = updatesOf(got.Res.Returnval)

	return updates
}

// liveHeap is the memory that is in use.
func liveHeap() int {
	runtime.GC()
	runtime.GC() // what finalizers of the first left over
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)

	return int(stats.HeapAlloc)
}

// readForeign reads VMs of a large vCenter.
func readForeign(t *testing.T, i *Inventory, vms int) {
	t.Helper()
	i.store.beginReading(false)
	for first := 0; first < vms; first += 100 {
		var page []types.ObjectUpdate
		for n := range 100 {
			page = append(page, wireVM(first+n))
		}
		i.store.apply(overTheWire(t, page), time.Now())
	}
}

// TestMemoryOfForeignVMs runs alone: other tests use the same heap. A VM that is
// no Node takes less than 1 KiB, whatever its guest reports, and reading the
// inventory again takes no more than having it.
func TestMemoryOfForeignVMs(t *testing.T) { //nolint:paralleltest // measures the heap
	i := stored(nil, twoDatacenters())
	before := liveHeap()
	readForeign(t, i, foreignVMs)
	i.store.endReading()
	held := liveHeap() - before
	readForeign(t, i, foreignVMs/10)
	again := liveHeap() - before
	t.Logf("%d VMs take %d bytes each, %d while they are read again", foreignVMs, held/foreignVMs, again/foreignVMs)
	if limit := foreignVMs * vmLimit; held > limit || again > held+limit/100 {
		t.Errorf("%d VMs take %d bytes, and %d while they are read again, want at most %d", foreignVMs, held, again, limit)
	}
	if got, _ := i.store.size(); got != foreignVMs {
		t.Errorf("%d VMs are known, want %d", got, foreignVMs)
	}
}
