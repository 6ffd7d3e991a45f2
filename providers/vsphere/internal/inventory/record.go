package inventory

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// record is what the inventory keeps of a VM. A vCenter can have tens of
// thousands of them that are no Nodes, so it holds references to shared
// values instead of copies of them.
type record struct {
	reported

	value string // of the reference
	// observed is when the vCenter last reported about the VM.
	observed time.Time
	// since is the change that brought the VM.
	since uint64
	// reading is the reading of the whole inventory that last reported the VM.
	reading uint32
	// datacenter is that of the VM, nil while it is not known.
	datacenter *ancestor
	// scopeKnown means that it is known whether the VM counts, inScope that it
	// does and wasInScope that it ever did.
	scopeKnown bool
	inScope    bool
	wasInScope bool
}

// reported is what the vCenter reports of a VM.
type reported struct {
	name       string
	uuid       string
	hostName   string
	ipAddress  string
	power      types.VirtualMachinePowerState
	connection types.VirtualMachineConnectionState

	// template and secondary mean that the VM is not a machine of its own: it
	// never runs, or it is the shadow of another VM.
	template  bool
	secondary bool

	host   *ancestor
	pool   *ancestor
	parent *ancestor
	vApp   *ancestor
}

// maxText is the longest text of the guest that is kept, in bytes: DNS has no
// longer host names.
const maxText = 255

// recordProperties lists the properties of a VM that the change feed reports,
// and where they are kept. A nil value means that the property is not set.
var recordProperties = map[string]func(r *reported, t *tree, val any){
	"name":               func(r *reported, _ *tree, val any) { r.name = as[string](val) },
	"parent":             func(r *reported, t *tree, val any) { r.parent = t.at(ref(val)) },
	"parentVApp":         func(r *reported, t *tree, val any) { r.vApp = t.at(ref(val)) },
	"resourcePool":       func(r *reported, t *tree, val any) { r.pool = t.at(ref(val)) },
	"runtime.host":       func(r *reported, t *tree, val any) { r.host = t.at(ref(val)) },
	"runtime.powerState": func(r *reported, _ *tree, val any) { r.power = intern(as[types.VirtualMachinePowerState](val)) },
	"runtime.connectionState": func(r *reported, _ *tree, val any) {
		r.connection = intern(as[types.VirtualMachineConnectionState](val))
	},
	// The UUID that a VM once had is kept when the vCenter cannot read it any
	// more: the VM's files are out of reach, no more.
	"summary.config.uuid":     func(r *reported, _ *tree, val any) { r.uuid = cmp.Or(normal(as[string](val)), r.uuid) },
	"summary.config.template": func(r *reported, _ *tree, val any) { r.template = as[bool](val) },
	// The primary of a Fault Tolerance group has 1, the others more.
	// https://developer.broadcom.com/xapis/virtual-infrastructure-json-api/latest/data-structures/FaultToleranceConfigInfo
	"summary.config.ftInfo.role": func(r *reported, _ *tree, val any) { r.secondary = as[int32](val) > 1 },

	"guest.hostName":  func(r *reported, _ *tree, val any) { r.hostName = bounded(as[string](val), maxText) },
	"guest.ipAddress": func(r *reported, _ *tree, val any) { r.ipAddress = bounded(as[string](val), maxText) },
}

// recordPaths are the properties that the change feed reports of each VM.
func recordPaths() []string { return slices.Sorted(maps.Keys(recordProperties)) }

// set takes over one property. Paths that were not requested are ignored.
func (r *reported) set(t *tree, path string, val any) {
	if assign, ok := recordProperties[path]; ok {
		assign(r, t, val)
	}
}

// bounded is a text, or nothing if it is longer than limit.
func bounded(text string, limit int) string {
	if len(text) > limit {
		return ""
	}

	return text
}

// standsIn reports whether a VM is not a machine of its own, although it has the
// UUID of one: it is a template or the secondary of a Fault Tolerance group.
func (r *reported) standsIn() bool { return r.template || r.secondary }

func (r *record) ref() Ref { return Ref{Type: typeVM, Value: r.value} }

// ancestors are the places that a VM refers to; each can be nil.
func (r *reported) ancestors() [4]*ancestor { return [...]*ancestor{r.host, r.pool, r.parent, r.vApp} }

// snapshot is the VM as it is now, for others to keep.
func (r *record) snapshot() *VM {
	return &VM{
		Ref:        r.ref(),
		Name:       r.name,
		UUID:       r.uuid,
		HostName:   r.hostName,
		IPAddress:  r.ipAddress,
		Power:      r.power,
		Connection: r.connection,
		Host:       r.host.reference(),
		Pool:       r.pool.reference(),
		Parent:     r.parent.reference(),
		ParentVApp: r.vApp.reference(),
		Datacenter: r.datacenter.reference(),
		InScope:    r.inScope,
		Observed:   r.observed,
	}
}

// interned are texts that repeat in every VM: one copy serves all.
var interned = func() map[string]string {
	texts := map[string]string{}
	for _, text := range slices.Concat(viewTypes,
		[]string{"ClusterComputeResource", "VirtualApp", "StoragePod"},
		types.VirtualMachinePowerState("").Strings(), types.VirtualMachineConnectionState("").Strings(),
	) {
		texts[text] = text
	}

	return texts
}()

// intern returns the shared copy of a text, if there is one.
func intern[T ~string](text T) T {
	if shared, ok := interned[string(text)]; ok {
		return T(shared)
	}

	return text
}

// normal is the form in which UUIDs and host names are compared.
func normal(text string) string { return strings.ToLower(strings.TrimSpace(text)) }
