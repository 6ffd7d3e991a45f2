package openstack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider/providertest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// proving proves in the environment of a test.
func proving(times tuning) func(context.Context, provider.Candidate) (provider.Proof, error) {
	return func(ctx context.Context, candidate provider.Candidate) (provider.Proof, error) {
		return proveIn(ctx, candidate, noEnvironment(), times)
	}
}

// left lists the writes, and the tokens that were used and not revoked.
func (f *fleet) left() []string {
	return slices.Concat(slices.Sorted(maps.Keys(f.Writes())), sessions(f.Cloud))
}

// FW-CONFIG-14: a proof finds the project, the region and the servers, or reports what the cloud
// has refused.
func TestProve(t *testing.T) {
	t.Parallel()
	const gone = "00000000-0000-4000-8000-00000000dead"
	cases := map[string]struct {
		proof providertest.Proof
		text  func(string) string
		fault func(*fleet)
	}{
		"Right": {proof: providertest.Proof{
			Reason: "a server is missing, which is no error", Identity: "user", Scope: "project ", Found: 2, Missing: []string{"node-gone"},
		}},
		"WrongPassword": {
			proof: providertest.Proof{Reason: "Keystone refuses it", Identity: "user", Err: "user or password is wrong", LoginRefused: true},
			text:  wrongPassword,
		},
		"NoRegion": {
			proof: providertest.Proof{Reason: "the catalog does not have it", Scope: "project ", Err: `no public endpoint of compute in region "RegionThree"`},
			text:  func(text string) string { return strings.Replace(text, "RegionOne", "RegionThree", 1) },
		},
		"WrongRegion": {
			proof: providertest.Proof{
				Reason: "no Node is there, although kubelets report", Scope: "project ",
				Missing: []string{"node-1", "node-2", "node-gone"}, Err: "the instances of all 3 nodes are missing",
			},
			text: func(text string) string { return strings.Replace(text, "RegionOne", "RegionTwo", 1) },
		},
		"Down": {
			proof: providertest.Proof{Reason: "no response", Err: "log in to Keystone", Unanswered: true},
			fault: func(f *fleet) { f.Server().Down() },
		},
		"NovaRefuses": {
			proof: providertest.Proof{
				Reason: "the user may log in, and not read", Err: "look up node", Unknown: []string{"node-1", "node-2", "node-gone"},
			},
			fault: func(f *fleet) { f.Interceptor().Inject("nova", simserver.Always(), simserver.Status(403)) },
		},
		"NovaFails": {
			proof: providertest.Proof{
				Reason: "Nova does not respond", Err: "look up node", Unanswered: true, Unknown: []string{"node-1", "node-2", "node-gone"},
			},
			fault: func(f *fleet) { f.Interceptor().Inject("nova", simserver.Always(), simserver.Status(503)) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 2, openstack.Options{Regions: []string{"RegionOne", "RegionTwo"}})
			nodes := append(slices.Clone(f.nodes), kubetest.Node("node-gone", kubetest.ProviderID("openstack:///"+gone), kubetest.NotReady()),
				kubetest.Node("other", kubetest.ProviderID("aws:///us-west-2a/i-1")))
			p := tc.proof
			p.Prove, p.Nodes, p.Changes, p.Text = proving(quick()), nodes, f.left, f.CloudConfig(openstack.UserCCM, "")
			if tc.text != nil {
				p.Text = tc.text(p.Text)
			}
			if tc.fault != nil {
				tc.fault(f)
			}
			p.Check(t)
			if n := f.Interceptor().Count("keystone.CreateToken"); n > 1 {
				t.Errorf("%s: %d logins", p.Reason, n)
			}
		})
	}
}

// FW-CONFIG-14: a proof ends in time although Nova does not respond, nor Keystone when the token is revoked.
func TestProveHanging(t *testing.T) {
	t.Parallel()
	providertest.CheckHanging(t, func(t *testing.T) providertest.Proof {
		f := newFleet(t, 2, openstack.Options{InMemory: true})
		for _, op := range []string{"nova", "keystone.RevokeToken"} {
			f.Interceptor().Inject(op, simserver.Always(), simserver.Slow(time.Hour))
		}

		return providertest.Proof{
			Reason: "Nova hangs", Prove: proving(tuning{client: f.ClientOptions()}), Text: f.CloudConfig(openstack.UserCCM, ""), Nodes: f.nodes,
			Identity: "user", Scope: "project ", Err: "look up node", Unanswered: true, Unknown: []string{"node-1", "node-2"},
			Changes: func() []string { return slices.Sorted(maps.Keys(f.Writes())) },
		}
	})
}

func wrongPassword(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "password") {
			lines[i] = `password = "wr0ng"`
		}
	}

	return strings.Join(lines, "\n")
}

// The servers of the first Nodes are read alone. In a cluster of more, a list serves all others.
func TestProveReadsFewServersAlone(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	for servers, lists := range map[int]int{1: 0, 16: 0, 40: 1} {
		f := newFleet(t, servers, openstack.Options{})
		providertest.Proof{
			Reason: "all are found", Prove: proving(quick()), Text: f.CloudConfig(openstack.UserCCM, ""), Nodes: f.nodes, Found: servers, Changes: f.left,
		}.Check(t)
		if n := f.Interceptor().Count("nova.ListServersDetail"); n != lists {
			t.Errorf("%d Nodes: %d lists of all servers, want %d", servers, n, lists)
		}
	}
}

// Without Nodes, the login and the region are proven.
func TestProveWithoutNodes(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 0, openstack.Options{})
	providertest.Proof{
		Reason: "a login is enough", Prove: proving(quick()), Text: f.CloudConfig(openstack.UserCCM, ""), Scope: "project ", Changes: f.left,
	}.Check(t)
}

// FW-CONFIG-19: a password that was refused is not sent again, and the proof fails. As long as another
// password of the account delays logins, a proof can be repeated.
func TestProveRespectsTheGuard(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, openstack.Options{})
	times := quick()
	times.client.LoginGuard = login.NewGuard(login.DefaultLimits(), clock.RealClock{})
	right := f.CloudConfig(openstack.UserCCM, "")
	p := providertest.Proof{
		Reason: "the first login", Prove: proving(times), Text: wrongPassword(right), Changes: f.left, Err: "user or password is wrong", LoginRefused: true,
	}
	p.Check(t)
	p.Reason, p.Err = "the second one", "not tried again before"
	p.Check(t)
	p.Reason, p.Text, p.Unanswered, p.LoginRefused = "another password", right, true, false
	p.Check(t)
	if n := f.Interceptor().Count("keystone.CreateToken"); n != 1 {
		t.Errorf("passwords were sent %d times", n)
	}
}

// OS-AUTH-4: the running cloud takes other credentials for its project, and nothing else.
func TestTakes(t *testing.T) {
	t.Parallel()
	cloud := newFleet(t, 1, openstack.Options{Regions: []string{"RegionOne", "RegionTwo"}})
	text := cloud.CloudConfig(openstack.UserCCM, "")
	env := noEnvironment()
	env.readFile = func(string) ([]byte, error) { return []byte(text), nil }
	c := connectIn(t, env, text, quick())
	project, err := c.client.Project(bounded(t))
	must(t, err)
	for name, tc := range map[string]struct {
		reason, text, project string
		want                  bool
	}{
		"Password":   {"another password", wrongPassword(text), project, true},
		"Credential": {"an application credential", strings.NewReplacer("username", "application-credential-id", "password", "application-credential-secret").Replace(text), project, true},
		"Comment":    {"nothing", text + "# a comment\n", project, true},
		"Region":     {"another region", strings.Replace(text, "RegionOne", "RegionTwo", 1), project, false},
		"Section":    {"a setting", text + "[LoadBalancer]\nmax-shared-lb = 4\n", project, false},
		"Project":    {"credentials of another project", wrongPassword(text), "another", false},
		"Invalid":    {"it is being changed", "[Global]\nauth-url = x\n", project, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := config.Parse("cloud.conf", []byte(tc.text))
			must(t, err)
			if got := c.Takes(bounded(t), file, provider.Proof{Scope: scopeOf(tc.project)}); got != tc.want {
				t.Errorf("%s: taken is %t", tc.reason, got)
			}
		})
	}
	for name, tc := range map[string]struct {
		text string
		want bool
	}{"Same": {text + "# a comment\n", true}, "Other": {wrongPassword(text), false}, "Invalid": {"[Global]\nauth-url = x\n", false}} {
		file, err := config.Parse("cloud.conf", []byte(tc.text))
		must(t, err)
		if got := c.LoggedIn(bounded(t), file); got != tc.want {
			t.Errorf("%s: logged in with its credentials is %t", name, got)
		}
	}
	fixed := connect(t, text, quick())
	file, err := config.Parse("cloud.conf", []byte(wrongPassword(text)))
	must(t, err)
	if fixed.Takes(bounded(t), file, provider.Proof{Scope: scopeOf(project)}) {
		t.Error(fmt.Errorf("a cloud-config that is not from a file is not read again"))
	}
}
