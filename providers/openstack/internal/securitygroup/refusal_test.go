package securitygroup

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// is reports an error unless err is a target.
func is(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("error is %v, want %v", err, target)
	}
}

// refusePort makes Neutron refuse changes of a port.
func (f *fixture) refusePort(id string, fault simserver.Fault) {
	f.Interceptor().Inject("neutron.UpdatePort", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		if strings.HasSuffix(r.URL.Path, id) {
			fault(w, r, apply)
		} else {
			apply.ServeHTTP(w, r)
		}
	})
}

// TestQuotaOfGroups (OS-LB-43) leaves the load balancer without a group, with a warning, and
// makes the group once there is room: 10 groups are what a project has by default.
func TestQuotaOfGroups(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 2, openstack.Options{})
	var others []string
	for i := range 9 { // and the one with the name default
		others = append(others, f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: fmt.Sprint("other-", i)}))
	}
	r := f.sync(bounded(t), f.client)
	is(t, r.err, apierr.ErrQuota)
	check(t, "reasons", []string{string(change.QuotaExceeded)}, r.reasons())
	check(t, "warning", "Security group "+groupName+" is not created, which exceeds a quota of the project (Quota exceeded for resources: ['security_group'])", r.warnings[0].Message)
	if strings.Contains(r.err.Error(), "not known yet") {
		t.Errorf("steps that need the group are errors of their own: %v", r.err)
	}
	check(t, "writes", map[string]int{"neutron.CreateSecurityGroup": 1}, f.Writes())
	f.DeleteSecurityGroup(others[0])
	f.mustSync(t)
	check(t, "rules", webRules, f.rules(t))
}

// TestQuotaOfRules (OS-LB-43) creates the rules that fit, with a warning about the others.
func TestQuotaOfRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, openstack.Options{})
	f.mustSync(t) // 4 rules of the group with the name default, and 2
	f.SetQuotas(openstack.ProjectCCM, openstack.Quotas{SecurityGroupRules: 9})
	for i := range 6 {
		f.nodePorts = append(f.nodePorts, request.Port{Protocol: v1.ProtocolTCP, NodePort: int32(31000 + i)})
	}
	r := f.sync(bounded(t), f.client)
	is(t, r.err, apierr.ErrQuota)
	check(t, "rules", webRules+", tcp 31000 from 10.0.0.0/16, tcp 31001 from 10.0.0.0/16, tcp 31002 from 10.0.0.0/16", f.rules(t))
	check(t, "warnings", []string{string(change.QuotaExceeded)}, r.reasons())
	check(t, "warning", "Security group "+groupName+" lacks rules that exceed a quota of the project: tcp 31003 from 10.0.0.0/16, "+
		"tcp 31004 from 10.0.0.0/16, tcp 31005 from 10.0.0.0/16 (Quota exceeded for resources: ['security_group_rule'])", r.warnings[0].Message)
	f.Interceptor().Reset()
	is(t, f.sync(bounded(t), f.client).err, apierr.ErrQuota)
	if n := f.Interceptor().Count("neutron.CreateSecurityGroupRule"); n > 2 {
		t.Errorf("%d calls for 3 rules none of which fits, want 2", n)
	}
}

// TestQuotaThatRulesMakeRoomFor replaces rules although there is no room for both: in the next sync those
// that are not wanted any more go, and the missing ones are created after that.
func TestQuotaThatRulesMakeRoomFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, openstack.Options{})
	f.mustSync(t)
	f.SetQuotas(openstack.ProjectCCM, openstack.Quotas{SecurityGroupRules: 7})
	f.nodePorts[0].NodePort, f.nodePorts[1].NodePort = 31000, 31001
	is(t, f.sync(bounded(t), f.client).err, apierr.ErrQuota)
	must(t, f.sync(bounded(t), f.client).err)
	check(t, "rules", "tcp 31000 from 10.0.0.0/16, tcp 31001 from 10.0.0.0/16", f.rules(t))

	f = newFixture(t, 1, openstack.Options{}) // a new group has two rules that go
	f.SetQuotas(openstack.ProjectCCM, openstack.Quotas{SecurityGroupRules: 6})
	is(t, f.sync(bounded(t), f.client).err, apierr.ErrQuota)
	must(t, f.sync(bounded(t), f.client).err)
	check(t, "rules", webRules, f.rules(t))
}

// TestQuotaOnADoubt keeps rules that are in the way as long as anything is not known.
func TestQuotaOnADoubt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 2, openstack.Options{})
	f.mustSync(t)
	f.SetQuotas(openstack.ProjectCCM, openstack.Quotas{SecurityGroupRules: 6})
	delete(f.given.Servers, "node-002")
	f.nodePorts[0].NodePort = 31000
	r := f.sync(bounded(t), f.client)
	is(t, r.err, apierr.ErrQuota)
	check(t, "reasons", []string{string(change.QuotaExceeded)}, r.reasons())
	check(t, "rules", webRules, f.rules(t))
	check(t, "nodes", "node-001 node-002", f.withGroup(t))
}

// TestRuleThatExists is refused with all others of its call, which are sent again.
func TestRuleThatExists(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, openstack.Options{})
	f.mustSync(t)
	f.nodePorts = append(f.nodePorts, request.Port{Protocol: v1.ProtocolTCP, NodePort: 31000}, request.Port{Protocol: v1.ProtocolTCP, NodePort: 31001})
	id := f.group(t)
	f.Interceptor().Reset()
	f.Interceptor().Inject("neutron.CreateSecurityGroupRule", simserver.Nth(1), simserver.Before(func() {
		f.Interceptor().Clear()
		_, err := f.client.Network().CreateSecurityGroupRules(bounded(t), []client.SecurityGroupRule{
			allow("tcp", 31000, netip.MustParsePrefix(memberSubnet)).request(id),
		})
		must(t, err)
	}))
	r := f.sync(bounded(t), f.client)
	must(t, r.err)
	check(t, "calls with that of the test", 4, f.Interceptor().Count("neutron.CreateSecurityGroupRule"))
	check(t, "warnings", []string(nil), r.reasons())
	check(t, "rules", webRules+", tcp 31000 from 10.0.0.0/16, tcp 31001 from 10.0.0.0/16", f.rules(t))
}

// TestRefusedRule (OS-LB-12) costs only itself.
func TestRefusedRule(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 2, openstack.Options{})
	f.nodePorts = append(f.nodePorts, request.Port{Protocol: "SCTP", NodePort: 31000})
	f.Interceptor().Inject("neutron.CreateSecurityGroupRule", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		if strings.Contains(peek(r), "sctp") {
			openstack.Error(http.StatusBadRequest, "SecurityGroupRuleInvalidProtocol", "Security group rule protocol sctp not supported.")(w, r, apply)
		} else {
			apply.ServeHTTP(w, r)
		}
	})
	r := f.sync(bounded(t), f.client)
	is(t, r.err, apierr.ErrInvalid)
	check(t, "reasons", []string{string(RuleRefused)}, r.reasons())
	check(t, "warning", "Security group "+groupName+" lacks rules that Neutron refuses: sctp 31000 from 10.0.0.0/16 (Security group rule protocol sctp not supported)", r.warnings[0].Message)
	check(t, "nodes", "node-001 node-002", f.withGroup(t))
	check(t, "rules", "egress any to 0.0.0.0/0, egress any to ::/0, "+webRules, f.rules(t)) // nothing goes after a failure
}

// TestPortThatMustNotBeChanged costs its Node, with a warning, and keeps what could be taken
// away: it may be in use by that Node.
func TestPortThatMustNotBeChanged(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simserver.Fault{
		"denied":  openstack.Error(http.StatusForbidden, "PolicyNotAuthorized", "(rule:update_port) is disallowed by policy"),
		"invalid": openstack.Error(http.StatusBadRequest, "InvalidInput", "Invalid input for operation"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, 4, openstack.Options{})
			f.leave("node-002")
			f.leave("node-003")
			f.mustSync(t)
			f.members = append(f.members[:0:0], f.members[0], request.Target{Node: "node-002", Address: netip.MustParseAddr("10.0.1.3")}, request.Target{Node: "node-003", Address: netip.MustParseAddr("10.0.1.4")})
			f.nodePorts[0].NodePort = 31000
			f.refusePort(f.ports["node-002"], fault)
			r := f.sync(bounded(t), f.client)
			if !errors.Is(r.err, apierr.ErrDenied) && !errors.Is(r.err, apierr.ErrInvalid) {
				t.Errorf("error %v", r.err)
			}
			check(t, "reasons", []string{string(NotAdded)}, r.reasons())
			if !strings.HasPrefix(r.warnings[0].Message, "Security group "+groupName+" is not added to ports that OpenStack does not allow to change: node-002 (") {
				t.Errorf("warning %q", r.warnings[0].Message)
			}
			check(t, "writes", map[string]int{"neutron.CreateSecurityGroupRule": 1, "neutron.UpdatePort": 2}, f.Writes())
			check(t, "nodes", "node-001 node-003 node-004", f.withGroup(t))
			check(t, "rules", "tcp 30080 from 10.0.0.0/16, tcp 30443 from 10.0.0.0/16, tcp 31000 from 10.0.0.0/16", f.rules(t))
		})
	}
}

// TestRefusedWithoutRevisions is written once: nothing shows that the port has changed.
func TestRefusedWithoutRevisions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, openstack.Options{})
	f.SetWithoutExtensions(client.ExtensionRevisions)
	f.refusePort(f.ports["node-001"], openstack.Error(http.StatusBadRequest, "InvalidInput", "Invalid input for operation"))
	is(t, f.sync(bounded(t), f.client).err, apierr.ErrInvalid)
	check(t, "changes of ports", 1, f.Interceptor().Count("neutron.UpdatePort"))
}

// TestPortThatKeepsTheGroup does not keep others from losing it.
func TestPortThatKeepsTheGroup(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 4, openstack.Options{})
	f.mustSync(t)
	f.members = f.members[3:]
	f.refusePort(f.ports["node-002"], openstack.Denied())
	r := f.sync(bounded(t), f.client)
	is(t, r.err, apierr.ErrDenied)
	check(t, "reasons", []string{string(NotRemoved)}, r.reasons())
	check(t, "nodes", "node-002 node-004", f.withGroup(t))
	r = f.remove(bounded(t), f.client)
	must(t, r.err) // the Service can be deleted
	check(t, "reasons", []string{string(NotRemoved)}, r.reasons())
	check(t, "nodes", "node-002", f.withGroup(t))
	f.Interceptor().Clear()
	must(t, f.remove(bounded(t), f.client).err)
	check(t, "groups", []string(nil), f.groups(t))
}

// TestPortOfAnotherProject (OS-LB-11) is not shown to us, although it is in our network: an
// administrator has made it. That keeps the group on no other port.
func TestPortOfAnotherProject(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 2, openstack.Options{})
	f.mustSync(t)
	f.joinAt("node-admin", "10.0.9.9")
	f.AddPort(openstack.PortSpec{Network: f.network, Project: openstack.ProjectAdmin, IPs: []string{"10.0.9.9"}, Server: f.given.Servers["node-admin"]})
	f.leave("node-001")
	f.join()
	r := f.sync(bounded(t), f.client)
	must(t, r.err)
	check(t, "reasons", []string{string(NotAdded)}, r.reasons())
	check(t, "warning", "Security group "+groupName+" is not added to nodes, because no port of the project has their address: node-admin", r.warnings[0].Message)
	check(t, "gaps", 0, len(r.gaps))
	check(t, "nodes", "node-002 node-003", f.withGroup(t))
	f.leave("node-admin")
	f.mustSync(t)
	check(t, "nodes", "node-002 node-003", f.withGroup(t))
}

// TestChangedPorts are read again: whatever others change meanwhile stays.
func TestChangedPorts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason         string
		meanwhile      func(f *fixture, port, other string)
		times          int
		err            error
		writes         int
		groups, others int
	}{
		"once":         {"a new revision", func(f *fixture, port, _ string) { f.TouchPort(port) }, 1, nil, 2, 1, 0},
		"some times":   {"some new revisions", func(f *fixture, port, _ string) { f.TouchPort(port) }, 3, nil, 4, 1, 0},
		"always":       {"it is given up", func(f *fixture, port, _ string) { f.TouchPort(port) }, 99, apierr.ErrConflict, 4, 0, 0},
		"other group":  {"it is kept", func(f *fixture, port, other string) { f.SetPortGroups(port, other) }, 1, nil, 2, 1, 1},
		"port deleted": {"there is no port any more", func(f *fixture, port, _ string) { f.DeletePort(port) }, 1, apierr.ErrInvalid, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, 1, openstack.Options{})
			port, other := f.ports["node-001"], f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "other"})
			f.Interceptor().Inject("neutron.UpdatePort", simserver.First(test.times), simserver.Before(func() { test.meanwhile(f, port, other) }))
			r := f.sync(bounded(t), f.client)
			if test.err == nil {
				must(t, r.err)
			} else {
				is(t, r.err, test.err)
			}
			check(t, test.reason, test.writes, f.Interceptor().Count("neutron.UpdatePort"))
			p, _ := f.Port(port)
			check(t, "has the group", test.groups == 1, slices.Contains(p.Groups, f.group(t)))
			check(t, "has the other group", test.others == 1, slices.Contains(p.Groups, other))
		})
	}
}

// TestResponseWithOtherGroups is no success: Neutron responds with the port as it is.
func TestResponseWithOtherGroups(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, openstack.Options{})
	port := f.ports["node-001"]
	respond := func(groups string) {
		f.Interceptor().Inject("neutron.UpdatePort", simserver.Always(), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"port": {"id": %q, "security_groups": [%s]}}`, port, groups)
		})
	}
	respond("")
	is(t, f.sync(bounded(t), f.client).err, errNotApplied)
	f.Interceptor().Clear()
	f.mustSync(t)
	respond(fmt.Sprintf("%q", f.group(t)))
	is(t, f.remove(bounded(t), f.client).err, errNotApplied)
}

// TestServiceThatIsDown is not called for each port and each rule.
func TestServiceThatIsDown(t *testing.T) {
	t.Parallel()
	down := openstack.Error(http.StatusServiceUnavailable, "ServiceUnavailable", "x")
	f := newFixture(t, 3, openstack.Options{})
	f.Interceptor().Inject("neutron.UpdatePort", simserver.Always(), down)
	is(t, f.sync(bounded(t), f.client).err, apierr.ErrUnavailable)
	check(t, "changes of ports", 1, f.Interceptor().Count("neutron.UpdatePort"))
	check(t, "deleted rules", 0, f.Interceptor().Count("neutron.DeleteSecurityGroupRule"))
	f.Interceptor().Clear()
	f.mustSync(t)
	f.nodePorts = nil
	f.Interceptor().Inject("neutron.DeleteSecurityGroupRule", simserver.Always(), down)
	is(t, f.sync(bounded(t), f.client).err, apierr.ErrUnavailable)
	check(t, "deleted rules", 1, f.Interceptor().Count("neutron.DeleteSecurityGroupRule"))
}

// shortList is a list that lacks all of its rows.
func shortList(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"security_groups": []}`)
}

// TestSecondGroup (OS-LB-43): a list lacked the group of the Service, so that a second one was
// made. The next sync deletes one of them, once the other one has all ports and rules.
func TestSecondGroup(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 3, openstack.Options{})
	f.mustSync(t)
	first := f.group(t)
	f.Interceptor().Inject("neutron.ListSecurityGroups", simserver.First(2), shortList)
	must(t, f.sync(bounded(t), f.client).err)
	check(t, "groups after a short list", 2, len(f.groups(t)))
	for _, port := range f.ports { // in use is what most ports have
		p, _ := f.Port(port)
		f.SetPortGroups(port, append(p.Groups[:1:1], first)...)
	}
	f.SetPortGroups(f.ports["node-002"], f.groups(t)...)
	f.mustSync(t)
	check(t, "group", first, f.group(t))
	check(t, "nodes", "node-001 node-002 node-003", f.withGroup(t))
	check(t, "rules", webRules, f.rules(t))
	f.mustSync(t)
	check(t, "plan of an unchanged group", "", f.sync(bounded(t), f.client).plan)
	must(t, f.remove(bounded(t), f.client).err)
	check(t, "groups after the deletion", []string(nil), f.groups(t))
}

// TestSecondGroupKept (OS-LB-11, OS-LB-43): while something is not understood, nothing is
// deleted; a group that a port keeps stays, and the other one is deleted.
func TestSecondGroupKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, openstack.Options{})
	f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: groupName})
	f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: groupName})
	f.joinAt("node-002", "10.0.3.3") // on no port
	f.AddPort(openstack.PortSpec{Network: f.network, IPs: []string{"10.0.3.4"}, Server: f.given.Servers["node-002"]})
	must(t, f.sync(bounded(t), f.client).err)
	check(t, "groups", 2, len(f.groups(t)))
	f.leave("node-002")
	f.mustSync(t)
	check(t, "groups", 1, len(f.groups(t)))
	kept := f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: groupName})
	port := f.AddPort(openstack.PortSpec{Network: f.network, Groups: []string{kept}})
	f.Interceptor().Inject("neutron.UpdatePort", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		if strings.HasSuffix(r.URL.Path, port) {
			apply = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { openstack.Denied()(w, r, apply) })
		}
		apply.ServeHTTP(w, r)
	})
	must(t, f.remove(bounded(t), f.client).err)
	check(t, "groups", 1, len(f.groups(t)))
	check(t, "group", kept, f.group(t))
}

// TestGroupsOfOthers are not ours: the UID of the Service and the project count.
func TestGroupsOfOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, openstack.Options{})
	f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: groupName, Project: openstack.ProjectOther})
	f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: strings.Replace(groupName, serviceUID, "other", 1)})
	must(t, f.remove(bounded(t), f.client).err)
	check(t, "writes", map[string]int{}, f.Writes())
	operator := f.NewClient(t, f.ClientConfig(), inline(f.Credentials(openstack.UserOperator)), f.ClientOptions())
	must(t, f.remove(bounded(t), operator).err)
	must(t, f.sync(bounded(t), operator).err)
	check(t, "groups", 1, len(f.groups(t)))
	o, err := Find(bounded(t), operator.Network(), f.names, f.ProjectID(openstack.ProjectOther))
	if err != nil || o.Group != nil {
		t.Errorf("group %+v, %v for another project than the pinned one", o.Group, err)
	}
	must(t, f.remove(bounded(t), operator).err)
	check(t, "leaks", []string(nil), f.Leaks())
}
