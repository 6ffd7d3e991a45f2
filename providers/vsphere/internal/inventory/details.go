package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"
)

// Details are what only the VM of a Node is read for. They can be large, and the
// guest decides how often they change, so they are not part of the change feed.
// They are never changed once returned.
type Details struct {
	GuestID  string
	NumCPU   int32
	MemoryMB int32

	// NICs are the network interfaces that the tools in the guest report.
	NICs []NIC

	// Metadata is guestinfo.metadata as it was written, MetadataEncoding is
	// how it is encoded. The text of either is empty if it is longer than 64 KiB.
	Metadata         Setting
	MetadataEncoding Setting

	uuid string
}

// Setting is the value of one key of a VM's configuration, or why the account may
// not read it.
type Setting struct {
	Text string
	Err  error
}

const (
	metadataKey       = "guestinfo.metadata"
	metadataEncodedAs = "guestinfo.metadata.encoding"
	// maxMetadata is the longest value that is kept, in bytes: anyone who may
	// configure a VM decides how long it is.
	maxMetadata = 64 << 10
)

// detailProperties lists the properties that make the details of a VM, and where
// they are kept. A nil value means that the property is not set.
var detailProperties = map[string]func(d *Details, val any){
	"summary.config.uuid":          func(d *Details, val any) { d.uuid = normal(as[string](val)) },
	"summary.config.guestId":       func(d *Details, val any) { d.GuestID = as[string](val) },
	"summary.config.numCpu":        func(d *Details, val any) { d.NumCPU = as[int32](val) },
	"summary.config.memorySizeMB":  func(d *Details, val any) { d.MemoryMB = as[int32](val) },
	"guest.net":                    func(d *Details, val any) { d.NICs = nics(as[types.ArrayOfGuestNicInfo](val).GuestNicInfo) },
	extraConfig(metadataKey):       func(d *Details, val any) { d.Metadata.Text = bounded(option(val), maxMetadata) },
	extraConfig(metadataEncodedAs): func(d *Details, val any) { d.MetadataEncoding.Text = bounded(option(val), maxMetadata) },
}

// settings lists the properties without which a Node can be initialized.
var settings = map[string]func(d *Details) *Setting{
	extraConfig(metadataKey):       func(d *Details) *Setting { return &d.Metadata },
	extraConfig(metadataEncodedAs): func(d *Details) *Setting { return &d.MetadataEncoding },
}

// detailPaths are the properties to read, as far as the vCenter returns them.
func (i *Inventory) detailPaths() []string {
	paths := slices.Sorted(maps.Keys(detailProperties))
	if i.noMetadata.Load() {
		paths = slices.DeleteFunc(paths, func(path string) bool { return settings[path] != nil })
	}

	return paths
}

// extraConfig is the path of one element of an array that is keyed by name.
func extraConfig(key string) string { return `config.extraConfig["` + key + `"]` }

// option is the text of a keyed ExtraConfig element.
func option(val any) string { return as[string](as[types.OptionValue](val).Value) }

// Details returns the details of a VM that Find or Confirm found, no older than
// two seconds and the duration of the call that reads them. A call reads up to 1,000
// VMs: others that were described lately, or that [Config.Wanted] lists, share it,
// and their details serve their first callers for as long as a minute unless the change
// feed reported the VM since.
// An error is that of all VMs of the call for a while.
func (i *Inventory) Details(ctx context.Context, vm *VM) (*Details, error) {
	details, err := i.details.get(ctx, vm)
	if err == nil {
		err = details.belongsTo(vm)
	}
	if err != nil {
		return nil, unknown(fmt.Errorf("read details of VM %q (%s) in vCenter %s: %w", vm.Name, vm.Ref.Value, i.cfg.Name, err))
	}

	return details, nil
}

// errNoUUID means that nothing shows whose details were read.
var errNoUUID = errors.New("its UUID cannot be read")

// belongsTo is an error unless the details were read of the VM itself: a managed
// object reference can be that of another VM after vCenter was restored.
func (d *Details) belongsTo(vm *VM) error {
	switch {
	case vm.UUID == "" || vm.UUID == d.uuid:
		return nil
	case d.uuid == "":
		return errNoUUID
	}

	return fmt.Errorf("its UUID is %s now and not %s", d.uuid, vm.UUID)
}

// describe makes details of what was read. A property that cannot be read is an
// error, but for settings that the account may not read.
func describe(ctx context.Context, content types.ObjectContent) (*Details, error) {
	d := &Details{}
	for _, p := range content.PropSet {
		if assign, ok := detailProperties[p.Name]; ok {
			assign(d, p.Val)
		}
		if size := len(option(p.Val)); size > maxMetadata {
			klog.FromContext(ctx).V(2).Info("Metadata of VM is too long, doing without",
				"ref", content.Obj.Value, "property", p.Name, "bytes", size)
		}
	}
	for _, missing := range content.MissingSet {
		err := fmt.Errorf("read property %s: %w", missing.Path, soap.WrapVimFault(missing.Fault.Fault))
		setting, optional := settings[missing.Path]
		if _, denied := missing.Fault.Fault.(*types.NoPermission); !optional || !denied {
			return nil, err
		}
		setting(d).Err = err
	}

	return d, nil
}
