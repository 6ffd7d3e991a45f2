package vsphere

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds the waits of tests that would otherwise never end.
const patience = 5 * time.Minute

// everything is what the providers watch.
var everything = []string{"VirtualMachine", "HostSystem", "ComputeResource", "ResourcePool", "Folder", "Datacenter"}

// small is a vCenter with one datacenter, a cluster of two hosts and two VMs.
func small() Spec {
	return Spec{VCenters: []VCenterSpec{{Name: "vc", Datacenters: []DatacenterSpec{{
		Name:     "dc",
		Clusters: []ClusterSpec{{Name: "cluster", Hosts: []HostSpec{{Name: "host-1"}, {Name: "host-2"}}}},
		VMs: []VMSpec{
			{Name: "one", Host: "host-1", NICs: []NIC{{IPs: []string{"10.0.0.1", "fd00::1"}}}},
			{Name: "two", Host: "host-2", NICs: []NIC{{IPs: []string{"10.0.0.2"}}}},
		},
	}}}}}
}

func start(t *testing.T, spec Spec) *Cloud {
	t.Helper()
	cloud, err := Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})

	return cloud
}

func login(t *testing.T, v *VCenter) *govmomi.Client {
	t.Helper()
	c, err := tryLogin(t.Context(), v, v.Password())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)

	return c
}

func tryLogin(ctx context.Context, v *VCenter, password string) (*govmomi.Client, error) {
	u := v.URL()
	u.User = url.UserPassword(v.User(), password)

	return govmomi.NewClient(ctx, u, true)
}

func loginREST(t *testing.T, v *VCenter, c *govmomi.Client) *rest.Client {
	t.Helper()
	r := rest.NewClient(c.Client)
	if err := r.Login(t.Context(), url.UserPassword(v.User(), v.Password())); err != nil {
		t.Fatal(err)
	}

	return r
}

// watch is a client's change feed over the whole inventory.
type watch struct {
	client    *govmomi.Client
	collector *property.Collector
	filter    *property.Filter
	version   string
}

// vmPaths are the properties that a provider needs of a VM.
var vmPaths = []string{
	"name", "parent", "parentVApp", "resourcePool",
	"summary.config.uuid", "summary.config.guestId", "summary.config.numCpu", "summary.config.memorySizeMB",
	"guest.hostName", "guest.net", "runtime.powerState", "runtime.connectionState", "runtime.host",
	`config.extraConfig["guestinfo.metadata"]`,
}

func viewFilter(root types.ManagedObjectReference, sets ...types.PropertySpec) types.CreateFilter {
	return types.CreateFilter{Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{
			Obj: root, Skip: new(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ContainerView", Path: "view"}},
		}},
		PropSet: sets,
	}}
}

func startWatch(t *testing.T, c *govmomi.Client) *watch {
	t.Helper()
	made, err := view.NewManager(c.Client).CreateContainerView(t.Context(), c.ServiceContent.RootFolder, everything, true)
	if err != nil {
		t.Fatal(err)
	}
	collector, err := property.DefaultCollector(c.Client).Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	filter, err := collector.CreateFilter(t.Context(), viewFilter(made.Reference(),
		types.PropertySpec{Type: "VirtualMachine", PathSet: vmPaths},
		types.PropertySpec{Type: "ManagedEntity", PathSet: []string{"name", "parent"}},
	))
	if err != nil {
		t.Fatal(err)
	}

	return &watch{client: c, collector: collector, filter: filter}
}

// poll waits for changes for at most the given time, and returns nil when none
// came.
func (w *watch) poll(ctx context.Context, wait time.Duration) (*types.UpdateSet, error) {
	res, err := methods.WaitForUpdatesEx(ctx, w.client, &types.WaitForUpdatesEx{
		This: w.collector.Reference(), Version: w.version,
		Options: &types.WaitOptions{MaxWaitSeconds: new(int32(wait.Seconds()))},
	})
	if err != nil {
		return nil, err
	}

	return res.Returnval, nil
}

// next polls once and returns the updates, and whether there is more to page
// in.
func (w *watch) next(ctx context.Context) ([]types.ObjectUpdate, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	set, err := w.poll(ctx, patience)
	if err != nil {
		return nil, false, err
	}
	if set == nil {
		return nil, false, errors.New("nothing changed")
	}
	w.version = set.Version
	var updates []types.ObjectUpdate
	for _, f := range set.FilterSet {
		updates = append(updates, f.ObjectSet...)
	}

	return updates, set.Truncated != nil && *set.Truncated, nil
}

// pageIn reads until the present state is complete.
func (w *watch) pageIn(t *testing.T) []types.ObjectUpdate {
	t.Helper()
	var all []types.ObjectUpdate
	for more := true; more; {
		var updates []types.ObjectUpdate
		var err error
		if updates, more, err = w.next(t.Context()); err != nil {
			t.Fatal(err)
		}
		all = append(all, updates...)
	}

	return all
}

// isFault reports whether err is a SOAP or task fault of the given type.
func isFault(err error, want types.BaseMethodFault) bool { return err != nil && fault.Is(err, want) }

// eventually waits until what goroutines of the server do has happened.
func eventually(t *testing.T, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}
