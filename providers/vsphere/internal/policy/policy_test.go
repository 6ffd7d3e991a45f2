package policy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
)

var (
	web  = policy.Names{Owner: policy.Owner{Cluster: "east"}, Service: types.NamespacedName{Namespace: "default", Name: "web"}, UID: "0f0e0d0c-1111-4222-8333-444455556666"}
	http = policy.Port{Protocol: v1.ProtocolTCP, Port: 80}
)

// TestUpstreamFields (VS-LB-1): new objects are those of the upstream controller manager, field by field.
func TestUpstreamFields(t *testing.T) {
	t.Parallel()
	ip := netip.MustParseAddr("203.0.113.10")
	const (
		tags    = `[{"scope":"cluster","tag":"east"},{"scope":"owner","tag":"vsphere-cloud-controller-manager"},{"scope":"port","tag":"TCP/80"},{"scope":"service","tag":"default/web"}]`
		created = ` created by vsphere-cloud-controller-manager"`
	)
	cases := map[string]struct {
		reason string
		got    any
		want   string
	}{
		"LBService": {
			"of the cluster", web.Owner.NewLBService("/infra/tier-1s/t", "SMALL"),
			`{"display_name":"cluster:east","description":"virtual server pool for cluster east` + created + `,"size":"SMALL","connectivity_path":"/infra/tier-1s/t","enabled":true,
			"tags":[{"scope":"cluster","tag":"east"},{"scope":"owner","tag":"vsphere-cloud-controller-manager"}]}`,
		},
		"monitor": {
			"its name has the node port", web.NewMonitor(policy.TypeTCPMonitor, http, 30080),
			`{"display_name":"cluster:east:default/web:30080","description":"tcp monitor for cluster east, service default/web, port 30080` + created + `,
			"resource_type":"LBTcpMonitorProfile","monitor_port":30080,"tags":` + tags + `}`,
		},
		"HTTP monitor": {
			"requests the health of the node", web.NewMonitor(policy.TypeHTTPMonitor, http, 32000),
			`{"display_name":"cluster:east:default/web:32000","description":"http monitor for cluster east, service default/web, port 32000` + created + `,
			"resource_type":"LBHttpMonitorProfile","monitor_port":32000,"request_url":"/","tags":` + tags + `}`,
		},
		"pool": {
			"members have no port", web.NewPool(http, []json.RawMessage{web.NewMember("node-1", netip.MustParseAddr("10.0.0.1"))}, []string{"/m"}, true),
			`{"display_name":"cluster:east:default/web","description":"pool for cluster east, service default/web` + created + `,"snat_translation":{"type":"LBSnatAutoMap"},
			"members":[{"admin_state":"ENABLED","display_name":"east:node-1","ip_address":"10.0.0.1"}],"active_monitor_paths":["/m"],"tags":` + tags + `}`,
		},
		"pool of UDP": {
			"has no monitors, and here no SNAT", web.NewPool(http, nil, nil, false),
			`{"display_name":"cluster:east:default/web","description":"pool for cluster east, service default/web` + created + `,"snat_translation":{"type":"LBSnatDisabled"},"tags":` + tags + `}`,
		},
		"virtual server": {
			"knows its pool of addresses and its class", web.NewVirtualServer(http, ip, "/lbs", "pool-1", "default"),
			`{"display_name":"cluster:east:default/web","description":"virtual server for cluster east, service default/web` + created + `,"enabled":true,"ip_address":"203.0.113.10","ports":["80"],"lb_service_path":"/lbs",
			"tags":[{"scope":"cluster","tag":"east"},{"scope":"ippoolid","tag":"pool-1"},{"scope":"lbclass","tag":"default"},{"scope":"owner","tag":"vsphere-cloud-controller-manager"},{"scope":"port","tag":"TCP/80"},{"scope":"service","tag":"default/web"}]}`,
		},
		"allocation": {
			"has tags alone", web.NewAllocation(netip.Addr{}),
			`{"tags":[{"scope":"cluster","tag":"east"},{"scope":"owner","tag":"vsphere-cloud-controller-manager"},{"scope":"service","tag":"default/web"}]}`,
		},
		"allocation of an address": {
			"and the address that is requested", web.NewAllocation(ip),
			`{"allocation_ip":"203.0.113.10","tags":[{"scope":"cluster","tag":"east"},{"scope":"owner","tag":"vsphere-cloud-controller-manager"},{"scope":"service","tag":"default/web"}]}`,
		},
		"access list": {"of a group", policy.Allow("/g"), `{"action":"ALLOW","enabled":true,"group_path":"/g"}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := json.Marshal(tc.got)
			if err != nil {
				t.Fatal(err)
			}
			var got, want map[string]any
			if err := json.Unmarshal(content, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// paths are the paths of all objects of a Service, by what they are.
func paths(n policy.Names, tier1 string) map[string]string {
	all := map[string]string{"LBService": n.Owner.LBServicePath(tier1), "group": n.GroupPath()}
	for _, family := range []address.Family{"", address.IPv4, address.IPv6} {
		all["allocation "+string(family)] = n.AllocationPath("pool", family)
		for _, port := range []int32{80, 81} {
			for _, protocol := range []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP} {
				p := policy.Port{Protocol: protocol, Port: port, Family: family}
				all[fmt.Sprint("server ", p)], all[fmt.Sprint("pool ", p)] = n.PartPath(policy.VirtualServers, p), n.PartPath(policy.Pools, p)
				all[fmt.Sprint("TCP monitor ", p)], all[fmt.Sprint("HTTP monitor ", p)] = n.MonitorPath(policy.TypeTCPMonitor, p), n.MonitorPath(policy.TypeHTTPMonitor, p)
			}
		}
	}

	return all
}

// TestIDs (VS-LB-1): IDs are the same in each process, and differ by all that objects depend on. They do not depend on the
// name of the Service: one that is created again has a UID of its own.
func TestIDs(t *testing.T) {
	t.Parallel()
	tier1 := "/infra/tier-1s/t1"
	first := paths(web, tier1)
	if diff := cmp.Diff("/infra/lb-pools/a4ade06b-feac-5ef7-887a-ec5084a0cf72", first["pool TCP/80"]); diff != "" {
		t.Errorf("an ID has changed: objects are made again (-want +got):\n%s", diff)
	}
	seen := map[string]string{}
	for what, path := range first {
		if other, twice := seen[path]; twice {
			t.Errorf("%s and %s are %s", what, other, path)
		}
		seen[path] = what
	}
	for what, change := range map[string]func(*policy.Names){
		"cluster": func(n *policy.Names) { n.Owner.Cluster = "east-2" },
		"owner":   func(n *policy.Names) { n.Owner.Tags = map[string]string{"owner": "me"} },
		"UID":     func(n *policy.Names) { n.UID = "0f0e0d0c-1111-4222-8333-444455556667" },
	} {
		other := web
		change(&other)
		for part, path := range paths(other, tier1) {
			if shared := part == "LBService" && what == "UID"; (path == first[part]) != shared {
				t.Errorf("another %s: %s is %s, before %s", what, part, path, first[part])
			}
		}
	}
	if web.Owner.LBServicePath(tier1) == web.Owner.LBServicePath(tier1+"1") {
		t.Error("an LBService for two gateways")
	}
	renamed := web
	renamed.Service.Name, renamed.Owner.Tags = "other", map[string]string{"cost-center": "a"}
	if !maps.Equal(first, paths(renamed, tier1)) {
		t.Error("IDs depend on names")
	}
}

// TestLimits (VS-LB-1): texts are cut to what NSX-T accepts, and differ nevertheless.
func TestLimits(t *testing.T) {
	t.Parallel()
	long := func(end string) policy.Names {
		n := web
		n.Owner.Cluster = strings.Repeat("ä", 200)
		n.Service = types.NamespacedName{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("s", 62) + end}

		return n
	}
	texts := func(n policy.Names) (names []string) {
		member := n.NewMember(strings.Repeat("h", 253), netip.MustParseAddr("10.0.0.1"))
		var fields policy.Member
		if err := json.Unmarshal(member, &fields); err != nil {
			t.Fatal(err)
		}
		for _, f := range []policy.Fields{
			n.NewMonitor(policy.TypeTCPMonitor, http, 30080), n.NewPool(http, nil, nil, true), n.NewVirtualServer(http, netip.MustParseAddr("203.0.113.10"), "", "", ""),
			n.NewGroup(nil), n.Owner.NewLBService("", ""),
		} {
			if utf8.RuneCountInString(f.Description) > nsx.MaxDescription {
				t.Errorf("%d characters: %s", utf8.RuneCountInString(f.Description), f.Description)
			}
			names = append(names, f.DisplayName)
		}
		for _, name := range append(names, fields.DisplayName) {
			if count := utf8.RuneCountInString(name); count > nsx.MaxName {
				t.Errorf("%d characters: %s", count, name)
			}
		}

		return names
	}
	if a, b := texts(long("a")), texts(long("b")); a[0] == b[0] || a[1] == b[1] || a[2] != a[1] || a[1] != long("a").DisplayName() {
		t.Errorf("%q and %q", a, b)
	}
}

// TestTags (VS-LB-3): tags of the cloud-config come with all objects, but not in the place of own ones, and tell whose
// objects are.
func TestTags(t *testing.T) {
	t.Parallel()
	owner := policy.Owner{Cluster: "east", Tags: map[string]string{"owner": "me", "a": "1", "zone": "2", "cluster": "x", "service": "x", "port": "x", "ippoolid": "x", "lbclass": "x"}}
	n := web
	n.Owner = owner
	got := n.NewVirtualServer(http, netip.MustParseAddr("203.0.113.10"), "/lbs", "pool-1", "default").Tags
	want := []nsx.Tag{{Scope: "a", Tag: "1"}, {Scope: "cluster", Tag: "east"}, {Scope: "ippoolid", Tag: "pool-1"}, {Scope: "lbclass", Tag: "default"}, {Scope: "owner", Tag: "me"}, {Scope: "port", Tag: "TCP/80"}, {Scope: "service", Tag: "default/web"}, {Scope: "zone", Tag: "2"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for reason, tags := range map[string][]nsx.Tag{
		"another owner": {{Scope: "owner", Tag: policy.Program}, {Scope: "cluster", Tag: "east"}}, "another cluster": {{Scope: "owner", Tag: "me"}, {Scope: "cluster", Tag: "East"}},
		"no scope": {{Tag: "me"}, {Tag: "east"}}, "no tag": {{Scope: "owner"}, {Scope: "cluster"}}, "none": nil,
	} {
		if owner.IsOf(&policy.Object{Fields: policy.Fields{Tags: tags}}) {
			t.Errorf("%s: the object belongs to the cluster", reason)
		}
	}
	if !owner.IsOf(&policy.Object{Fields: policy.Fields{Tags: slices.Concat([]nsx.Tag{{Tag: "x"}}, want)}}) {
		t.Error("the object does not belong to its cluster")
	}
}

// TestRead: an object knows its kind by its path, and its members by their addresses.
func TestRead(t *testing.T) {
	t.Parallel()
	var raw nsx.Object
	if err := json.Unmarshal([]byte(`{"id":"a","path":"/infra/ip-pools/p/ip-allocations/a","_create_time":1700000000000,"members":[{"ip_address":"10.0.0.1"},{"ip_address":5},{"ip_address":"10.0.0.2","weight":2}]}`), &raw); err != nil {
		t.Fatal(err)
	}
	o, err := policy.Read("/infra/ip-pools/p/ip-allocations/a", raw)
	if err != nil {
		t.Fatal(err)
	}
	if o.Kind != policy.Allocations || policy.IPPoolOf(o.Path) != "p" || o.Created().Unix() != 1700000000 {
		t.Errorf("%s of %s, created %s", o.Kind, policy.IPPoolOf(o.Path), o.Created())
	}
	first, second := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	if o.MemberIPs != policy.NewMemberIPs([]netip.Addr{second, first, {}, first}) || o.MemberIPs == policy.NewMemberIPs([]netip.Addr{first, second}) {
		t.Errorf("members %v", o.MemberIPs)
	}
	if member := o.MembersByIP()[second]; string(member) != `{"ip_address":"10.0.0.2","weight":2}` {
		t.Errorf("member %s", member)
	}
	row, err := policy.ReadRow([]byte(`{"path":"/infra/lb-pools/p","members":[{"ip_address":"10.0.0.2"}],"ports":80}`))
	if err == nil || row.Kind != policy.Pools || row.MemberIPs != policy.NewMemberIPs([]netip.Addr{second}) {
		t.Errorf("a row with a field of another type: %v, %+v", err, row)
	}
	if row := o.Row(); row.Raw != nil || row.MemberIPs != o.MemberIPs || o.Raw == nil {
		t.Error("a row has all fields, or an object has not")
	}
	if !new(policy.Object).Created().IsZero() {
		t.Error("an object without a time has one")
	}
	if _, err := policy.Read("", nsx.Object{"tags": json.RawMessage(`5`)}); err == nil {
		t.Error("an object was read that is none")
	}
}
