package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
)

// Details are what only the VM of a Node is read for. They can be large, and the
// guest decides how often they change, so they are not part of the change feed.
// They are never changed once handed out.
type Details struct {
	GuestID  string
	NumCPU   int32
	MemoryMB int32

	// NICs are the network interfaces that the tools in the guest report.
	NICs []NIC

	// Metadata is guestinfo.metadata as it was written, MetadataEncoding says
	// how it is encoded. Either is empty if it is longer than 64 KiB.
	Metadata         string
	MetadataEncoding string

	uuid string
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
	extraConfig(metadataKey):       func(d *Details, val any) { d.Metadata = bounded(option(val), maxMetadata) },
	extraConfig(metadataEncodedAs): func(d *Details, val any) { d.MetadataEncoding = bounded(option(val), maxMetadata) },
}

// extraConfig is the path of one element of an array that is keyed by name.
func extraConfig(key string) string { return `config.extraConfig["` + key + `"]` }

// option is the text of a keyed ExtraConfig element.
func option(val any) string { return as[string](as[types.OptionValue](val).Value) }

const (
	// gatherWindow is how long the first caller waits for others to share a call.
	gatherWindow = 100 * time.Millisecond
	// detailsTimeout bounds the call: one that hangs delays all Nodes.
	detailsTimeout = 15 * time.Second
	// maxVanished is how many VMs may vanish while they are read.
	maxVanished = 16
)

// describer reads details of VMs, those of many in one call. It is safe for
// concurrent use.
type describer struct {
	inventory *Inventory
	batch     *batch.Batcher[Ref, *Details]

	mu       sync.Mutex
	known    map[Ref]*description
	asked    map[Ref]time.Time // the VMs that are described regularly
	failed   error             // of the latest call, nil if it succeeded
	failedAt time.Time
}

// description is the details of one VM with what they are worth.
type description struct {
	details *Details
	err     error
	begun   time.Time // when the call that read them began
	ended   time.Time
	used    bool // whether they were handed out before
}

func newDescriber(i *Inventory) *describer {
	d := &describer{inventory: i, known: map[Ref]*description{}, asked: map[Ref]time.Time{}}
	d.batch = batch.New(d.read, batch.Options{Window: gatherWindow, Timeout: min(i.cfg.CallTimeout, detailsTimeout)})

	return d
}

// Details returns the details of a VM that Find or Confirm found, no older than
// two seconds and the duration of the call that reads them. A call reads the
// details of all VMs as well that were described lately or that [Config.Wanted]
// lists, and theirs serve their first callers for as long as 30 s unless the change
// feed reported the VM since.
// After a call that failed, its error is everybody's for a while.
func (i *Inventory) Details(ctx context.Context, vm *VM) (*Details, error) {
	details, err := i.details.get(ctx, vm)
	if err == nil && details.uuid != "" && vm.UUID != "" && details.uuid != vm.UUID {
		err = fmt.Errorf("its UUID is %s now and not %s", details.uuid, vm.UUID)
	}
	if err != nil {
		return nil, unknown(fmt.Errorf("read details of VM %q (%s) in vCenter %s: %w", vm.Name, vm.Ref.Value, i.cfg.Name, err))
	}

	return details, nil
}

func (d *describer) get(ctx context.Context, vm *VM) (*Details, error) {
	if details, err, ok := d.recent(vm); ok {
		return details, err
	}
	details, err := d.batch.Get(ctx, vm.Ref)
	if err == nil {
		d.use(vm.Ref)
	}

	return details, err //nolint:wrapcheck // the caller says which VM
}

// recent returns what is known well enough.
func (d *describer) recent(vm *VM) (*Details, error, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()

	now := d.inventory.cfg.Now()
	d.asked[vm.Ref] = now
	if d.failed != nil && now.Sub(d.failedAt) < d.inventory.cfg.DetailsErrorTTL {
		return nil, d.failed, true
	}
	known, ok := d.known[vm.Ref]
	if !ok || known.begun.Before(vm.Observed) {
		return nil, nil, false
	}
	limit := d.inventory.cfg.DetailsTTL
	if !known.used {
		limit = max(limit, unusedTTL)
	}
	if now.Sub(known.ended) > limit {
		return nil, nil, false
	}
	known.used = true

	return known.details, known.err, true
}

// unusedTTL is the age at which details that were read for others' sake are of no
// use any more.
const unusedTTL = 30 * time.Second

// regularly is the longest time between two calls for a VM that is described
// regularly: the Nodes are updated every five minutes.
const regularly = 15 * time.Minute

// forget forgets everything that was read.
func (d *describer) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()

	clear(d.known)
	clear(d.asked)
}

func (d *describer) use(r Ref) {
	d.mu.Lock()
	defer d.mu.Unlock()

	if known, ok := d.known[r]; ok {
		known.used = true
	}
}

// read makes one call for the given VMs and those that are wanted soon.
func (d *describer) read(ctx context.Context, keys []Ref) (map[Ref]batch.Result[*Details], error) {
	i := d.inventory
	begun := i.cfg.Now()
	wanted := slices.Concat(keys, d.regular(begun), i.wanted())
	slices.SortFunc(wanted, byValue)
	results, err := i.readDetails(ctx, slices.Compact(wanted))

	d.mu.Lock()
	defer d.mu.Unlock()
	now := i.cfg.Now()
	d.failed, d.failedAt = err, now
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(d.known, func(_ Ref, known *description) bool { return now.Sub(known.ended) > unusedTTL })
	for r, result := range results {
		d.known[r] = &description{details: result.Value, err: result.Err, begun: begun, ended: now}
	}

	return results, nil
}

// regular lists the VMs that are described regularly and still there.
func (d *describer) regular(now time.Time) []Ref {
	d.mu.Lock()
	defer d.mu.Unlock()

	maps.DeleteFunc(d.asked, func(_ Ref, at time.Time) bool { return now.Sub(at) > regularly })

	return d.inventory.store.present(slices.Collect(maps.Keys(d.asked)))
}

// wanted lists the VMs of [Config.Wanted], as far as they are known.
func (i *Inventory) wanted() []Ref {
	var refs []Ref
	for _, q := range i.cfg.Wanted() {
		refs = append(refs, i.store.matching(q)...)
	}

	return refs
}

// readDetails reads the details of VMs. One that is not there any more has an
// error of its own: the vCenter refuses to read any if one is missing.
func (i *Inventory) readDetails(ctx context.Context, refs []Ref) (map[Ref]batch.Result[*Details], error) {
	results := map[Ref]batch.Result[*Details]{}
	for range maxVanished {
		if len(refs) == 0 {
			return results, nil
		}
		contents, err := i.retrieve(ctx, refs, i.detailPaths())
		if gone, ok := missingObject(err); ok && slices.Contains(refs, gone) {
			results[gone] = batch.Result[*Details]{Err: err}
			refs = slices.DeleteFunc(refs, func(r Ref) bool { return r == gone })

			continue
		}
		if fault.Is(err, &types.InvalidProperty{}) && i.noMetadata.CompareAndSwap(false, true) {
			klog.FromContext(ctx).Info("vCenter does not tell guestinfo of VMs, doing without", "err", err)

			continue
		}
		if err != nil {
			return nil, err
		}
		for _, content := range contents {
			results[ref(content.Obj)] = batch.Result[*Details]{Value: describe(ctx, content)}
		}

		return results, nil
	}

	return nil, errors.New("too many VMs vanished while they were read")
}

// refusal is an error of the SDK that a vCenter answered with.
type refusal interface {
	error
	Fault() types.BaseMethodFault
}

// missingObject is the object that a ManagedObjectNotFound fault is about.
func missingObject(err error) (Ref, bool) {
	refused, ok := errors.AsType[refusal](err)
	if !ok {
		return Ref{}, false
	}
	gone, ok := refused.Fault().(*types.ManagedObjectNotFound)
	if !ok {
		return Ref{}, false
	}

	return ref(gone.Obj), true
}

// describe makes details of what was read.
func describe(ctx context.Context, content types.ObjectContent) *Details {
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

	return d
}

// detailPaths are the properties to read, as far as the vCenter tells them.
func (i *Inventory) detailPaths() []string {
	paths := slices.Sorted(maps.Keys(detailProperties))
	if i.noMetadata.Load() {
		paths = slices.DeleteFunc(paths, func(path string) bool {
			return path == extraConfig(metadataKey) || path == extraConfig(metadataEncodedAs)
		})
	}

	return paths
}

// retrieve reads properties of VMs. A single one that is not there any more fails
// them all.
func (i *Inventory) retrieve(ctx context.Context, refs []Ref, paths []string) ([]types.ObjectContent, error) {
	spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: typeVM, PathSet: paths}}}
	for _, r := range refs {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: r})
	}
	var contents []types.ObjectContent
	err := i.call(ctx, func(ctx context.Context, c *vim25.Client) error {
		var err error
		contents, err = mo.RetrievePropertiesEx(ctx, c, types.RetrievePropertiesEx{
			This:    c.ServiceContent.PropertyCollector,
			SpecSet: []types.PropertyFilterSpec{spec},
		})
		for _, content := range contents {
			if err == nil {
				err = authenticated(content.MissingSet)
			}
		}

		return err
	})
	if err == nil && len(contents) != len(refs) {
		err = fmt.Errorf("%d results", len(contents))
	}
	if err != nil {
		return nil, fmt.Errorf("read %d VMs, first %s: %w", len(refs), refs[0].Value, err)
	}

	return contents, nil
}
