package vsphere

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nodes"
)

// in is an environment with these variables and no directory.
func in(variables map[string]string) environment {
	return environment{variables: variables, hasDirectory: func(string) bool { return false }}
}

// withSecretsDirectory is an environment in which the default directory exists.
func withSecretsDirectory() environment {
	return environment{hasDirectory: func(path string) bool { return path == "/etc/cloud/secrets" }}
}

func parse(t *testing.T, text string) *config.File {
	t.Helper()
	file, err := config.Parse("vsphere.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}

	return file
}

func sample(t *testing.T, name string) *config.File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "config", name))
	if err != nil {
		t.Fatal(err)
	}
	file, err := config.Parse(name, data)
	if err != nil {
		t.Fatal(err)
	}

	return file
}

func describeProblems(problems config.Problems) []string {
	var lines []string
	for _, problem := range problems {
		lines = append(lines, problem.Severity.String()+": "+problem.String())
	}

	return lines
}

func prefixes(texts ...string) config.CIDRs {
	var list config.CIDRs
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}

	return list
}

// inlineSample is what both spellings of the first sample mean.
func inlineSample() *Config {
	return &Config{
		Global: Global{Connection: Connection{
			User: "administrator@vsphere.local", Password: `p#ssw"rd\`, Port: 443, InsecureFlag: true,
			SoapRoundtripCount: 3, IPFamily: Families{address.IPv4},
		}},
		VirtualCenter: map[string]*VirtualCenter{"10.0.0.1": {Server: "10.0.0.1", Connection: Connection{
			User: "administrator@vsphere.local", Password: `p#ssw"rd\`, Port: 443, InsecureFlag: true,
			Datacenters: config.List{"DC0", "DC1"}, SoapRoundtripCount: 3, IPFamily: Families{address.IPv4},
		}}},
		Labels: Labels{Region: "k8s-region", Zone: "k8s-zone"},
	}
}

// secretsSample is what both spellings of the second sample mean.
func secretsSample() *Config {
	return &Config{
		Global: Global{Connection: Connection{
			SecretName: "vsphere-cloud-secret", SecretNamespace: "kube-system", Port: 443, SoapRoundtripCount: 5,
			CAFile: "/etc/cloud/ca.pem", IPFamily: Families{address.IPv6, address.IPv4},
		}},
		VirtualCenter: map[string]*VirtualCenter{
			"east": {Server: "vc-east.example.com", Connection: Connection{
				Port: 443, SoapRoundtripCount: 5, CAFile: "/etc/cloud/ca.pem", IPFamily: Families{address.IPv6, address.IPv4},
				Datacenters: config.List{"/Folder/DC East", "Datacenter:datacenter-2"},
			}},
			"west": {Server: "fd00::2", Connection: Connection{
				Port: 8443, SoapRoundtripCount: 5, CAFile: "/etc/cloud/ca.pem", IPFamily: Families{address.IPv4},
				SecretName: "west", SecretNamespace: "cloud", Thumbprint: "01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:EF:01:23:45:67",
			}},
		},
		Nodes: nodes.Networks{
			InternalNetworkSubnetCIDR: prefixes("10.0.0.0/8", "fd00::/8"), ExternalNetworkSubnetCIDR: prefixes("192.0.2.0/24"),
			InternalVMNetworkName: "internal net", ExternalVMNetworkName: "external",
			ExcludeInternalNetworkSubnetCIDR: prefixes("10.9.0.0/16"), ExcludeExternalNetworkSubnetCIDR: prefixes("192.0.2.128/25", "2001:db8::/32"),
		},
		deleteByName: true, deletionLimit: new(int32(50)),
	}
}

// nsxtSample is what both spellings of the third sample mean.
func nsxtSample() *Config {
	connection := Connection{Port: 443, SoapRoundtripCount: 3, IPFamily: Families{address.IPv4}}
	global := connection
	global.SecretName, global.SecretNamespace = "vsphere-cloud-secret", "kube-system"
	balancer := LoadBalancerClass{
		IPPoolName: "pool", TCPAppProfileName: "default-tcp-lb-app-profile", UDPAppProfilePath: "/infra/lb-app-profiles/udp",
		PersistenceProfilePath: "/infra/lb-persistence-profiles/source-ip",
	}
	public := balancer
	public.IPPoolName, public.IPPoolID, public.IPPoolNameIPv6 = "", "public", "public-ipv6"

	return &Config{
		Global: Global{Connection: global}, VirtualCenter: map[string]*VirtualCenter{"vc1": {Server: "10.0.0.1", Connection: connection}},
		Route: Route{RouterPath: "/infra/tier-1s/t1"}, NSXT: NSXT{User: "admin", Password: "nsxt-password", Host: "nsxt.example.com", InsecureFlag: true},
		LoadBalancer: LoadBalancer{
			Size: "SMALL", Tier1GatewayPath: "/infra/tier-1s/t1", SNATDisabled: true, Tags: Tags{"owner": "me", "cost-center": "a, b"}, LoadBalancerClass: balancer,
		},
		LoadBalancerClass: map[string]*LoadBalancerClass{"public": &public},
	}
}

// TestDecodeSamples (VS-CONFIG-2, VS-CONFIG-10) reads files as they are
// documented for the existing controller manager, in both formats.
func TestDecodeSamples(t *testing.T) {
	t.Parallel()
	owner := []string{"note: objects in NSX-T belong to load balancers of this cluster only with the tag owner me"}
	secret := Connection{SecretName: "vsphere-cloud-secret", SecretNamespace: "kube-system", Port: 443, SoapRoundtripCount: 3, IPFamily: Families{address.IPv4}}
	plain := Connection{Port: 443, SoapRoundtripCount: 3, IPFamily: Families{address.IPv4}}
	cases := map[string]struct {
		reason   string
		want     *Config
		problems []string
	}{
		"inline.conf":  {reason: "user and password", want: inlineSample()},
		"inline.yaml":  {reason: "the same in YAML", want: inlineSample()},
		"secrets.conf": {reason: "everything else", want: secretsSample()},
		"secrets.yaml": {reason: "the same in YAML", want: secretsSample()},
		"in-tree.conf": {
			reason: "old files have sections of other readers, [Global] server adds an entry, the api keys are accepted",
			want: func() *Config {
				c := plain
				c.User, c.Password, c.InsecureFlag, c.Datacenters = "Administrator@vsphere.local", "password", true, config.List{"DC0"}

				return &Config{Global: Global{Server: "10.0.0.1", Connection: c}, VirtualCenter: map[string]*VirtualCenter{"10.0.0.1": {Server: "10.0.0.1", Connection: c}}}
			}(),
			problems: []string{
				"note: in-tree.conf:9:1: [Global] datastore is ignored: the in-tree cloud provider of old Kubernetes versions reads it",
				"note: in-tree.conf:10:1: [Global] working-dir is ignored: the in-tree cloud provider of old Kubernetes versions reads it",
				"note: in-tree.conf:11:1: [Global] vm-uuid is ignored: the in-tree cloud provider of old Kubernetes versions reads it",
				"note: in-tree.conf:12:1: [Global] service-account is ignored: it is no longer used",
				"note: in-tree.conf:13:1: [Global] api-disable is ignored: the node API no longer exists",
				"note: in-tree.conf:14:1: [Global] api-binding is ignored: the node API no longer exists",
				"note: in-tree.conf:16:1: [Workspace] is ignored: the in-tree cloud provider of old Kubernetes versions reads it",
				"note: in-tree.conf:23:1: [Disk] is ignored: the in-tree cloud provider of old Kubernetes versions reads it",
				"note: in-tree.conf:26:1: [Network] is ignored: the in-tree cloud provider of old Kubernetes versions reads it",
			},
		},
		"chart.yaml": {
			reason: "VS-CONFIG-2: the published chart emits ca-file in YAML; user and password beside a Secret stay",
			want: func() *Config {
				global, entry := secret, plain
				global.InsecureFlag, entry.InsecureFlag = true, true
				entry.User, entry.Password, entry.CAFile, entry.Datacenters = "user", "pass", "/etc/cloud/ca.pem", config.List{"dc"}

				return &Config{Global: Global{Connection: global}, VirtualCenter: map[string]*VirtualCenter{"vcenter.local": {Server: "vcenter.local", Connection: entry}}, Labels: Labels{Region: "k8s-region", Zone: "k8s-zone"}}
			}(),
		},
		"legacy.json": {
			reason: "JSON is YAML, with [Global] server alone",
			want: func() *Config {
				c := plain
				c.User, c.Password = "u", "p"

				return &Config{Global: Global{Server: "vc.example.com", Connection: c}, VirtualCenter: map[string]*VirtualCenter{"vc.example.com": {Server: "vc.example.com", Connection: c}}}
			}(),
		},
		"nsxt.yaml": {reason: "routes and load balancers in NSX-T", want: nsxtSample(), problems: owner},
		"nsxt.conf": {reason: "the same in INI", want: nsxtSample(), problems: owner},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, problems := decode(sample(t, name), in(nil))
			same(t, tc.reason+": problems", tc.problems, describeProblems(problems))
			same(t, tc.reason, tc.want, got)
		})
	}
}

func TestExplainSamples(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"inline.conf", "secrets.yaml", "in-tree.conf", "nsxt.yaml"} {
		var text strings.Builder
		for _, s := range explainIn(sample(t, name), in(map[string]string{"VSPHERE_LABEL_ZONE": "zones", "VSPHERE_CAFILE": "/env/ca.pem"})) {
			fmt.Fprintf(&text, "%s = %s (%s)\n", s.Name, s.Value, s.Source)
		}
		golden(t, filepath.Join("config", name+".explained"), text.String())
		if strings.Contains(text.String(), "p#ssw") || strings.Contains(text.String(), "= password (") || strings.Contains(text.String(), "nsxt-password") {
			t.Errorf("%s: a password is shown", name)
		}
	}
	if list := explainIn(nil, in(nil)); list != nil {
		t.Errorf("no file: got %v", list)
	}
}

// TestDecodeInherits (VS-CONFIG-4) goes through what a vCenter takes from
// [Global].
func TestDecodeInherits(t *testing.T) {
	t.Parallel()
	const global = `[Global]
user = global-user
password = global-password
port = 444
insecure-flag = true
datacenters = A,B
soap-roundtrip-count = 7
ca-file = /global.pem
thumbprint = 0123456789abcdef0123456789abcdef01234567
ip-family = ipv6
`
	const thumbprint = "0123456789abcdef0123456789abcdef01234567"
	const own = `user = u
password = p
port = 1
datacenters = C
soap-roundtrip-count = 2
ca-file = /own.pem
thumbprint = 0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF
ip-family = ipv4
`
	inherited := Connection{
		User: "global-user", Password: "global-password", Port: 444, InsecureFlag: true, Datacenters: config.List{"A", "B"},
		SoapRoundtripCount: 7, CAFile: "/global.pem", Thumbprint: thumbprint, IPFamily: Families{address.IPv6},
	}
	cases := map[string]struct {
		reason string
		text   string
		env    environment
		want   func() VirtualCenter
	}{
		"everything": {
			reason: "what is empty inherits; INI: the name is the address",
			text:   global + "[VirtualCenter \"vc\"]\n",
			want:   func() VirtualCenter { return VirtualCenter{Server: "vc", Connection: inherited} },
		},
		"empty and zero": {
			reason: "what is zero inherits, too",
			text:   global + "[VirtualCenter \"vc\"]\nuser = \"\"\npassword = \"\"\nport = \"\"\ndatacenters = \",\"\nsoap-roundtrip-count = 0\nca-file = \"\"\nthumbprint = \"\"\nip-family = \"\"\ninsecure-flag = false\n",
			want:   func() VirtualCenter { return VirtualCenter{Server: "vc", Connection: inherited} },
		},
		"nothing": {
			reason: "own values win, except that insecure-flag = own OR global",
			text:   global + "[VirtualCenter \"vc\"]\nserver = address\ninsecure-flag = false\n" + own,
			want: func() VirtualCenter {
				return VirtualCenter{Server: "address", Connection: Connection{
					User: "u", Password: "p", Port: 1, InsecureFlag: true, Datacenters: config.List{"C"}, SoapRoundtripCount: 2, CAFile: "/own.pem",
					Thumbprint: "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF", IPFamily: Families{address.IPv4},
				}}
			},
		},
		"own Secret": {
			reason: "user and password only without a secret source",
			text:   global + "[VirtualCenter \"vc\"]\nsecret-name = s\nsecret-namespace = n\n",
			want: func() VirtualCenter {
				c := inherited
				c.User, c.Password, c.SecretName, c.SecretNamespace = "", "", "s", "n"

				return VirtualCenter{Server: "vc", Connection: c}
			},
		},
		"global Secret": {
			reason: "user and password only without a secret source; the Secret itself is not inherited",
			text:   global + "secret-name = s\nsecret-namespace = n\n[VirtualCenter \"vc\"]\n",
			want: func() VirtualCenter {
				c := inherited
				c.User, c.Password = "", ""

				return VirtualCenter{Server: "vc", Connection: c}
			},
		},
		"global directory": {
			reason: "user and password only without a secret source",
			text:   global + "secrets-directory = /secrets\n[VirtualCenter \"vc\"]\n",
			want: func() VirtualCenter {
				c := inherited
				c.User, c.Password = "", ""

				return VirtualCenter{Server: "vc", Connection: c}
			},
		},
		"half a Secret": {
			reason: "a name without namespace does not count",
			text:   global + "secret-name = s\n[VirtualCenter \"vc\"]\nsecret-namespace = n\n",
			want: func() VirtualCenter {
				c := inherited
				c.SecretNamespace = "n"

				return VirtualCenter{Server: "vc", Connection: c}
			},
		},
		"default directory": {
			reason: "it is there by chance, so user and password stay what they are",
			text:   global + "[VirtualCenter \"vc\"]\n",
			env:    withSecretsDirectory(),
			want:   func() VirtualCenter { return VirtualCenter{Server: "vc", Connection: inherited} },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.env.hasDirectory == nil {
				tc.env = in(nil)
			}
			got, _, problems := decode(parse(t, tc.text), tc.env)
			if err := problems.Err(); err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			same(t, tc.reason, map[string]*VirtualCenter{"vc": new(tc.want())}, got.VirtualCenter)
		})
	}
}

// TestSecretSource goes through the rules of VS-CONFIG-6.
func TestSecretSource(t *testing.T) {
	t.Parallel()
	const entry = "[VirtualCenter \"vc\"]\n"
	cases := map[string]struct {
		reason   string
		text     string
		env      environment
		want     secretSource
		problems []string
	}{
		"global Secret":   {reason: "name and namespace", text: "[Global]\nsecret-name = s\nsecret-namespace = n\n" + entry, env: in(nil), want: secretSource{secretName: "s", secretNamespace: "n"}},
		"own Secret wins": {reason: "entry Secret wins over the global one", text: "[Global]\nsecret-name = s\nsecret-namespace = n\n" + entry + "secret-name = s2\nsecret-namespace = n2\n", env: in(nil), want: secretSource{secretName: "s2", secretNamespace: "n2"}},
		"directory":       {reason: "set, without name and namespace", text: "[Global]\nsecrets-directory = /s\n" + entry, env: in(nil), want: secretSource{directory: "/s"}},
		"default directory": {
			reason: "if that directory exists", text: "[Global]\nport = 443\n" + entry, env: withSecretsDirectory(), want: secretSource{directory: "/etc/cloud/secrets"},
		},
		"Secret and default directory": {
			reason: "explicit Secret wins", text: "[Global]\nsecret-name = s\nsecret-namespace = n\n" + entry, env: withSecretsDirectory(), want: secretSource{secretName: "s", secretNamespace: "n"},
		},
		"own directory and default directory": {
			reason: "the explicit one", text: "[Global]\nsecrets-directory = /s\n" + entry, env: withSecretsDirectory(), want: secretSource{directory: "/s"},
		},
		"Secret and directory": {
			reason: "one must win; the CPI takes neither for a source and asks for user and password",
			text:   "[Global]\nsecret-name = s\nsecret-namespace = n\nsecrets-directory = /s\n" + entry, env: in(nil),
			want:     secretSource{secretName: "s", secretNamespace: "n"},
			problems: []string{"warning: vsphere.conf:4:1: [Global] secrets-directory is ignored: the Secret n/s is set, too"},
		},
		"name alone": {
			reason: "a name without namespace does not count", text: "[Global]\nsecret-name = s\n" + entry, env: in(nil),
			problems: []string{
				"warning: vsphere.conf:2:1: [Global] secret-name is ignored without secret-namespace",
				`error: vsphere.conf:3:1: [VirtualCenter "vc"]: Username is missing: set user and password, or secret-name and secret-namespace, or secrets-directory in [Global]`,
			},
		},
		"namespace alone": {
			reason: "nor the other way round", text: "[Global]\nuser = u\npassword = p\n" + entry + "secret-namespace = n\n", env: in(nil),
			problems: []string{`warning: vsphere.conf:5:1: [VirtualCenter "vc"] secret-namespace is ignored without secret-name`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, _, problems := decode(parse(t, tc.text), tc.env)
			same(t, tc.reason, tc.problems, describeProblems(problems))
			if got := cfg.secretSource(cfg.VirtualCenter["vc"]); got != tc.want {
				t.Errorf("%s: want %+v, got %+v", tc.reason, tc.want, got)
			}
		})
	}
}

// TestDecodeProblems goes through the errors of VS-CONFIG-1, VS-CONFIG-3,
// VS-CONFIG-5 and VS-CONFIG-7.
func TestDecodeProblems(t *testing.T) {
	t.Parallel()
	const login = "[Global]\nuser = u\npassword = p\n"
	cases := map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"empty file":        {"empty config", "", []string{"error: vsphere.conf: no vSphere cloud provider config file given"}},
		"blank file":        {"empty config", "\ufeff\r\n \n", []string{"error: vsphere.conf: no vSphere cloud provider config file given"}},
		"comments only":     {"also a comment-only file", "# nothing\n", []string{"error: vsphere.conf: No Virtual Center hosts defined: add a section such as [VirtualCenter \"vc.example.com\"]"}},
		"no entry":          {"no entry after Global expansion", login, []string{"error: vsphere.conf: No Virtual Center hosts defined: add a section such as [VirtualCenter \"vc.example.com\"]"}},
		"no entry in YAML":  {"an empty mapping has none", "global: {user: u, password: p}\nvcenter: {}\n", []string{"error: vsphere.conf: No Virtual Center hosts defined: add a section such as vcenter.\"vc.example.com\""}},
		"unnamed section":   {"INI unnamed section", login + "[VirtualCenter]\nport = 1\n", []string{"error: vsphere.conf:4:1: [VirtualCenter]: vsphere.conf does not have the VirtualCenter IP address specified: set server to a host name or an IP address"}},
		"YAML, no server":   {"YAML entry without server", "global: {user: u, password: p}\nvcenter:\n  vc: {port: 1}\n", []string{"error: vsphere.conf:3:3: vcenter.vc: vsphere.conf does not have the VirtualCenter IP address specified: set server to a host name or an IP address"}},
		"all retired":       {"VS-CONFIG-12: no vCenter would be left that proves anything", login + "[VirtualCenter \"vc\"]\nretired = true\n", []string{"error: vsphere.conf: every vCenter is retired: at least one must not be"}},
		"one not retired":   {"VS-CONFIG-12: also as YAML", "global: {user: u, password: p}\nvcenter: {a: {server: a, retired: true}, b: {server: b}}\n", nil},
		"YAML, null entry":  {"VS-CONFIG-2: null entries are errors", "global: {user: u, password: p}\nvcenter:\n  vc:\n", []string{"error: vsphere.conf: No Virtual Center hosts defined: add a section such as vcenter.\"vc.example.com\"", "error: vsphere.conf:3:3: vcenter.vc is empty (null)"}},
		"no user":           {"user checked first", "[VirtualCenter \"vc\"]\n", []string{`error: vsphere.conf:1:1: [VirtualCenter "vc"]: Username is missing: set user and password, or secret-name and secret-namespace, or secrets-directory in [Global]`}},
		"no password":       {"no secret source and empty after inheritance", "[Global]\nuser = u\n[VirtualCenter \"vc\"]\n", []string{`error: vsphere.conf:3:1: [VirtualCenter "vc"]: Password is missing: set user and password, or secret-name and secret-namespace, or secrets-directory in [Global]`}},
		"no user in Global": {"the position is that of server", "[Global]\nserver = vc\npassword = p\n", []string{"error: vsphere.conf:2:1: [Global] server: Username is missing: set user and password, or secret-name and secret-namespace, or secrets-directory in [Global]"}},
		"family": {"INI family not ipv4/ipv6", login + "ip-family = ipv5\n[VirtualCenter \"vc\"]\nip-family = ipv4,x\n", []string{
			`error: vsphere.conf:4:1: [Global] ip-family: Invalid IP Family type: unknown IP family "ipv5": want ipv4 or ipv6`,
			`error: vsphere.conf:6:1: [VirtualCenter "vc"] ip-family: Invalid IP Family type: unknown IP family "x": want ipv4 or ipv6`,
		}},
		"family in YAML": {"unknown ones are errors in YAML too", "global: {server: vc, user: u, password: p, ipFamily: [ipv4, ip6]}\n", []string{`error: vsphere.conf:1:44: global.ipFamily: Invalid IP Family type: unknown IP family "ip6": want ipv4 or ipv6`}},
		"family twice":   {"it cannot be meant", login + "server = vc\nip-family = ipv4,IPv4\n", []string{`error: vsphere.conf:5:1: [Global] ip-family: Invalid IP Family type: IP family ipv4 is given twice`}},
		"families":       {"both are accepted without ENABLE_ALPHA_DUAL_STACK", login + "server = vc\nip-family = \" IPv6 , ipv4,\"\n", nil},
		"CIDRs": {"trimmed, and an error with the key", login + "server = vc\n[Nodes]\ninternal-network-subnet-cidr = 10.0.0.0/8, 10.0.0.1\nexclude-external-network-subnet-cidr = x\n", []string{
			`error: vsphere.conf:6:1: [Nodes] internal-network-subnet-cidr: "10.0.0.1" is not an address block such as 10.0.0.0/8`,
			`error: vsphere.conf:7:1: [Nodes] exclude-external-network-subnet-cidr: "x" is not an address block such as 10.0.0.0/8`,
		}},
		"port":           {"1 to 65535", login + "server = vc\nport = 65536\n", []string{`error: vsphere.conf:5:1: [Global] port: "65536" is not a port number (1 to 65535)`}},
		"thumbprint":     {"SHA-1 or SHA-256", login + "server = vc\nthumbprint = AA:BB\n", []string{`error: vsphere.conf:5:1: [Global] thumbprint: "AA:BB" is neither a SHA-1 nor a SHA-256 fingerprint in hexadecimal`}},
		"no round trips": {`soap-roundtrip-count = "" is an error`, login + "server = vc\nsoap-roundtrip-count = \"\"\n", []string{`error: vsphere.conf:5:1: [Global] soap-roundtrip-count: needs a value`}},
		"bool":           {"2 is an error", login + "server = vc\ninsecure-flag = 2\n", []string{"error: vsphere.conf:5:1: [Global] insecure-flag: \"2\" must be true or false"}},
		"other provider": {"FW-CONFIG-4: a file for another provider is an error", "[Global]\nprovider = aws\nserver = vc\nuser = u\npassword = p\n", []string{`error: vsphere.conf:2:1: [Global] provider: this file is for provider "aws", not for vsphere`}},
		"this provider":  {"fine", "[Global]\nprovider = vsphere\nserver = vc\nuser = u\npassword = p\n", nil},
		"settings":       {"0 workers initialize nothing", login + "server = vc\n[Controllers]\nconcurrent-node-syncs = 0\n", []string{"error: vsphere.conf:6:1: [Controllers] concurrent-node-syncs: must be a number above zero, got 0"}},
		"unknown names": {"FW-CONFIG-7: a warning", login + "server = vc\ninsecure = 1\n[VirtualCentre \"x\"]\n", []string{
			"warning: vsphere.conf:5:1: unknown key [Global] insecure",
			`warning: vsphere.conf:6:1: unknown section [VirtualCentre "x"], did you mean [VirtualCenter]?`,
		}},
		"strict": {"with strict = true it is an error", login + "server = vc\nport-number = 1\n[Multicloud]\nstrict = true\n[Workspace]\n", []string{
			"error: vsphere.conf:5:1: unknown key [Global] port-number",
			"note: vsphere.conf:8:1: [Workspace] is ignored: the in-tree cloud provider of old Kubernetes versions reads it",
		}},
		"all at once": {"one does not hide the other", "[Global]\nprovider = openstack\nport = x\n[VirtualCenter \"b\"]\n[VirtualCenter]\n[VirtualCenter \"a\"]\nuser = u\n", []string{
			`error: vsphere.conf:2:1: [Global] provider: this file is for provider "openstack", not for vsphere`,
			`error: vsphere.conf:3:1: [Global] port: "x" is not a port number (1 to 65535)`,
			`error: vsphere.conf:4:1: [VirtualCenter "b"]: Username is missing: set user and password, or secret-name and secret-namespace, or secrets-directory in [Global]`,
			`error: vsphere.conf:5:1: [VirtualCenter]: vsphere.conf does not have the VirtualCenter IP address specified: set server to a host name or an IP address`,
			`error: vsphere.conf:6:1: [VirtualCenter "a"]: Password is missing: set user and password, or secret-name and secret-namespace, or secrets-directory in [Global]`,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, problems := decode(parse(t, tc.text), in(nil))
			same(t, tc.reason, tc.want, describeProblems(problems))
		})
	}
}

func TestDecodeNoFile(t *testing.T) {
	t.Parallel()
	// VS-CONFIG-1: no panic without a file, whatever the environment contains.
	_, _, problems := decode(nil, in(map[string]string{"VSPHERE_VCENTER": "vc", "VSPHERE_USER": "u", "VSPHERE_PASSWORD": "p"}))
	same(t, "no file", []string{"error: no vSphere cloud provider config file given"}, describeProblems(problems))
	same(t, "in this process", []string{"error: no vSphere cloud provider config file given"}, describeProblems(decodeProblems(nil, config.WithFiles)))
	if explain(nil) != nil {
		t.Error("no file has no settings")
	}
}

func TestDecodeInThisProcess(t *testing.T) {
	t.Setenv("VSPHERE_LABEL_ZONE", "zones=a")
	t.Setenv("VSPHERE_CAFILE", "")
	file := sample(t, "inline.conf")
	if err := decodeProblems(file, config.WithFiles).Err(); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(explain(file), func(s config.Setting) bool { return s.Name == config.Name{Section: "Labels", Key: "zone"} })
	same(t, "zone", config.Setting{Name: config.Name{Section: "Labels", Key: "zone"}, Value: "zones=a", Source: "environment VSPHERE_LABEL_ZONE"}, explain(file)[i])

	env := processEnvironment()
	if !env.hasDirectory(t.TempDir()) || env.hasDirectory(filepath.Join(t.TempDir(), "none")) || env.hasDirectory(os.Args[0]) {
		t.Error("hasDirectory must distinguish directories from other files")
	}
	if !maps.Equal(env.variables, processEnvironment().variables) || env.variables["VSPHERE_LABEL_ZONE"] != "zones=a" {
		t.Error("variables must keep = in values")
	}
}

func TestUsername(t *testing.T) {
	t.Parallel()
	const pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
	file := parse(t, "global:\n  server: vc\n  password: |\n    -----BEGIN PRIVATE KEY-----\n    c2VjcmV0\n    -----END PRIVATE KEY-----\n  user: |\n    "+strings.ReplaceAll(pem, "\n", "\n    ")+"\n")
	cfg, _, problems := decode(file, in(nil))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	same(t, "PEM text as user", pem, string(cfg.VirtualCenter["vc"].User))
	for _, s := range explainIn(file, in(nil)) {
		switch {
		case s.Name.Section == "NSXT":
		case s.Name.Key == "user" && s.Value != "<PEM certificate>":
			t.Errorf("%s is shown as %q", s.Name, s.Value)
		case s.Name.Key == "password" && s.Value != "<redacted>":
			t.Errorf("%s is shown as %q", s.Name, s.Value)
		}
	}
	same(t, "any other name", `DOMAIN\user`, Username(`DOMAIN\user`).String())
}

// FW-CONFIG-10: a CA file is opened only on request, and reported once, where its path is.
func TestCAFileOfAll(t *testing.T) {
	t.Parallel()
	text := "[Global]\nuser = u\npassword = p\nca-file = /nowhere/ca.pem\n[VirtualCenter \"a\"]\n[VirtualCenter \"b\"]\n[VirtualCenter \"c\"]\nca-file = /nowhere/own.pem\n"
	file, err := config.Parse("vsphere.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "without files", []string(nil), describeProblems(decodeProblems(file, config.TextOnly)))
	same(t, "with files", []string{
		"error: vsphere.conf:4:1: [Global] ca-file: open /nowhere/ca.pem: no such file or directory",
		`error: vsphere.conf:8:1: [VirtualCenter "c"] ca-file: open /nowhere/own.pem: no such file or directory`,
	}, describeProblems(decodeProblems(file, config.WithFiles)))
}
