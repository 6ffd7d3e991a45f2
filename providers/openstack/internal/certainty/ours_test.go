package certainty_test

import (
	"cmp"
	"errors"
	"net/netip"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// The names of the Service default/web in the cluster kubernetes, and of others.
const (
	lbName     = "kube_service_kubernetes_default_web"
	lbFormer   = "kube_service_old_default_web"
	lbThird    = "kube_service_third_default_web"
	lbOther    = "kube_service_kubernetes_default_api"
	ownTag     = "multicloud-ccm.io/service-uid=11111111-1111-4111-8111-111111111111"
	foreignTag = "multicloud-ccm.io/service-uid=22222222-2222-4222-8222-222222222222"
)

func service(uid types.UID) request.Names {
	return request.NewNames("kubernetes", &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: uid}})
}

func names() request.Names { return service("11111111-1111-4111-8111-111111111111") }

// balancer is a load balancer of the project, with an annotation or found by its name.
func balancer(annotated bool, name string, tags ...string) certainty.LoadBalancer {
	return certainty.LoadBalancer{Name: name, Project: project, Pinned: project, Tags: tags, Annotated: annotated}
}

// TestOwnership (OS-LB-2) has a case for each cell of the row about load balancers that are
// ours.
// takenOver is a load balancer that the Service takes over from the one of foreignTag.
func takenOver(annotated bool, name, tag string) certainty.LoadBalancer {
	lb := balancer(annotated, name, name, tag)
	lb.Former = request.UIDOf([]string{foreignTag})

	return lb
}

func TestOwnership(t *testing.T) {
	t.Parallel()

	in := func(project, pinned string) certainty.LoadBalancer {
		lb := balancer(true, lbName, lbName, ownTag)
		lb.Project, lb.Pinned = project, pinned

		return lb
	}
	legacy := names().Legacy()
	cases := map[string]struct {
		reason string
		lb     certainty.LoadBalancer
		want   certainty.Ownership
		err    error
	}{
		"NoLogin":         {"nothing is ours before a login", in(project, ""), certainty.Foreign, certainty.ErrNoProject},
		"OtherProject":    {"an operator reads all projects", in("p2", project), certainty.Foreign, certainty.ErrForeignProject},
		"NoProject":       {"a response without a project", in("", project), certainty.Foreign, certainty.ErrForeignProject},
		"Made":            {"made for this Service", balancer(false, lbName, lbName, ownTag), certainty.Owner, nil},
		"MadeAnnotated":   {"made for this Service", balancer(true, lbName, lbName, ownTag), certainty.Owner, nil},
		"MadeNamed":       {"a user has changed its name", balancer(true, "mine", lbName, ownTag), certainty.Owner, nil},
		"SecondCluster":   {"the name alone proves nothing", balancer(false, lbName, lbName, foreignTag), certainty.Foreign, certainty.ErrForeignService},
		"SecondAnnotated": {"two Services would have one tag", balancer(true, lbName, lbName, foreignTag), certainty.Foreign, certainty.ErrForeignService},
		"ForeignLegacy":   {"a tag is newer than the name", balancer(false, legacy, foreignTag), certainty.Foreign, certainty.ErrForeignService},
		"Untagged":        {"its members decide", balancer(false, lbName), certainty.Unproven, nil},
		"Reference":       {"the existing controller has no tag with the UID", balancer(false, lbName, lbName), certainty.Unproven, nil},
		"Annotated":       {"the Service has the ID", balancer(true, lbName, lbName), certainty.Owner, nil},
		"Legacy":          {"the name has the UID", balancer(false, legacy), certainty.Owner, nil},
		"LegacyAnnotated": {"the name has the UID", balancer(true, legacy), certainty.Owner, nil},
		"Former":          {"the cluster was renamed", balancer(true, lbFormer, lbFormer), certainty.Owner, nil},
		"FormerListed":    {"the name is that of another cluster", balancer(false, lbFormer, lbFormer), certainty.Foreign, certainty.ErrForeignName},
		"FormerForeign":   {"two clusters share it", balancer(true, lbFormer, lbFormer, foreignTag), certainty.Sharer, nil},
		"Shared":          {"made for another Service", balancer(true, lbOther, lbOther, foreignTag), certainty.Sharer, nil},
		"Joined":          {"made for another Service", balancer(true, lbOther, lbOther, foreignTag, lbName), certainty.Sharer, nil},
		"JoinedListed":    {"a tag has only names of clusters", balancer(false, lbOther, lbOther, lbName), certainty.Foreign, certainty.ErrForeignName},
		"Users":           {"made by a user", balancer(true, "mine"), certainty.Sharer, nil},
		"UsersListed":     {"made by a user", balancer(false, "mine"), certainty.Foreign, certainty.ErrForeignName},
		"TakenOver":       {"the former Service is gone", takenOver(true, lbName, foreignTag), certainty.Owner, nil},
		"TakenOverListed": {"its ID is not that of the annotation", takenOver(false, lbName, foreignTag), certainty.Foreign, certainty.ErrForeignService},
		"TakenOverSince":  {"another Service has taken it over", takenOver(true, lbName, "multicloud-ccm.io/service-uid=other"), certainty.Foreign, certainty.ErrForeignService},
		"TakenOverShared": {"it is that of another cluster", takenOver(true, lbFormer, foreignTag), certainty.Sharer, nil},
		"Nameless":        {"an empty name is none", balancer(false, ""), certainty.Foreign, certainty.ErrForeignName},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tc.lb.Ownership(names())
			if got != tc.want || !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) {
				t.Errorf("%s: %s, %v; want %s, %v", tc.reason, got, err, tc.want, tc.err)
			}
		})
	}
}

// TestAdoptable (OS-LB-2): a load balancer with the name alone is ours if its members are.
func TestAdoptable(t *testing.T) {
	t.Parallel()

	node, other := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	isNode := func(a netip.Addr) bool { return a == node }
	cases := map[string]struct {
		members []netip.Addr
		deletes bool
		want    bool
	}{
		"None":          {nil, false, true},
		"NoneDeleted":   {nil, true, false},
		"NodesDeleted":  {[]netip.Addr{node}, true, true},
		"OthersDeleted": {[]netip.Addr{other}, true, false},
		"Nodes":         {[]netip.Addr{node}, false, true},
		"One":           {[]netip.Addr{other, node}, false, true},
		"Others":        {[]netip.Addr{other}, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (certainty.Adoption{Members: tc.members, IsNode: isNode, Deletes: tc.deletes}).IsPossible(); got != tc.want {
				t.Errorf("adoptable: %t, want %t", got, tc.want)
			}
		})
	}
}

// TestDeletable (OS-LB-41): a load balancer is deleted with the last Service in it.
func TestDeletable(t *testing.T) {
	t.Parallel()

	listeners := func(tags ...[]string) [][]string { return tags }
	ours, users := []string{lbName}, []string{}
	foreign := balancer(true, lbName, lbName, ownTag)
	foreign.Project = "p2"
	unknown := balancer(true, lbName, lbName, ownTag)
	unknown.Project, unknown.Pinned = "", ""
	cases := map[string]struct {
		reason string
		lb     certainty.LoadBalancer
		tags   [][]string
		want   bool
	}{
		"OtherProject":  {"an operator reads all projects", foreign, nil, false},
		"NoLogin":       {"nothing is ours before a login", unknown, nil, false},
		"Made":          {"made for this Service", balancer(true, lbName, lbName, ownTag), listeners(ours), true},
		"MadeUsers":     {"listeners of users go with the load balancer of the Service", balancer(true, lbName, lbName, ownTag), listeners(ours, users), true},
		"Shared":        {"another Service uses it", balancer(true, lbName, lbName, ownTag, lbOther), listeners(ours), false},
		"InListener":    {"a listener is that of another Service", balancer(true, lbName, lbName, ownTag), listeners(ours, []string{lbOther}), false},
		"InReference":   {"a listener is that of another Service", balancer(true, lbName, lbName), listeners(ours, []string{lbOther}), false},
		"Namesakes":     {"a listener is that of a second cluster", balancer(true, lbName, lbName, ownTag), listeners([]string{lbFormer}), false},
		"SecondCluster": {"the tag is of another Service", balancer(true, lbName, lbName, foreignTag), listeners(ours), false},
		"Reference":     {"made by the existing controller", balancer(true, lbName, lbName), listeners(ours), true},
		"Untagged":      {"made by an old version", balancer(true, lbName), listeners(users), true},
		"Legacy":        {"made by an old version", balancer(true, names().Legacy()), listeners(users), true},
		"Renaming":      {"the tag of a former cluster name is ours", balancer(true, lbFormer, lbFormer, ownTag), listeners([]string{lbFormer}), true},
		"Namesake":      {"a second cluster shares it with a Service of the same name", balancer(true, lbName, lbName, lbFormer, ownTag), listeners(ours), false},
		"ThirdCluster":  {"so it does while this one is renamed", balancer(true, lbFormer, lbFormer, lbThird, ownTag), nil, false},
		"Former":        {"perhaps that of another cluster", balancer(true, lbFormer, lbFormer), listeners([]string{lbFormer}), false},
		"Left":          {"its owner has left", balancer(true, lbOther, lbName), listeners(ours), true},
		"LeftUnread":    {"its listeners were not read", balancer(true, lbOther, lbName), nil, false},
		"LeftEmpty":     {"its owner has left", balancer(true, lbOther, lbName), [][]string{}, true},
		"LeftUntagged":  {"a listener may be the owner's", balancer(true, lbOther, lbName), listeners(ours, users), false},
		"NotLeft":       {"its owner is in it", balancer(true, lbOther, lbOther, lbName), listeners(ours), false},
		"NotJoined":     {"this Service is not in it", balancer(true, lbOther), listeners(), false},
		"Users":         {"made by a user", balancer(true, "mine", lbName), listeners(ours), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.lb.IsDeletable(names(), tc.tags); got != tc.want {
				t.Errorf("%s: %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

// TestOwnPart (OS-LB-8) has a case for each cell of the row about listeners, pools and
// monitors.
func TestOwnPart(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		kind   request.Part
		name   string
		tags   []string
		own    bool
		want   bool
		// balancer is the current name of the load balancer, that of the Service if empty.
		balancer string
	}{
		"Tagged":        {"the tag of the Service", request.PartListener, "x", []string{lbName}, false, true, ""},
		"TaggedTwice":   {"the tag of the Service beside another", request.PartListener, "x", []string{lbName, lbOther}, false, true, ""},
		"Named":         {"untagged in our load balancer", request.PartListener, "listener_0_" + lbName, nil, true, true, ""},
		"NamedPool":     {"untagged in our load balancer", request.PartPool, "pool_1_" + lbName, nil, true, true, ""},
		"NamedMonitor":  {"untagged in our load balancer", request.PartMonitor, "monitor_2_" + lbName, nil, true, true, ""},
		"UserTag":       {"a tag of a user changes nothing", request.PartPool, "pool_1_" + lbName, []string{"team-a"}, true, true, ""},
		"NamedShared":   {"untagged in a load balancer of another", request.PartListener, "listener_0_" + lbName, nil, false, false, ""},
		"OtherKind":     {"the name of another kind", request.PartListener, "pool_0_" + lbName, nil, true, false, ""},
		"Users":         {"a user's in our load balancer", request.PartListener, "https", nil, true, false, ""},
		"OtherName":     {"another Service's", request.PartListener, "listener_0_" + lbOther, nil, true, false, ""},
		"OtherTag":      {"another Service's, whatever its name is", request.PartListener, "listener_0_" + lbName, []string{lbOther}, true, false, ""},
		"Former":        {"the cluster was renamed", request.PartListener, "listener_0_" + lbFormer, []string{lbFormer}, true, true, lbFormer},
		"FormerName":    {"the cluster was renamed", request.PartPool, "pool_0_" + lbFormer, nil, true, true, lbFormer},
		"FormerShared":  {"the same Service of another cluster", request.PartListener, "listener_0_" + lbFormer, []string{lbFormer}, false, false, ""},
		"Namesake":      {"a second cluster shares it with a Service of the same name", request.PartListener, "listener_0_" + lbFormer, []string{lbFormer}, true, false, ""},
		"NamesakeName":  {"the same without a tag", request.PartPool, "pool_0_" + lbFormer, nil, true, false, ""},
		"NamesakeThird": {"so it does while this cluster is renamed", request.PartListener, "listener_0_" + lbThird, []string{lbThird}, true, false, lbFormer},
		"ForeignUID":    {"a tag names another Service", request.PartListener, "listener_0_" + lbName, []string{lbName, foreignTag}, true, false, ""},
		"OwnUID":        {"a tag names this Service", request.PartListener, "listener_0_" + lbName, []string{lbName, ownTag}, true, true, ""},
		"IndexTooLarge": {"no index", request.PartListener, "listener_00_" + lbName, nil, true, false, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := certainty.IsOwnPart(names().In(cmp.Or(tc.balancer, lbName)), tc.kind, tc.name, tc.tags, tc.own); got != tc.want {
				t.Errorf("%s: %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

// TestOwnFloatingIP has a case for each cell of the row about floating IPs.
func TestOwnFloatingIP(t *testing.T) {
	t.Parallel()

	const made = "Floating IP for Kubernetes external service default/web from cluster kubernetes"
	cases := map[string]struct {
		reason                 string
		port, vip, description string
		want                   bool
	}{
		"Both":        {"made for the Service", "vip", "vip", made, true},
		"OtherOwner":  {"made for the Service that shares it", "vip", "vip", "Floating IP for Kubernetes external service default/api from cluster x", true},
		"OtherPort":   {"somewhere else", "port", "vip", made, false},
		"NoPort":      {"on no port", "", "vip", made, false},
		"NoVIP":       {"the VIP port is not known", "", "", made, false},
		"Description": {"a user's", "vip", "vip", "web", false},
		"None":        {"a user's without a description", "vip", "vip", "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := certainty.IsOwnFloatingIP(tc.port, tc.vip, tc.description); got != tc.want {
				t.Errorf("%s: %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

// TestLeftFloatingIP: a floating IP of a load balancer that is gone is found again.
func TestLeftFloatingIP(t *testing.T) {
	t.Parallel()

	addr, other := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("203.0.113.8")
	made := names().FloatingIPDescription()
	cases := map[string]struct {
		reason            string
		port, description string
		published         netip.Addr
		want              bool
	}{
		"Left":        {"all of it fits", "", made, addr, true},
		"Attached":    {"in use", "vip", made, addr, false},
		"Renamed":     {"the cluster was renamed", "", "Floating IP for Kubernetes external service default/web from cluster old", addr, true},
		"RenamedKept": {"the address is another one", "", "Floating IP for Kubernetes external service default/web from cluster old", other, false},
		"Longer":      {"another Service's", "", "Floating IP for Kubernetes external service default/web2 from cluster old", addr, false},
		"Users":       {"a user's", "", "web", addr, false},
		"Other":       {"another Service's", "", "Floating IP for Kubernetes external service default/api from cluster kubernetes", addr, false},
		"OtherAddr":   {"kept by a Service of the same name before", "", made, other, false},
		"Unpublished": {"the address is not known", "", made, netip.Addr{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := certainty.IsLeftFloatingIP(names(), tc.port, tc.description, addr, tc.published); got != tc.want {
				t.Errorf("%s: %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

// TestOwnSecurityGroup has a case for each cell of the row about security groups.
func TestOwnSecurityGroup(t *testing.T) {
	t.Parallel()

	name := names().SecurityGroup()
	cases := map[string]struct {
		reason                string
		names                 request.Names
		project, pinned, name string
		want                  bool
	}{
		"Own":          {"the name with the UID", names(), project, project, name, true},
		"OtherProject": {"an operator reads all projects", names(), "p2", project, name, false},
		"NoLogin":      {"nothing is ours before a login", names(), "", "", name, false},
		"OtherUID":     {"that of a second cluster", names(), project, project, service("2").SecurityGroup(), false},
		"NoUID":        {"a Service without a UID", service(""), project, project, service("").SecurityGroup(), false},
		"Prefix":       {"part of the name", names(), project, project, name + "-x", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := certainty.IsOwnSecurityGroup(tc.names, tc.project, tc.pinned, tc.name); got != tc.want {
				t.Errorf("%s: %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}
