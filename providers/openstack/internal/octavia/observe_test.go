package octavia_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// ownTag is the tag of the Service of the tests of Read.
const ownTag = "kube_service_kubernetes_default_web"

// readFixture is a load balancer that two Services and a user have listeners on.
type readFixture struct {
	*openstacktest.Cloud

	api *client.LoadBalancerService
	lb  *client.LoadBalancerInfo
}

// newReadFixture starts the cloud. No read is stale: each call shows what its subject does.
func newReadFixture(t *testing.T) *readFixture {
	t.Helper()
	f := &readFixture{Cloud: openstacktest.Start(t, openstack.Options{StaleReads: new(openstack.StaleReads), PageSize: 3})}
	network := f.AddNetwork(openstack.NetworkSpec{Name: "private"})
	subnet := f.AddSubnet(openstack.SubnetSpec{Network: network, CIDR: "10.0.0.0/24"})
	members := func(n int) []openstack.LBMemberSpec {
		var all []openstack.LBMemberSpec
		for i := range n {
			all = append(all, openstack.LBMemberSpec{Name: fmt.Sprintf("node-%d", i), Address: fmt.Sprintf("10.0.0.%d", 109-i), Port: 30080, MonitorPort: 10256 * (i % 2)})
		}

		return all
	}
	listener := func(port int, tag, name string, pool *openstack.LBPoolSpec) openstack.ListenerSpec {
		l := openstack.ListenerSpec{Name: "listener_" + name, Protocol: "TCP", Port: port, Pool: pool}
		if tag != "" {
			l.Tags = []string{tag}
		}

		return l
	}
	id := f.AddLoadBalancer(openstack.LoadBalancerSpec{
		Name: ownTag, Subnet: subnet, Tags: []string{ownTag, "kube_service_kubernetes_default_other"},
		Listeners: []openstack.ListenerSpec{
			listener(443, ownTag, "1_"+ownTag, &openstack.LBPoolSpec{Name: "renamed by a user", Members: members(3), Monitor: "HTTP"}),
			listener(80, "", "0_"+ownTag, &openstack.LBPoolSpec{Name: "pool_0_" + ownTag, Members: members(1), Monitor: "TCP"}),
			listener(81, "kube_service_kubernetes_default_other", "0_other", &openstack.LBPoolSpec{Name: "pool_0_other", Members: members(2), Monitor: "TCP"}),
			listener(82, "", "of a user", &openstack.LBPoolSpec{Name: "of a user", Members: members(2), Monitor: "TCP"}),
			listener(83, ownTag, "2_"+ownTag, nil),
		},
	})
	f.api = f.Client(t).LoadBalancer()
	ctx, cancel := context.WithTimeout(t.Context(), openstacktest.Timeout)
	defer cancel()
	var err error
	if f.lb, err = f.api.GetLoadBalancer(ctx, id); err != nil {
		t.Fatal(err)
	}
	// A pool that no listener uses, as after the end of a process.
	if _, err = f.api.CreatePool(ctx, id, client.PoolCreate{Name: "pool_7_" + ownTag, Protocol: "TCP", Algorithm: "ROUND_ROBIN"}); err != nil {
		t.Fatal(err)
	}
	f.Interceptor().Reset()

	return f
}

// own is by tag, and by name without one.
func own(_ request.Part, name string, tags []string) bool {
	return slices.Contains(tags, ownTag) || len(tags) == 0 && strings.HasSuffix(name, "_"+ownTag)
}

func (f *readFixture) read(t *testing.T) (*octavia.Observed, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), openstacktest.Timeout)
	defer cancel()

	return octavia.Read(ctx, f.api, f.lb, own)
}

func TestRead(t *testing.T) {
	t.Parallel()
	f := newReadFixture(t)
	o, err := f.read(t)
	openstacktest.Must(t, err)
	var ports []int
	pools := map[string]string{} // what was read, by the name of the pool
	for _, l := range o.Listeners {
		ports = append(ports, l.Port)
	}
	for id, p := range o.Pools {
		if id != p.ID {
			t.Errorf("pool %s is below %s", p.ID, id)
		}
		var text []string
		for _, m := range p.Members {
			text = append(text, fmt.Sprintf("%s %s:%d/%d", m.Name, m.Address, m.Port, m.MonitorPort))
			if m.Partial || m.Full == nil || m.Full.ID != m.ID || m.ID == "" {
				t.Errorf("member %s has not all settings: %+v", m.Name, m)
			}
		}
		if p.Monitor != nil {
			text = append(text, p.Monitor.Type)
		}
		if p.Unread {
			text = append(text, "unread")
		}
		pools[p.Name] = strings.Join(text, ", ")
	}
	openstacktest.Check(t, "all listeners, by port", []int{80, 81, 82, 83, 443}, ports)
	want := map[string]string{
		"renamed by a user": "node-2 10.0.0.107:30080/0, node-1 10.0.0.108:30080/10256, node-0 10.0.0.109:30080/0, HTTP",
		"pool_0_" + ownTag:  "node-0 10.0.0.109:30080/0, TCP",
		"pool_7_" + ownTag:  "",
		"pool_0_other":      "unread",
		"of a user":         "unread",
	}
	openstacktest.Check(t, "pools of the Service are read", want, pools)
	if o.Shared || o.At.IsZero() || o.LoadBalancer != f.lb {
		t.Errorf("got %+v", o)
	}
}

// A failed call is an error, whichever it is.
func TestReadFails(t *testing.T) {
	t.Parallel()
	gone := openstack.Error(http.StatusNotFound, "", "The object could not be found.")
	for name, test := range map[string]struct {
		reason string
		op     string
		fault  simserver.Fault
		want   error
	}{
		"listeners": {reason: "no listener was seen to be missing", op: "octavia.ListListeners", fault: openstack.Denied(), want: apierr.ErrDenied},
		"pools":     {reason: "no pool was seen to be missing", op: "octavia.ListPools", fault: openstack.Denied(), want: apierr.ErrDenied},
		"members":   {reason: "the pool is not empty", op: "octavia.ListMembers", fault: openstack.Denied(), want: apierr.ErrDenied},
		"monitor":   {reason: "the pool has one", op: "octavia.ShowHealthMonitor", fault: openstack.Denied(), want: apierr.ErrDenied},
		"a pool that is gone": {
			reason: "its members are not known", op: "octavia.ListMembers", fault: gone, want: apierr.ErrUnavailable,
		},
		"a monitor that is gone": {
			reason: "the load balancer has just been changed", op: "octavia.ShowHealthMonitor", fault: gone, want: apierr.ErrConflict,
		},
		"no pools": {
			reason: "the default pool of a listener is missing", op: "octavia.ListPools", want: apierr.ErrConflict,
			fault: func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"pools": []}`)) // a client that is gone misses it
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newReadFixture(t)
			f.Interceptor().Inject(test.op, simserver.Always(), test.fault)
			if _, err := f.read(t); !errors.Is(err, test.want) || errors.Is(err, apierr.ErrNotFound) {
				t.Errorf("%s: error = %v, want %v", test.reason, err, test.want)
			}
		})
	}
}
