package vsphere

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/tlsfiles"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
)

// iniHead and yamlHead are cloud-configs without load balancers, with four lines and all that load balancers require.
const (
	iniHead = "[Global]\nserver = vc\nuser = u\npassword = p\n"
	iniTail = "[NSXT]\nhost = nsx\nuser = u\npassword = p\n"
	iniLB   = "[LoadBalancer]\nlb-service-id = lbs\nip-pool-id = pool\ntcp-app-profile-name = tcp\nudp-app-profile-name = udp\n"

	yamlHead = "global: {server: vc, user: u, password: p}\nnsxt: {host: nsx, user: u, password: p}\n"
)

// TestDecodeLoadBalancers (VS-LB-13): what is wrong with load balancers is an error with its place and the text that the
// existing controller manager has, all at once.
func TestDecodeLoadBalancers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 257)
	cases := map[string]struct {
		reason, text string
		problems     []string
	}{
		"unmanaged": {"an LBService that people manage needs no size", iniHead + iniLB + iniTail, nil},
		"managed":   {"one of the cluster", iniHead + strings.Replace(iniLB, "lb-service-id = lbs", "size = DLB\ntier1-gateway-path = /infra/tier-1s/t", 1) + iniTail, nil},
		"both":      {"an LBService at a gateway", iniHead + iniLB + "tier1-gateway-path = /infra/tier-1s/t\n" + iniTail, nil},
		"YAML":      {"the same", yamlHead + "loadBalancer: {lbServiceId: lbs, ipPoolId: pool, tcpAppProfileName: tcp, udpAppProfilePath: /infra/lb-app-profiles/udp}\n", nil},
		"nothing": {
			"everything that is missing", iniHead + "[LoadBalancer]\nsize = small\n[LoadBalancerClass \"a\"]\nip-pool-id = a\n" + iniTail,
			[]string{
				"error: vsphere.conf:5:1: [LoadBalancer]: either load balancer service id or T1 gateway path required: set [LoadBalancer] lb-service-id or [LoadBalancer] tier1-gateway-path",
				"error: vsphere.conf:5:1: [LoadBalancer]: either load balancer TCP application profile name or path required: set [LoadBalancer] tcp-app-profile-name or [LoadBalancer] tcp-app-profile-path",
				"error: vsphere.conf:5:1: [LoadBalancer]: either load balancer UDP application profile name or path required: set [LoadBalancer] udp-app-profile-name or [LoadBalancer] udp-app-profile-path",
				"error: vsphere.conf:5:1: [LoadBalancer]: no default load balancer class defined: set [LoadBalancer] ip-pool-name or [LoadBalancer] ip-pool-id",
				"error: vsphere.conf:6:1: [LoadBalancer] size: load balancer size is invalid. Valid values are: DLB,LARGE,MEDIUM,SMALL,XLARGE",
			},
		},
		"nothing in YAML": {
			"with the names of YAML", yamlHead + "loadBalancer:\n  ipPoolName: pool\n  ipPoolId: pool\n",
			[]string{
				"error: vsphere.conf:3:1: loadBalancer: either load balancer service id or T1 gateway path required: set loadBalancer.lbServiceId or loadBalancer.tier1GatewayPath",
				"error: vsphere.conf:3:1: loadBalancer: either load balancer TCP application profile name or path required: set loadBalancer.tcpAppProfileName or loadBalancer.tcpAppProfilePath",
				"error: vsphere.conf:3:1: loadBalancer: either load balancer UDP application profile name or path required: set loadBalancer.udpAppProfileName or loadBalancer.udpAppProfilePath",
				"error: vsphere.conf:3:1: loadBalancer.size: load balancer size is invalid. Valid values are: DLB,LARGE,MEDIUM,SMALL,XLARGE",
				"error: vsphere.conf:5:3: loadBalancer.ipPoolId: either load balancer ipPoolName or ipPoolID can be set",
			},
		},
		"class alone": {
			"a class enables load balancers", iniHead + "[LoadBalancerClass \"a\"]\n" + iniTail,
			[]string{
				"error: vsphere.conf: [LoadBalancer]: either load balancer service id or T1 gateway path required: set [LoadBalancer] lb-service-id or [LoadBalancer] tier1-gateway-path",
				"error: vsphere.conf: [LoadBalancer]: either load balancer TCP application profile name or path required: set [LoadBalancer] tcp-app-profile-name or [LoadBalancer] tcp-app-profile-path",
				"error: vsphere.conf: [LoadBalancer]: either load balancer UDP application profile name or path required: set [LoadBalancer] udp-app-profile-name or [LoadBalancer] udp-app-profile-path",
				"error: vsphere.conf: [LoadBalancer] size: load balancer size is invalid. Valid values are: DLB,LARGE,MEDIUM,SMALL,XLARGE",
				"error: vsphere.conf: [LoadBalancer]: no default load balancer class defined: set [LoadBalancer] ip-pool-name or [LoadBalancer] ip-pool-id",
			},
		},
		"no manager": {
			"they require it", iniHead + iniLB,
			[]string{"error: vsphere.conf:5:1: [LoadBalancer]: requires [NSXT]: host is empty, user or vmc access token or client cert file must be set, or secret-name"},
		},
		"paths": {
			"an ID is no path, and a gateway not that of a project", iniHead + strings.Replace(iniLB, "= lbs", "= /infra/lb-services/lbs", 1) + "tier1-gateway-path = /infra/tier-0s/t\n" + iniTail,
			[]string{
				"error: vsphere.conf:6:1: [LoadBalancer] lb-service-id: want the ID of a load balancer service, not a path",
				`error: vsphere.conf:10:1: [LoadBalancer] tier1-gateway-path: "/infra/tier-0s/t" is not the path of a tier-1 gateway: want /infra/tier-1s/<id>`,
			},
		},
		"pool paths": {
			"nor is that of a pool", iniHead + strings.Replace(iniLB, "= pool", "= /infra/ip-pools/pool", 1) + "[LoadBalancerClass \"a\"]\nip-pool-id-ipv6 = ip-pools/six\n" + iniTail,
			[]string{
				"error: vsphere.conf:7:1: [LoadBalancer] ip-pool-id: want the ID of an IP pool, not a path",
				`error: vsphere.conf:11:1: [LoadBalancerClass "a"] ip-pool-id-ipv6: want the ID of an IP pool, not a path`,
			},
		},
		"profile names": {
			"nor is a name the path of a profile", iniHead + strings.Replace(iniLB, "tcp-app-profile-name", "tcp-app-profile-path", 1) + "persistence-profile-path = source-ip\n[LoadBalancerClass \"a\"]\nudp-app-profile-path = fast\n" + iniTail,
			[]string{
				"error: vsphere.conf:8:1: [LoadBalancer] tcp-app-profile-path: want the path of an application profile, such as /infra/lb-app-profiles/tcp",
				"error: vsphere.conf:10:1: [LoadBalancer] persistence-profile-path: want the path of a persistence profile, such as /infra/lb-persistence-profiles/source-ip",
				`error: vsphere.conf:12:1: [LoadBalancerClass "a"] udp-app-profile-path: want the path of an application profile, such as /infra/lb-app-profiles/fast`,
			},
		},
		"class without a name": {
			"no Service can select it", iniHead + iniLB + "[LoadBalancerClass]\n" + iniTail,
			[]string{`error: vsphere.conf:10:1: [LoadBalancerClass]: want a name, as in [LoadBalancerClass "public"]`},
		},
		"two pools": {
			"of each family", iniHead + iniLB + "ip-pool-name = p\nip-pool-name-ipv6 = p\nip-pool-id-ipv6 = p\n" + iniTail,
			[]string{
				"error: vsphere.conf:7:1: [LoadBalancer] ip-pool-id: either load balancer ipPoolName or ipPoolID can be set",
				"error: vsphere.conf:12:1: [LoadBalancer] ip-pool-id-ipv6: either load balancer ipPoolName or ipPoolID can be set",
			},
		},
		"empty default": {
			"the class default needs a pool", iniHead + strings.Replace(iniLB, "ip-pool-id = pool\n", "", 1) + "[LoadBalancerClass \"default\"]\ntcp-app-profile-name = fast\n" + iniTail,
			[]string{`error: vsphere.conf:9:1: [LoadBalancerClass "default"]: default load balancer class: ipPoolName and ipPoolID is empty`},
		},
		"null class": {
			"an entry without a value", yamlHead + "loadBalancer: {lbServiceId: lbs, ipPoolId: pool, tcpAppProfileName: tcp, udpAppProfileName: udp}\nloadBalancerClass:\n  a:\n",
			[]string{"error: vsphere.conf:5:3: loadBalancerClass.a is empty (null)"},
		},
		"ID and name": {
			"a class with a name gets addresses of another pool than with the existing controller manager; an ID goes before a name",
			iniHead + iniLB + "[LoadBalancerClass \"a\"]\nip-pool-name = a\nudp-app-profile-name = b\nudp-app-profile-path = /b\n" + iniTail,
			[]string{
				`warning: vsphere.conf:11:1: [LoadBalancerClass "a"] ip-pool-name: is used for new load balancers, not [LoadBalancer] ip-pool-id, which the existing controller manager prefers`,
				`warning: vsphere.conf:12:1: [LoadBalancerClass "a"] udp-app-profile-name: is ignored: [LoadBalancerClass "a"] udp-app-profile-path is set`,
			},
		},
		"no tags": {
			"a JSON object of texts", iniHead + iniLB + "tags = a\n" + iniTail,
			[]string{"error: vsphere.conf:10:1: [LoadBalancer] tags: unmarshalling load balancer tags failed: want a JSON object of strings, in INI files as in {\\\"team\\\": \\\"net\\\"}: invalid character 'a' looking for beginning of value"},
		},
		"tags": {
			"own scopes have no effect, long ones are refused by NSX-T, and an owner is noted",
			iniHead + iniLB + `tags = "{\"owner\": \"me\", \"cluster\": \"c\", \"port\": \"p\", \"long\": \"` + long + `\"}"` + "\n" + iniTail,
			[]string{
				"note: objects in NSX-T belong to load balancers of this cluster only with the tag owner me",
				"warning: vsphere.conf:10:1: [LoadBalancer] tags: cluster is ignored: it is a tag of this controller",
				"error: vsphere.conf:10:1: [LoadBalancer] tags: long: a scope can have 128 characters, and its tag 256",
				"warning: vsphere.conf:10:1: [LoadBalancer] tags: port is ignored: it is a tag of this controller",
			},
		},
		"many tags": {
			"NSX-T has at most 30 of an object", iniHead + iniLB + "tags = \"{" + manyTags(25) + "}\"\n" + iniTail,
			[]string{"error: vsphere.conf:10:1: [LoadBalancer] tags: 25 tags, at most 24 are possible"},
		},
		"most tags": {"24 are possible", iniHead + iniLB + "tags = \"{" + manyTags(24) + "}\"\n" + iniTail, nil},
		"unused": {
			"settings that enable nothing", iniHead + "[LoadBalancer]\nsnat-disabled = true\ntcp-app-profile-name = tcp\n",
			[]string{"warning: vsphere.conf:5:1: [LoadBalancer]: has no effect without [LoadBalancer] lb-service-id, [LoadBalancer] tier1-gateway-path or a pool"},
		},
		"empty section": {"nor does it without any", iniHead + "[LoadBalancer]\n", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, problems := decode(parse(t, tc.text), in(nil))
			same(t, tc.reason, tc.problems, describeProblems(problems))
		})
	}
}

// manyTags returns tags as they are in a cloud-config, without the braces.
func manyTags(n int) string {
	var tags []string
	for i := range n {
		tags = append(tags, fmt.Sprintf(`\"t%d\": \"v\"`, i))
	}

	return strings.Join(tags, ", ")
}

// TestClasses (VS-LB-8, VS-LB-13): a class has the settings of [LoadBalancer] that it leaves out. Name and ID, or name and
// path, are one setting, and one goes with the other.
func TestClasses(t *testing.T) {
	t.Parallel()
	fallback := request.Class{Name: "default", IPPool: request.Ref{ID: "pool"}, TCP: request.Ref{Name: "tcp"}, UDP: request.Ref{Name: "udp"}}
	with := func(name string, change func(*request.Class)) map[string]request.Class {
		class := fallback
		class.Name = name
		change(&class)
		classes := map[string]request.Class{"default": fallback}
		classes[name] = class

		return classes
	}
	cases := map[string]struct {
		reason, text string
		want         map[string]request.Class
	}{
		"default":   {"the settings of [LoadBalancer]", "", map[string]request.Class{"default": fallback}},
		"inherited": {"everything", "[LoadBalancerClass \"a\"]\n", with("a", func(*request.Class) {})},
		"name":      {"the ID is not inherited beside it", "[LoadBalancerClass \"a\"]\nip-pool-name = a\n", with("a", func(c *request.Class) { c.IPPool = request.Ref{Name: "a"} })},
		"path":      {"nor is a name", "[LoadBalancerClass \"a\"]\ntcp-app-profile-path = /a\nudp-app-profile-path = /b\n", with("a", func(c *request.Class) { c.TCP, c.UDP = request.Ref{ID: "/a"}, request.Ref{ID: "/b"} })},
		"more": {
			"settings that [LoadBalancer] does not have", "[LoadBalancerClass \"a\"]\nip-pool-id-ipv6 = six\npersistence-profile-path = /p\n",
			with("a", func(c *request.Class) { c.IPPoolIPv6, c.PersistencePath = request.Ref{ID: "six"}, "/p" }),
		},
		"own default": {"a class of this name replaces the default", "[LoadBalancerClass \"default\"]\nip-pool-id = own\n", with("default", func(c *request.Class) { c.IPPool.ID = "own" })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, _, problems := decode(parse(t, iniHead+iniLB+tc.text+iniTail), in(nil))
			if err := problems.Err(); err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			same(t, tc.reason, tc.want, cfg.balancing().Classes)
		})
	}
}

// TestDefaultClassAlone (VS-LB-13): the class default may have the only pool.
func TestDefaultClassAlone(t *testing.T) {
	t.Parallel()
	text := iniHead + strings.Replace(iniLB, "ip-pool-id = pool\n", "tags = \"{\\\"owner\\\": \\\"me\\\"}\"\nsnat-disabled = true\n", 1) + "[LoadBalancerClass \"default\"]\nip-pool-name = own\n" + iniTail
	file := parse(t, text)
	cfg, _, problems := decode(file, in(nil))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	want := request.Config{LBServiceID: "lbs", SNATDisabled: true, Tags: map[string]string{"owner": "me"}, Classes: map[string]request.Class{
		"default": {Name: "default", IPPool: request.Ref{Name: "own"}, TCP: request.Ref{Name: "tcp"}, UDP: request.Ref{Name: "udp"}},
	}}
	same(t, "settings", want, cfg.balancing())
	got := map[string]string{}
	for _, s := range explainIn(file, in(nil)) {
		if s.Name.Section == "LoadBalancerClass" && s.Value != "" {
			got[s.Name.Key+" "+s.Value] = s.Source
		}
	}
	origins := map[string]string{
		"ip-pool-name own": "vsphere.conf:12:1", "tcp-app-profile-name tcp": "inherited from [LoadBalancer] at vsphere.conf:9:1",
		"udp-app-profile-name udp": "inherited from [LoadBalancer] at vsphere.conf:10:1",
	}
	if !maps.Equal(origins, got) {
		same(t, "origins", origins, got)
	}
}

// TestClassProfiles (VS-LB-13): a class has the profiles of the class default, and only then those of [LoadBalancer]; a name in
// a class takes precedence over a path there. The upstream controller manager does the same.
func TestClassProfiles(t *testing.T) {
	t.Parallel()
	env := in(nil)
	env.checkTLS = func(tlsfiles.Files) error { return nil }
	cases := map[string]struct{ global, class, want string }{
		"class default": {"", "[LoadBalancerClass \"default\"]\ntcp-app-profile-name = special\n[LoadBalancerClass \"public\"]\n", "special"},
		"name and path": {"tcp-app-profile-path = /infra/lb-app-profiles/tcp\n", "[LoadBalancerClass \"public\"]\ntcp-app-profile-name = own\n", "own"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			balancing := iniLB
			if tc.global != "" {
				balancing = strings.Replace(iniLB, "tcp-app-profile-name = tcp\n", tc.global, 1)
			}
			cfg, _, problems := decode(parse(t, iniHead+balancing+tc.class+iniTail), env)
			if all := describeProblems(problems); len(all) != 0 {
				t.Errorf("problems: %q", all)
			}
			if got := cfg.balancing().Classes["public"].TCP; got != (request.Ref{Name: tc.want}) {
				t.Errorf("the profile is %v, want %s", got, tc.want)
			}
		})
	}
}
