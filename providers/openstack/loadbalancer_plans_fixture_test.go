package openstack

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/networks"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/securitygroup"
)

// planFixture is an observed section: what exists in the cloud and in the cluster before a Service is
// synced. What it leaves out is as in observed.yaml, and then as in the files that From lists; null
// removes what those have. Objects of the cloud have the fields of its APIs; the key of each is its ID.
type planFixture struct {
	From []string
	// Update means UpdateLoadBalancer, Delete that the Service is deleted.
	Update, Delete bool

	// Config are the keys of the section [LoadBalancer], Classes those of the load balancer classes.
	Config  map[string]string
	Classes map[string]map[string]string
	// Nodes are those of the cluster by name.
	Nodes map[string]planNode
	// Version is that of the API of Octavia, Provider that of the load balancer.
	Version, Provider string
	// Project is that of the logins.
	Project string

	LoadBalancer *client.LoadBalancerInfo
	Listeners    map[string]*client.Listener
	Pools        map[string]*planPool
	// FloatingIPs are those with the VIP, and those with an address that the Service wants or had.
	FloatingIPs map[string]*client.FloatingIP
	// Place is where a new floating IP comes from, PlaceError why that is not known.
	Place      networks.Place
	PlaceError string
	// Group is the security group of the Service. Ports are those of the servers of Nodes.
	Group *client.SecurityGroup
	Rules map[string]*client.SecurityGroupRule
	Ports map[string]*client.Port
	// Subnets are CIDRs by ID. Those that the project cannot see are missing.
	Subnets map[string]netip.Prefix

	// Others are load balancers that the Service may have parts in, Ignored is the one of an
	// annotation that was changed.
	Others  []string
	Ignored string
	// Repaired are pools that were repaired before, Empty means that the load balancer with all its
	// parts was refused, RulesOverQuota that rules were refused because of a quota.
	Repaired              []string
	Empty, RulesOverQuota bool
}

// planNode is a Node.
type planNode struct {
	Addresses []string
	Labels    map[string]string
	// Server is the ID of its server, empty for a Node of another cloud. Waiting means that it is
	// not initialized yet.
	Server  string
	Waiting bool
	// Subnet is the one that a port of the server has the first address in, empty if there is none,
	// and "unread" if that is not known.
	Subnet string
}

// planPool is a pool with its monitor and its members by ID.
type planPool struct {
	client.Pool

	Members map[string]*client.Member `json:"members"`
	Monitor *client.HealthMonitor     `json:"monitor"`
}

// errUnread is why the subnets of Nodes are not known.
var errUnread = errors.New("neutron returned no response")

// complete sets what all objects have, and the names of those of the Service.
func (f *planFixture) complete(svc *v1.Service) {
	object := func(o *client.LBObject, id string) {
		o.ID, o.ProjectID = cmp.Or(o.ID, id), cmp.Or(o.ProjectID, f.Project)
		o.Provisioning = cmp.Or(o.Provisioning, client.ProvisioningActive)
	}
	if f.LoadBalancer != nil {
		object(&f.LoadBalancer.LBObject, "lb")
		f.LoadBalancer.Provider = f.Provider
	}
	for id, l := range f.Listeners {
		object(&l.LBObject, id)
	}
	for id, p := range f.Pools {
		object(&p.LBObject, id)
		for id, m := range p.Members {
			object(&m.LBObject, id)
		}
		if p.Monitor != nil {
			object(&p.Monitor.LBObject, "monitor-of-"+id)
			p.MonitorID = p.Monitor.ID
		}
	}
	for id, floating := range f.FloatingIPs {
		floating.ID = id
	}
	for id, port := range f.Ports {
		port.ID, port.ProjectID = id, cmp.Or(port.ProjectID, f.Project)
	}
	if f.Group != nil {
		f.Group.ID, f.Group.ProjectID, f.Group.Name = "group", f.Project, request.NewNames(clusterName, svc).SecurityGroup()
	}
	for id, rule := range f.Rules {
		rule.ID, rule.GroupID = id, "group"
	}
}

// nodes are the Nodes of the Kubernetes API.
func (f *planFixture) nodes() []*v1.Node {
	var all []*v1.Node
	for _, name := range slices.Sorted(maps.Keys(f.Nodes)) {
		from := f.Nodes[name]
		node := kubetest.Node(name)
		maps.Copy(node.Labels, from.Labels)
		node.CreationTimestamp = metav1.NewTime(time.Now().Add(-waitLimit))
		if from.Server != "" {
			node.Spec.ProviderID = "openstack:///" + from.Server
		}
		node.Status.Addresses = nil
		for _, addr := range from.Addresses {
			node.Status.Addresses = append(node.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: addr})
		}
		all = append(all, node)
	}

	return all
}

// input is the call of the service controller.
func (f *planFixture) input(t *testing.T, svc *v1.Service) (input, []service.Warning, error) {
	t.Helper()
	text := loginText + "[LoadBalancer]\n" + keys(f.Config)
	for _, name := range slices.Sorted(maps.Keys(f.Classes)) {
		text += fmt.Sprintf("[LoadBalancerClass %q]\n%s", name, keys(f.Classes[name]))
	}
	cfg, problems := decode(parse(t, text), in(nil))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	existing := request.ForDelete(svc, clusterName)
	in := input{
		service: svc, names: existing.Names, existing: existing, config: &cfg.LoadBalancer, nodes: f.nodes(), create: !f.Update, deletes: f.Delete,
		state: &state{repaired: sets.New(f.Repaired...), empty: f.Empty, rulesOverQuota: f.RulesOverQuota},
	}
	if f.Delete {
		return in, nil, nil
	}
	makeRequest := request.ForEnsure
	if f.Update {
		makeRequest = request.ForUpdate
	}
	var warnings []service.Warning
	var err error
	in.request, warnings, err = makeRequest(svc, in.nodes, cfg.requestSettings(clusterName))

	return in, warnings, err
}

// keys are keys of a section of the cloud-config.
func keys(values map[string]string) string {
	text := ""
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text += fmt.Sprintf("%s = %q\n", key, values[key])
	}

	return text
}

// observed is what a sync has read.
func (f *planFixture) observed(in input) (*observed, error) {
	o := &observed{
		balancer: &balancer{info: f.LoadBalancer, former: f.Others, ignored: f.Ignored},
		place:    f.Place, servers: map[string]string{}, prefixes: f.Subnets,
	}
	if f.PlaceError != "" {
		o.placeErr = errors.New(f.PlaceError)
	}
	version := features.Version{}
	if _, err := fmt.Sscanf(f.Version, "%d.%d", &version.Major, &version.Minor); err != nil {
		return nil, err
	}
	o.features = features.For(version, f.Provider)
	f.observeNodes(in, o)
	if f.LoadBalancer == nil {
		return o, nil
	}
	o.facts = in.factsOf(f.LoadBalancer, f.Project, in.existing.LoadBalancerID != "")
	ownership, err := o.facts.Ownership(in.names)
	if err != nil {
		return nil, in.notOwned(f.LoadBalancer, err)
	}
	o.owner = ownership == certainty.Owner
	if o.parts, err = f.parts(in, o); err != nil {
		return nil, err
	}
	o.group = f.group()
	var wanted *floatingip.Desired
	if in.request != nil {
		wanted = in.floatingIP(o)
	}
	if !f.Update {
		all := slices.Collect(maps.Values(f.FloatingIPs))
		if o.floating, err = floatingip.From(f.LoadBalancer, all, wanted); err == nil {
			o.floating.Existing = slices.DeleteFunc(all, func(floating *client.FloatingIP) bool { return slices.Contains(o.floating.Associated, floating) })
		}
	}

	return o, err
}

// observeNodes sets what is known of the Nodes, as [run.observeNodes] does.
func (f *planFixture) observeNodes(in input, o *observed) {
	o.subnets.ByNode = map[string]string{}
	if o.info == nil {
		o.vipSubnet = "subnet-nodes"
	}
	for _, name := range slices.Sorted(maps.Keys(f.Nodes)) {
		switch node := f.Nodes[name]; {
		case node.Waiting:
			o.waiting = append(o.waiting, name)
		case node.Subnet == "unread":
			o.servers[name] = node.Server
			o.subnets.Unread, o.subnets.Err = append(o.subnets.Unread, name), errUnread
		case node.Server == "":
			o.foreign = append(o.foreign, name)
		default:
			o.servers[name], o.subnets.ByNode[name] = node.Server, node.Subnet
		}
	}
	if in.request == nil || !in.request.MemberSubnet.Detect {
		o.subnets = networks.NodeSubnets{}
	}
	if len(o.waiting) > 0 {
		o.staying = sets.New[netip.Addr]()
		for _, node := range f.Nodes {
			for _, addr := range node.Addresses {
				o.staying.Insert(netip.MustParseAddr(addr))
			}
		}
	}
}

// parts are those of the load balancer, with what is read of each.
func (f *planFixture) parts(in input, o *observed) (*octavia.Observed, error) {
	own := in.owns(o.balancer)
	parts := &octavia.Observed{LoadBalancer: f.LoadBalancer, Pools: map[string]*octavia.Pool{}}
	parts.Listeners = octavia.SortListeners(slices.Collect(maps.Values(f.Listeners)))
	for id, from := range f.Pools {
		pool := &octavia.Pool{Pool: from.Pool, Unread: !own(request.PartPool, from.Name, from.Tags)}
		parts.Pools[id] = pool
		for _, listener := range parts.Listeners {
			if listener.DefaultPoolID == id {
				pool.Listeners = append(pool.Listeners, listener.ID)
				pool.Unread = pool.Unread && !own(request.PartListener, listener.Name, listener.Tags)
			}
		}
		if pool.Unread {
			continue
		}
		pool.Monitor = from.Monitor
		for _, m := range from.Members {
			member, err := octavia.NewMember(m)
			if err != nil {
				return nil, err
			}
			pool.Members = append(pool.Members, member)
		}
		octavia.SortMembers(pool.Members)
	}

	return parts, nil
}

// group is the security group of the Service with the ports of servers.
func (f *planFixture) group() *securitygroup.Observed {
	o := &securitygroup.Observed{Group: f.Group, Rules: slices.Collect(maps.Values(f.Rules)), Ports: map[string][]*client.Port{}}
	for _, id := range slices.Sorted(maps.Keys(f.Ports)) {
		port := f.Ports[id]
		if slices.Contains(port.SecurityGroups, "group") {
			o.Members = append(o.Members, port)
		} else {
			o.Ports[port.DeviceID] = append(o.Ports[port.DeviceID], port)
		}
	}

	return o
}
