package inventory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"go.uber.org/goleak"

	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

var starting sync.Mutex

// simulate starts a vCenter without TLS.
func simulate(t *testing.T, spec cloudsim.VCenterSpec) *cloudsim.VCenter {
	t.Helper()
	spec.Plain = true

	return simulateTLS(t, spec)
}

// simulateTLS starts a vCenter. Without datacenters it gets "dc" with the VMs
// "web-0" and "web-1".
func simulateTLS(t *testing.T, spec cloudsim.VCenterSpec) *cloudsim.VCenter {
	t.Helper()
	spec.Name = "vc"
	if len(spec.Datacenters) == 0 {
		spec.Datacenters = []cloudsim.DatacenterSpec{{Name: "dc", VMs: vms("web-0", "web-1")}}
	}
	starting.Lock() // vcsim appends to a list that the process shares
	cloud, err := cloudsim.Start(cloudsim.Spec{VCenters: []cloudsim.VCenterSpec{spec}})
	starting.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})

	return cloud.VCenter("vc")
}

func vms(names ...string) []cloudsim.VMSpec {
	var specs []cloudsim.VMSpec
	for _, name := range names {
		specs = append(specs, cloudsim.VMSpec{Name: name})
	}

	return specs
}

// client logs in again once when it has to, and does nothing else.
type client struct {
	url  *url.URL
	dial dialFunc // nil for that of the network

	mu   sync.Mutex
	soap *vim25.Client
	rest *rest.Client
}

func newClient(t *testing.T, v *cloudsim.VCenter) *client {
	t.Helper()

	return newClientVia(t, v, nil)
}

// dialFunc makes connections like [net.Dialer.DialContext].
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// newClientVia makes a client that connects by dial, or by the network.
func newClientVia(t *testing.T, v *cloudsim.VCenter, dial dialFunc) *client {
	t.Helper()
	c := &client{url: v.URL(), dial: dial}
	c.url.User = url.UserPassword(v.User(), v.Password())
	if err := c.login(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.soap.CloseIdleConnections() })

	return c
}

func (c *client) login(ctx context.Context) error {
	sc := soap.NewClient(c.url, true)
	if c.dial != nil {
		sc.DefaultTransport().DialContext = c.dial
	}
	vc, err := vim25.NewClient(ctx, sc)
	if err != nil {
		return err
	}
	if err := session.NewManager(vc).Login(ctx, c.url.User); err != nil {
		return err
	}
	rc := rest.NewClient(vc)
	if err := rc.Login(ctx, c.url.User); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.soap, c.rest = vc, rc

	return nil
}

func (c *client) SOAP(ctx context.Context, fn func(context.Context, *vim25.Client) error) error {
	run := func() error {
		c.mu.Lock()
		vc := c.soap
		c.mu.Unlock()

		return fn(ctx, vc)
	}
	err := run()
	if fault.Is(err, &types.NotAuthenticated{}) {
		if err := c.login(ctx); err != nil {
			return err
		}
		err = run()
	}
	if err != nil {
		return fmt.Errorf("SOAP: %w", err)
	}

	return nil
}

func (c *client) REST(ctx context.Context, fn func(context.Context, *rest.Client) error) error {
	c.mu.Lock()
	rc := c.rest
	c.mu.Unlock()
	if err := fn(ctx, rc); err != nil {
		return fmt.Errorf("REST: %w", err)
	}

	return nil
}

// watch runs an inventory until the test ends, and waits until it is complete.
func watch(t *testing.T, v *cloudsim.VCenter, cfg Config) *Inventory {
	t.Helper()
	i, _ := start(t, v, cfg)
	waitSynced(t, i)
	v.Reset()

	return i
}

// start runs an inventory until the test ends or stop is called.
func start(t *testing.T, v *cloudsim.VCenter, cfg Config) (i *Inventory, stop func()) {
	t.Helper()
	c := newClient(t, v)
	v.Reset()

	return run(t, c, cfg)
}

func run(t *testing.T, c Client, cfg Config) (i *Inventory, stop func()) {
	t.Helper()
	cfg.Name = "vc"
	cfg.MinBackoff = cmp.Or(cfg.MinBackoff, 10*time.Millisecond)
	cfg.MaxBackoff = cmp.Or(cfg.MaxBackoff, 50*time.Millisecond)
	cfg.MaxRestartBackoff = cmp.Or(cfg.MaxRestartBackoff, 50*time.Millisecond)
	cfg.PollPeriod = cmp.Or(cfg.PollPeriod, 5*time.Millisecond)
	i = New(c, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		i.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(stop)

	return i, stop
}

func waitSynced(t *testing.T, i *Inventory) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := i.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
}

// patience is how long a test waits for something that must happen.
const patience = 5 * time.Minute

// eventually waits until check has no complaint.
func eventually(t *testing.T, check func() string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		complaint := check()
		if complaint == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(complaint)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// current waits until the inventory is current.
func current(t *testing.T, i *Inventory) {
	t.Helper()
	eventually(t, func() string {
		if err := i.Current(); err != nil {
			return err.Error()
		}

		return ""
	})
}

// calls lists the calls but long polls.
func calls(v *cloudsim.VCenter) map[string]int {
	out := v.Calls()
	maps.DeleteFunc(out, func(op string, _ int) bool { return op == "WaitForUpdatesEx" })

	return out
}

// ok ends the test if a change of the simulated cloud failed.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// one finds the only VM of a query.
func one(t *testing.T, i *Inventory, q Query) *VM {
	t.Helper()
	vms, err := i.Find(q)
	if err != nil {
		t.Fatal(err)
	}
	if len(vms) != 1 {
		t.Fatalf("Find(%s) = %v, want one VM", q, names(vms))
	}

	return vms[0]
}

func names(vms []*VM) string {
	var out []string
	for _, vm := range vms {
		out = append(out, vm.Name)
	}

	return strings.Join(out, " ")
}

func byID(uuids ...string) Query { return Query{UUIDs: uuids} }

func byName(names ...string) Query { return Query{Names: names} }

// refers says that an error text names something.
func refers(err error, to string) bool { return err != nil && strings.Contains(err.Error(), to) }
