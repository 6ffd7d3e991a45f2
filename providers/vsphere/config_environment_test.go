package vsphere

import (
	"maps"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nodes"
)

// TestEnvironment goes through VS-CONFIG-8 and VS-CONFIG-9, variable by variable.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	const (
		login      = "[Global]\nuser = u\npassword = p\n"
		entry      = "[VirtualCenter \"vc\"]\n"
		thumbprint = "0123456789abcdef0123456789abcdef01234567"
	)
	base := Connection{User: "u", Password: "p", Port: 443, SoapRoundtripCount: 3, IPFamily: Families{address.IPv4}}
	global := func(c *Config) *Connection { return &c.Global.Connection }
	vc := func(c *Config, name string) *VirtualCenter {
		if c.VirtualCenter[name] == nil {
			c.VirtualCenter[name] = &VirtualCenter{Server: name, Connection: base}
		}

		return c.VirtualCenter[name]
	}
	both := func(c *Config, set func(c *Connection)) {
		set(global(c))
		set(&vc(c, "vc").Connection)
	}
	cases := map[string]struct {
		reason   string
		text     string
		env      map[string]string
		want     func(*Config)
		problems []string
	}{
		"Secret": {
			reason: "the global source; user and password are not inherited then", text: login + entry,
			env: map[string]string{"VSPHERE_SECRET_NAME": "s", "VSPHERE_SECRET_NAMESPACE": "n"},
			want: func(c *Config) {
				global(c).SecretName, global(c).SecretNamespace = "s", "n"
				vc(c, "vc").User, vc(c, "vc").Password = "", ""
			},
		},
		"Secret without credentials in the file": {
			reason: "applied before validation: the file alone would be rejected", text: "[Global]\nport = 443\n" + entry,
			env: map[string]string{"VSPHERE_SECRET_NAME": "s", "VSPHERE_SECRET_NAMESPACE": "n"},
			want: func(c *Config) {
				both(c, func(c *Connection) { c.User, c.Password = "", "" })
				global(c).SecretName, global(c).SecretNamespace = "s", "n"
			},
		},
		"directory": {
			reason: "the global source", text: entry,
			env: map[string]string{"VSPHERE_SECRETS_DIRECTORY": "/d"},
			want: func(c *Config) {
				both(c, func(c *Connection) { c.User, c.Password = "", "" })
				c.Global.SecretsDirectory = "/d"
			},
		},
		"labels": {
			reason: "over the file", text: login + entry + "[Labels]\nzone = z\nregion = r\n",
			env:  map[string]string{"VSPHERE_LABEL_ZONE": "zone", "VSPHERE_LABEL_REGION": "region"},
			want: func(c *Config) { vc(c, "vc"); c.Labels = Labels{Zone: "zone", Region: "region"} },
		},
		"nodes": {
			reason: "no exclude variants", text: login + entry,
			env: map[string]string{
				"VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR": "10.0.0.0/8, fd00::/8", "VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR": "192.0.2.0/24",
				"VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME": "internal net", "VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME": "external",
				"VSPHERE_NODES_EXCLUDE_INTERNAL_NETWORK_SUBNET_CIDR": "10.0.0.0/8",
			},
			want: func(c *Config) {
				vc(c, "vc")
				c.Nodes = nodes.Networks{
					InternalNetworkSubnetCIDR: prefixes("10.0.0.0/8", "fd00::/8"), ExternalNetworkSubnetCIDR: prefixes("192.0.2.0/24"),
					InternalVMNetworkName: "internal net", ExternalVMNetworkName: "external",
				}
			},
		},
		"global values": {
			reason: "they reach every vCenter that does not set them itself",
			text:   "[Global]\nuser = file\nport = 1\n" + entry + "[VirtualCenter \"own\"]\nuser = own\npassword = own\nport = 2\n",
			env: map[string]string{
				"VSPHERE_VCENTER_PORT": "8443", "VSPHERE_USER": `DOMAIN\user`, "VSPHERE_PASSWORD": "p=#;\"", "VSPHERE_DATACENTER": "A, B", "VSPHERE_ROUNDTRIP_COUNT": "9",
				"VSPHERE_INSECURE": "true", "VSPHERE_CAFILE": "/ca.pem", "VSPHERE_THUMBPRINT": thumbprint,
			},
			want: func(c *Config) {
				all := func(c *Connection) {
					c.Datacenters, c.SoapRoundtripCount, c.InsecureFlag, c.CAFile, c.Thumbprint = config.List{"A", "B"}, 9, true, "/ca.pem", thumbprint
				}
				both(c, func(c *Connection) { c.User, c.Password, c.Port = `DOMAIN\user`, "p=#;\"", 8443; all(c) })
				all(&vc(c, "own").Connection)
				vc(c, "own").User, vc(c, "own").Password, vc(c, "own").Port = "own", "own", 2
			},
		},
		"vCenter": {
			reason: "[Global] server: an entry keyed by this address, with a file that has none", text: "# nothing\n",
			env:  map[string]string{"VSPHERE_VCENTER": "env-vc", "VSPHERE_USER": "u", "VSPHERE_PASSWORD": "p"},
			want: func(c *Config) { c.Global.Server = "env-vc"; vc(c, "env-vc") },
		},
		"vCenter that exists": {
			reason: "unless one has that name", text: login + entry + "server = address\n",
			env:  map[string]string{"VSPHERE_VCENTER": "vc"},
			want: func(c *Config) { c.Global.Server = "vc"; vc(c, "vc").Server = "address" },
		},
		"entries": {
			reason: "adds an entry; SERVER makes the value a tenant name; values with = count, INSECURE and ROUNDTRIP are read, no IP_FAMILY is ipv4",
			text:   login,
			env: map[string]string{
				"VSPHERE_VCENTER_1": "10.0.0.1",
				"VSPHERE_VCENTER_B": "tenant=b", "VCENTER_B_SERVER": "vc-b", "VCENTER_B_USERNAME": "ub", "VCENTER_B_PASSWORD": "p=b", "VCENTER_B_PORT": "1",
				"VCENTER_B_INSECURE": "1", "VCENTER_B_DATACENTERS": "X,Y", "VCENTER_B_ROUNDTRIP": "8", "VCENTER_B_CAFILE": "/b.pem", "VCENTER_B_THUMBPRINT": thumbprint,
				"VCENTER_B_IP_FAMILY": "ipv6, ipv4", "VCENTER_B_SECRET_NAME": "", "VCENTER_OTHER_PORT": "5",
				"VSPHERE_VCENTER_EMPTY": "", "VSPHERE_VCENTER_": "x",
			},
			want: func(c *Config) {
				vc(c, "10.0.0.1")
				*vc(c, "tenant=b") = VirtualCenter{Server: "vc-b", Connection: Connection{
					User: "ub", Password: "p=b", Port: 1, InsecureFlag: true, Datacenters: config.List{"X", "Y"}, SoapRoundtripCount: 8, CAFile: "/b.pem",
					Thumbprint: thumbprint, IPFamily: Families{address.IPv6, address.IPv4},
				}}
			},
		},
		"entry with a Secret": {
			reason: "its own source", text: login,
			env: map[string]string{"VSPHERE_VCENTER_1": "vc", "VCENTER_1_SECRET_NAME": "s", "VCENTER_1_SECRET_NAMESPACE": "n"},
			want: func(c *Config) {
				vc(c, "vc").User, vc(c, "vc").Password, vc(c, "vc").SecretName, vc(c, "vc").SecretNamespace = "", "", "s", "n"
			},
		},
		"entry overwritten": {
			reason: "overwrites the entry of the file whole; the rest comes from [Global]", text: login + "ip-family = ipv6\n" + entry + "server = file\nport = 5\nca-file = /file.pem\n",
			env: map[string]string{"VSPHERE_VCENTER_1": "vc", "VCENTER_1_PORT": "6"},
			want: func(c *Config) {
				both(c, func(c *Connection) { c.IPFamily = Families{address.IPv6} })
				vc(c, "vc").Port = 6
			},
		},
		"port is no ID": {
			reason: "VSPHERE_VCENTER_PORT is not taken for an ID", text: login + entry,
			env:  map[string]string{"VSPHERE_VCENTER_PORT": "444"},
			want: func(c *Config) { both(c, func(c *Connection) { c.Port = 444 }) },
		},
		"companion with the wrong prefix": {
			reason: "its value, maybe a password, must not become the name of a vCenter", text: login,
			env:  map[string]string{"VSPHERE_VCENTER_1": "vc", "VSPHERE_VCENTER_1_PORT": "5", "VSPHERE_VCENTER_2_PASSWORD": "hunter2", "VSPHERE_VCENTER_DC_SERVER": "other"},
			want: func(c *Config) { vc(c, "vc"); vc(c, "other") },
			problems: []string{
				"warning: environment VSPHERE_VCENTER_1_PORT is ignored, did you mean VCENTER_1_PORT?",
				"warning: environment VSPHERE_VCENTER_2_PASSWORD is ignored, did you mean VCENTER_2_PASSWORD?",
			},
		},
		"empty values": {
			reason: "count as not set", text: login + entry,
			env:  map[string]string{"VSPHERE_USER": "", "VSPHERE_VCENTER": "", "VSPHERE_VCENTER_PORT": "", "VCENTER_1_PORT": "x"},
			want: func(c *Config) { vc(c, "vc") },
		},
		"bad values": {
			reason: "each is named by its variable; passwords are not shown", text: login + entry,
			env: map[string]string{
				"VSPHERE_VCENTER_PORT": "http", "VSPHERE_INSECURE": "2", "VSPHERE_ROUNDTRIP_COUNT": "-1", "VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR": "10.0.0.1",
				"VSPHERE_VCENTER_1": "vc1", "VCENTER_1_IP_FAMILY": "ipv5", "VCENTER_1_PASSWORD": "a\rb",
			},
			want: func(c *Config) { vc(c, "vc"); vc(c, "vc1") },
			problems: []string{
				`error: environment VSPHERE_VCENTER_PORT: "http" is not a port number (1 to 65535)`,
				`error: environment VSPHERE_ROUNDTRIP_COUNT: "-1" must be a whole number, and not negative`,
				"error: environment VSPHERE_INSECURE: \"2\" must be true or false",
				`error: environment VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR: "10.0.0.1" is not an address block such as 10.0.0.0/8`,
				`error: environment VCENTER_1_IP_FAMILY: Invalid IP Family type: unknown IP family "ipv5": want ipv4 or ipv6`,
				`error: environment VCENTER_1_PASSWORD: must not contain the control character U+000D`,
			},
		},
		"missing credentials": {
			reason: "the variable that added the vCenter is named", text: "[Global]\npassword = p\n",
			env: map[string]string{"VSPHERE_VCENTER_1": "vc", "VSPHERE_VCENTER": "vc2"},
			want: func(c *Config) {
				c.Global.Server = "vc2"
				both(c, func(c *Connection) { c.User = "" })
				vc(c, "vc2").User = ""
			},
			problems: []string{
				`error: [VirtualCenter "vc"] server: Username is missing: set user and password, or secret-name and secret-namespace, or secrets-directory in [Global] (environment VSPHERE_VCENTER_1)`,
				`error: [Global] server: Username is missing: set user and password, or secret-name and secret-namespace, or secrets-directory in [Global] (environment VSPHERE_VCENTER)`,
			},
		},
		"NSX-T": {
			reason: "VS-NSXT-1: variables of NSX-T are applied before it is checked", text: login + entry + "[Route]\nrouter-path = /infra/tier-1s/t\n",
			env: map[string]string{"NSXT_MANAGER_HOST": "nsxt", "NSXT_USERNAME": "u", "NSXT_PASSWORD": "p", "NSXT_ALLOW_UNVERIFIED_SSL": "true"},
			want: func(c *Config) {
				vc(c, "vc")
				c.Route.RouterPath, c.NSXT = "/infra/tier-1s/t", NSXT{Host: "nsxt", User: "u", Password: "p", InsecureFlag: true}
			},
		},
		"NSX-T, all": {
			reason: "VS-NSXT-1: each variable is the setting of its name", text: login + entry,
			env: map[string]string{
				"NSXT_MANAGER_HOST": "nsxt", "NSXT_USERNAME": "u", "NSXT_PASSWORD": "p", "NSXT_SECRET_NAME": "s", "NSXT_SECRET_NAMESPACE": "n",
				"NSXT_CLIENT_AUTH_CERT_FILE": "/cert", "NSXT_CLIENT_AUTH_KEY_FILE": "/key", "NSXT_ALLOW_UNVERIFIED_SSL": "true", "NSXT_CA_FILE": "/ca",
			},
			want: func(c *Config) {
				vc(c, "vc")
				c.NSXT = NSXT{
					Host: "nsxt", User: "u", Password: "p", SecretName: "s", SecretNamespace: "n", ClientAuthCertFile: "/cert", ClientAuthKeyFile: "/key",
					InsecureFlag: true, CAFile: "/ca",
				}
			},
			problems: []string{"warning: vsphere.conf: [NSXT]: has no effect without [LoadBalancer] or [Route] router-path"},
		},
		"NSX-T bool": {
			reason: "the error names the variable", text: login + entry,
			env:      map[string]string{"NSXT_ALLOW_UNVERIFIED_SSL": "x"},
			want:     func(c *Config) { vc(c, "vc") },
			problems: []string{"error: environment NSXT_ALLOW_UNVERIFIED_SSL: \"x\" must be true or false"},
		},
		"SKIP_NODE_DELETION": {
			reason: "any value, even empty", text: login + entry,
			env:      map[string]string{"SKIP_NODE_DELETION": ""},
			want:     func(c *Config) { vc(c, "vc"); c.skipNodeDeletion = true },
			problems: []string{"note: environment SKIP_NODE_DELETION is set: no Node is deleted"},
		},
		"ENABLE_ALPHA_DUAL_STACK": {
			reason: "not needed any more", text: login + "ip-family = ipv4,ipv6\n" + entry,
			env:  map[string]string{"ENABLE_ALPHA_DUAL_STACK": ""},
			want: func(c *Config) { both(c, func(c *Connection) { c.IPFamily = Families{address.IPv4, address.IPv6} }) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := &Config{Global: Global{Connection: base}, VirtualCenter: map[string]*VirtualCenter{}}
			tc.want(want)
			got, _, problems := decode(parse(t, tc.text), in(tc.env))
			same(t, tc.reason+": problems", tc.problems, describeProblems(problems))
			same(t, tc.reason, want, got)
		})
	}
}

// TestEnvironmentExplained shows where values of the environment are used.
func TestEnvironmentExplained(t *testing.T) {
	t.Parallel()
	const text = "[Global]\nuser = u\npassword = p\n[VirtualCenter \"vc\"]\nserver = file\nport = 5\nca-file = /file.pem\nretired = true\n"
	env := in(map[string]string{"VSPHERE_VCENTER_1": "vc", "VCENTER_1_PASSWORD": "x", "VSPHERE_CAFILE": "/env.pem", "VSPHERE_VCENTER": "vc2"})
	got := map[string]string{}
	for _, s := range explainIn(parse(t, text), env) {
		if s.Name.Section == "VirtualCenter" && s.Source != "default" {
			got[s.Name.Sub+" "+s.Name.Key+" "+s.Value] = s.Source
		}
	}
	want := map[string]string{
		"vc server vc":            "environment VSPHERE_VCENTER_1",
		"vc user u":               "inherited from [Global] at vsphere.conf:2:1",
		"vc password <redacted>":  "environment VCENTER_1_PASSWORD",
		"vc ca-file /env.pem":     "inherited from [Global], environment VSPHERE_CAFILE",
		"vc2 server vc2":          "inherited from [Global], environment VSPHERE_VCENTER",
		"vc2 user u":              "inherited from [Global] at vsphere.conf:2:1",
		"vc2 password <redacted>": "inherited from [Global] at vsphere.conf:3:1",
		"vc2 ca-file /env.pem":    "inherited from [Global], environment VSPHERE_CAFILE",
	}
	if !maps.Equal(want, got) {
		same(t, "origins", want, got)
	}
}
