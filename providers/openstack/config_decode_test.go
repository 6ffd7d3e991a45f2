package openstack

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

func TestDecodeNothing(t *testing.T) {
	t.Parallel()
	_, problems := decode(nil, in(nil))
	checkProblems(t, "no cloud-config", []string{"error: no OpenStack cloud provider config file given"}, problems)
	if settings := explainIn(nil, in(nil)); settings != nil {
		t.Errorf("settings of no cloud-config: %v", settings)
	}
	_, problems = decode(parse(t, "global:\n  auth-url: x\n"), in(nil))
	checkProblems(t, "YAML", []string{"error:  a cloud-config for openstack is not written in YAML but in sections such as [Global]"}, problems)
}

// TestDecodeProblems goes through what is wrong with a key, other than the credentials.
func TestDecodeProblems(t *testing.T) {
	t.Parallel()
	const balancer, metadata = "[LoadBalancer]\n", "[Metadata]\n"
	const id = "9a1b2c3d-4e5f-4a6b-8c7d-8e9f0a1b2c3d"
	cases := map[string]struct {
		reason string
		text   string // after login
		want   []string
	}{
		"nothing":                  {"valid", "", nil},
		"endpoint type":            {"old spelling", "os-endpoint-type = adminURL\n", nil},
		"empty endpoint type":      {"is the default", "os-endpoint-type =\n", nil},
		"unknown endpoint type":    {"no endpoint has it", "os-endpoint-type = private\n", []string{`error: 7:1: [Global] os-endpoint-type: "private" is not public, internal or admin`}},
		"endpoint type in capital": {"no endpoint has it", "os-endpoint-type = Public\n", []string{`error: 7:1: [Global] os-endpoint-type: "Public" is not public, internal or admin`}},
		"use-clouds of text":       {"no boolean", "use-clouds = maybe\n", []string{`error: 7:1: [Global] use-clouds: "maybe" must be true or false`}},
		"bare key":                 {"no boolean", "region\n", []string{"error: 7:1: [Global] region: needs a value"}},
		"deletion by name":         {"never", "[NodeDeletion]\nby-name = true\n", []string{"warning: 8:1: [NodeDeletion] by-name: has no effect: a Node without a provider ID is never deleted, since a list of servers is no proof"}},
		"unknown key":              {"one warning", "regoin = r\n", []string{"warning: 7:1: unknown key [Global] regoin, did you mean region?"}},
		"key of in-tree provider":  {"a note", "kubeconfig-path = x\n", []string{"note: 7:1: [Global] kubeconfig-path is ignored: it is no longer used"}},
		"KMS":                      {"a note", "[KeyManager]\nkey-id = x\n", []string{"note: 7:1: [KeyManager] is ignored: the Barbican KMS plugin reads it"}},
		"other provider":           {"the file is for another one", "provider = aws\n", []string{`error: 7:1: [Global] provider: this file is for provider "aws", not for openstack`}},
		"strict":                   {"unknown names are errors", "[Multicloud]\nstrict = true\n[Loadbalancers]\n", []string{"error: 9:1: unknown section [Loadbalancers], did you mean [LoadBalancer]?"}},
		"sort order": {"each bad item has a warning", "[Networking]\naddress-sort-order = 10.0.0.0/8, x fd00::/8 10.0.0.1\n", []string{
			`warning: 8:1: [Networking] address-sort-order: "x" is not an address block such as 192.0.2.0/24: it is ignored`,
			`warning: 8:1: [Networking] address-sort-order: "10.0.0.1" is not an address block such as 192.0.2.0/24: it is ignored`,
		}},
		"public and internal":    {"public takes precedence", "[Networking]\npublic-network-name = a\ninternal-network-name = b\ninternal-network-name = a\n", []string{`warning: 10:1: [Networking] internal-network-name: "a" is ignored: it is a public-network-name`}},
		"version":                {"only v2", balancer + "lb-version = v1\n", []string{`error: 8:1: [LoadBalancer] lb-version: "v1" is not v2, which is the only version`}},
		"no version":             {"is v2", balancer + "lb-version =\n", nil},
		"no provider":            {"the cloud selects one", balancer + "lb-provider =\n", nil},
		"unknown method":         {"Octavia refuses it", balancer + "lb-method = round_robin\n", []string{`warning: 8:1: [LoadBalancer] lb-method: "round_robin" is not an algorithm of Octavia, which are ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP, SOURCE_IP_PORT`}},
		"method of ovn":          {"OVN refuses it", balancer + "lb-provider = ovn\nlb-method = ROUND_ROBIN\n", []string{"warning: 9:1: [LoadBalancer] lb-method: the provider ovn does not have ROUND_ROBIN: set SOURCE_IP_PORT"}},
		"source IP of ovn":       {"new versions have it", balancer + "lb-provider = ovn\nlb-method = SOURCE_IP\n", nil},
		"retries":                {"from 1 to 10", balancer + "monitor-max-retries = 0\nmonitor-max-retries-down = 11\n", []string{"warning: 8:1: [LoadBalancer] monitor-max-retries: 0 is not from 1 to 10: Octavia refuses health monitors", "warning: 9:1: [LoadBalancer] monitor-max-retries-down: 11 is not from 1 to 10: Octavia refuses health monitors"}},
		"negative retries":       {"no number", balancer + "monitor-max-retries = -1\n", []string{"error: 8:1: [LoadBalancer] monitor-max-retries: \"-1\" must be a whole number, and not negative"}},
		"most retries":           {"valid", balancer + "monitor-max-retries = 10\nmonitor-max-retries-down = 0x1\n", nil},
		"UDP":                    {"three seconds are needed", balancer + "monitor-delay = 2\nmonitor-timeout = 1\n", []string{"warning: 8:1: [LoadBalancer] monitor-delay: 2s is less than 3 seconds: Octavia refuses health monitors of UDP ports"}},
		"delay":                  {"a number is in seconds", balancer + "monitor-delay = 3\n", nil},
		"zero delay":             {"Octavia refuses it", balancer + "monitor-delay = 0\nmonitor-timeout = 0s\n", []string{"warning: 8:1: [LoadBalancer] monitor-delay: 0s is less than a second: Octavia refuses health monitors", "warning: 9:1: [LoadBalancer] monitor-timeout: 0s is less than a second: Octavia refuses health monitors"}},
		"negative delay":         {"Octavia refuses it", balancer + "monitor-delay = -5s\nmonitor-timeout = 1\n", []string{"warning: 8:1: [LoadBalancer] monitor-delay: -5s is less than a second: Octavia refuses health monitors", "warning: 9:1: [LoadBalancer] monitor-timeout: 1s is longer than monitor-delay, which is -5s"}},
		"part of a second":       {"is cut off", balancer + "monitor-delay = 5500ms\n", []string{"warning: 8:1: [LoadBalancer] monitor-delay: 5.5s is not a number of whole seconds: 5s is used"}},
		"timeout":                {"not longer than the delay", balancer + "monitor-timeout = 6\n", []string{"warning: 8:1: [LoadBalancer] monitor-timeout: 6s is longer than monitor-delay, which is 5s"}},
		"no duration":            {"an error", balancer + "monitor-delay = 5 s\n", []string{`error: 8:1: [LoadBalancer] monitor-delay: "5 s" is neither a duration such as 30s nor a number of seconds`}},
		"empty duration":         {"an error", balancer + "monitor-delay =\n", []string{"error: 8:1: [LoadBalancer] monitor-delay: needs a value"}},
		"shared":                 {"zero is valid: load balancers are not shared", balancer + "max-shared-lb = 0\n", nil},
		"negative shared":        {"doubtful", balancer + "max-shared-lb = -1\n", []string{"warning: 8:1: [LoadBalancer] max-shared-lb: -1 is less than zero: no load balancer can be shared"}},
		"shared of text":         {"no number", balancer + "max-shared-lb = two\n", []string{`error: 8:1: [LoadBalancer] max-shared-lb: "two" must be a whole number such as 10`}},
		"container store":        {"references are not validated", balancer + "container-store = vault\n", []string{`warning: 8:1: [LoadBalancer] container-store: "vault" is neither barbican nor external: references to TLS certificates are not validated`}},
		"TLS reference":          {"of Barbican", balancer + "default-tls-container-ref = https://barbican/v1/containers/" + id + "\n", nil},
		"other TLS reference":    {"not of Barbican", balancer + "default-tls-container-ref = https://barbican/v1/" + id + "\n", []string{"warning: 8:1: [LoadBalancer] default-tls-container-ref: it does not end in containers/<id> or secrets/<id>, as references to Barbican do"}},
		"external TLS reference": {"is not validated", balancer + "container-store = external\ndefault-tls-container-ref = x\n", nil},
		"node selector":          {"labels", balancer + "node-selector = \"a=b=c, d, ,example.com/e=\"\n", nil},
		"bad node selector":      {"no label", balancer + "node-selector = \"a b=c\"\n", []string{`warning: 8:1: [LoadBalancer] node-selector: "a b" is no label, so that load balancers have no members: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`}},
		"IDs":                    {"with dashes or without", balancer + "subnet-id = " + id + "\nnetwork-id = " + strings.ToUpper(strings.ReplaceAll(id, "-", "")) + "\nflavor-id = large\n", nil},
		"names": {"are no IDs", balancer + "subnet-id = a\nnetwork-id = b\nmember-subnet-id = c\nfloating-network-id = d\nfloating-subnet-id = e\n[Route]\nrouter-id = f\n", []string{
			`warning: 8:1: [LoadBalancer] subnet-id: "a" is not an ID, which is a UUID`,
			`warning: 9:1: [LoadBalancer] network-id: "b" is not an ID, which is a UUID`,
			`warning: 10:1: [LoadBalancer] member-subnet-id: "c" is not an ID, which is a UUID`,
			`warning: 11:1: [LoadBalancer] floating-network-id: "d" is not an ID, which is a UUID`,
			`warning: 12:1: [LoadBalancer] floating-subnet-id: "e" is not an ID, which is a UUID`,
			`warning: 14:1: [Route] router-id: "f" is not an ID, which is a UUID`,
		}},
		"class":             {"has the same keys", "[LoadBalancerClass \"x\"]\nsubnet-id = a\n", []string{`warning: 8:1: [LoadBalancerClass "x"] subnet-id: "a" is not an ID, which is a UUID`}},
		"key of class":      {"has no others", "[LoadBalancerClass \"x\"]\nlb-method = a\n", []string{`warning: 8:1: unknown key [LoadBalancerClass "x"] lb-method, did you mean [LoadBalancer] lb-method?`}},
		"expression":        {"is compiled", balancer + "floating-subnet = \"!~a|[\"\n", []string{"warning: 8:1: [LoadBalancer] floating-subnet: no floating IP can be created: parse subnet pattern \"!~a|[\": error parsing regexp: missing closing ]: `[`"}},
		"pattern":           {"is read", balancer + "floating-subnet = \"{a\"\n", []string{`warning: 8:1: [LoadBalancer] floating-subnet: no floating IP can be created: parse subnet pattern "{a": { without }`}},
		"pattern of class":  {"is read", "[LoadBalancerClass \"a\"]\nfloating-subnet = \"[\"\nfloating-subnet-tags = \"!&\"\n", []string{`warning: 8:1: [LoadBalancerClass "a"] floating-subnet: no floating IP can be created: parse subnet pattern "[": [ without ]`, `warning: 9:1: [LoadBalancerClass "a"] floating-subnet-tags: no floating IP can be created: parse subnet tags "!&": no tag in it`}},
		"subnet twice":      {"the ID takes precedence", balancer + "floating-subnet-id = " + id + "\nfloating-subnet = a\n", []string{"warning: 8:1: [LoadBalancer] floating-subnet-id: floating-subnet and floating-subnet-tags are ignored: it takes precedence"}},
		"search order":      {"both, with blanks", metadata + "search-order = \" metadataService , configDrive\"\n", nil},
		"no search order":   {"fatal, as with the existing controller manager", metadata + "search-order =\n", []string{`error: 8:1: [Metadata] search-order: "" is neither configDrive nor metadataService`}},
		"bad search order":  {"fatal", metadata + "search-order = configDrive,vendorData\n", []string{`error: 8:1: [Metadata] search-order: "vendorData" is neither configDrive nor metadataService`}},
		"long search order": {"fatal", metadata + "search-order = configDrive,metadataService,configDrive\n", []string{`error: 8:1: [Metadata] search-order: "configDrive,metadataService,configDrive" has more than 2 items`}},
		"negative timeout":  {"no request could be made", metadata + "request-timeout = -1s\n", []string{"error: 8:1: [Metadata] request-timeout: -1s is less than zero"}},
		"clouds-file":       {"has no effect alone", "clouds-file = /x\n", []string{"warning: 7:1: [Global] clouds-file: is ignored without use-clouds"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := decode(parse(t, loginText+tc.text), in(nil))
			checkProblems(t, tc.reason, tc.want, problems)
		})
	}
}

// TestDecodeValues reads values that have more than one spelling.
func TestDecodeValues(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		text   string // after login
		value  func(*Config) any
		want   any
	}{
		"duration":             {"with a unit", "[LoadBalancer]\nmonitor-delay = 1m30s", func(c *Config) any { return c.LoadBalancer.MonitorDelay.Seconds() }, 90},
		"seconds":              {"without a unit", "[LoadBalancer]\nmonitor-timeout = 7", func(c *Config) any { return c.LoadBalancer.MonitorTimeout.Seconds() }, 7},
		"cut":                  {"whole seconds", "[LoadBalancer]\nmonitor-delay = 5900ms", func(c *Config) any { return c.LoadBalancer.MonitorDelay.Seconds() }, 5},
		"leading zero":         {"is decimal", "[LoadBalancer]\nmax-shared-lb = 010", func(c *Config) any { return c.LoadBalancer.MaxSharedLB }, 10},
		"hexadecimal":          {"is read", "[LoadBalancer]\nmax-shared-lb = 0x10", func(c *Config) any { return c.LoadBalancer.MaxSharedLB }, 16},
		"bare boolean":         {"is true", "[LoadBalancer]\nmanage-security-groups", func(c *Config) any { return c.LoadBalancer.ManageSecurityGroups }, true},
		"words":                {"in any case", "[LoadBalancer]\nenabled = OFF\ncascade-delete = No", func(c *Config) any { return c.LoadBalancer.Enabled || c.LoadBalancer.CascadeDelete }, false},
		"duplicate":            {"the last one counts", "region = a\nREGION = b\n[LoadBalancer]\n[global]\nRegion = c", func(c *Config) any { return c.Global.Region }, "c"},
		"comment":              {"without quotes", "region = a#b", func(c *Config) any { return c.Global.Region }, "a"},
		"quotes":               {"no comment in them", `region = "a#b;c\"d\\"`, func(c *Config) any { return c.Global.Region }, `a#b;c"d\`},
		"list":                 {"one line for each, commas do not split", "[Networking]\npublic-network-name = a,b\npublic-network-name = c", func(c *Config) any { return c.Networking.PublicNetworkName }, []string{"a,b", "c"}},
		"emptied list":         {"by a bare key", "[Networking]\npublic-network-name = a\npublic-network-name\npublic-network-name = b", func(c *Config) any { return c.Networking.PublicNetworkName }, []string{"b"}},
		"class":                {"names are case-sensitive", "[LoadBalancerClass \"A\"]\nsubnet-id = a\n[loadbalancerclass \"a\"]\nsubnet-id = b", func(c *Config) any { return c.LoadBalancerClass["A"].SubnetID + c.LoadBalancerClass["a"].SubnetID }, "ab"},
		"timeout":              {"of requests", "[Metadata]\nrequest-timeout = 5m", func(c *Config) any { return c.clientConfig().Timeout }, 5 * time.Minute},
		"zero timeout":         {"is the default", "[Metadata]\nrequest-timeout = 0s", func(c *Config) any { return c.clientConfig().Timeout }, time.Minute},
		"no provider":          {"is sent as none", "[LoadBalancer]\nlb-provider = \"\"", func(c *Config) any { return c.LoadBalancer.LBProvider }, ""},
		"no suffix":            {"is the default", "[LoadBalancer]\ningress-hostname-suffix =", func(c *Config) any { return c.LoadBalancer.IngressHostnameSuffix }, "nip.io"},
		"method":               {"by default", "", func(c *Config) any { return c.method("amphora") + " " + c.method("ovn") }, "ROUND_ROBIN SOURCE_IP_PORT"},
		"method that is set":   {"is that of every provider", "[LoadBalancer]\nlb-method = SOURCE_IP", func(c *Config) any { return c.method("amphora") + " " + c.method("ovn") }, "SOURCE_IP SOURCE_IP"},
		"method of ovn":        {"as it is shown", "[LoadBalancer]\nlb-provider = ovn", func(c *Config) any { return c.LoadBalancer.LBMethod }, "SOURCE_IP_PORT"},
		"empty method":         {"is the default", "[LoadBalancer]\nlb-method =", func(c *Config) any { return c.method("ovn") }, "SOURCE_IP_PORT"},
		"endpoint type":        {"without its suffix", "os-endpoint-type = internalURL", func(c *Config) any { return c.clientConfig().EndpointType }, "internal"},
		"no endpoint type":     {"is public", "os-endpoint-type =", func(c *Config) any { return c.clientConfig().EndpointType }, "public"},
		"insecure":             {"only by true", "tls-insecure = true", func(c *Config) any { return c.clientConfig().TLS.Insecure }, true},
		"insecure by True":     {"only by true", "tls-insecure = True", func(c *Config) any { return c.clientConfig().TLS.Insecure }, false},
		"insecure by one":      {"only by true", "tls-insecure = 1", func(c *Config) any { return c.clientConfig().TLS.Insecure }, false},
		"half a certificate":   {"is ignored", "cert-file = /cert", func(c *Config) any { return c.clientConfig().TLS }, client.TLS{}},
		"project of an ID":     {"needs no domain", "tenant-id = i", func(c *Config) any { return reveal(c.login)["project ID"] + reveal(c.login)["project domain"] }, "i"},
		"domain of the user":   {"its own before the default", "user-domain-id = ui", func(c *Config) any { return reveal(c.login)["user domain ID"] + reveal(c.login)["project domain"] }, "uid"},
		"names of any section": {"case does not matter", "[LOADBALANCER]\nMAX-Shared-LB = 7", func(c *Config) any { return c.LoadBalancer.MaxSharedLB }, 7},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, _ := decode(parse(t, loginText+tc.text), in(nil))
			check(t, tc.reason, tc.want, tc.value(cfg))
		})
	}
}

// What gcfg cannot read keeps the process from starting.
func TestParseFails(t *testing.T) {
	t.Parallel()
	for reason, text := range map[string]string{
		"a key before any section": "region = x\n" + loginText,
		"a backslash":              loginText + "region = a\\b\n",
		"an open quote":            loginText + "region = \"a\n",
	} {
		if _, err := config.Parse("cloud.conf", []byte(text)); err == nil {
			t.Errorf("%s is no error", reason)
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	certificate, key := certificates()
	env := in(map[string]string{"/ca": certificate, "/cert": certificate, "/key": key, "/text": "text", "/empty": ""})
	unreadable := env
	unreadable.readFile = func(string) ([]byte, error) { return nil, errors.New("permission denied") }
	inline := "cafilecontents = \"" + strings.ReplaceAll(certificate, "\n", "\\n") + "\"\n"
	cases := map[string]struct {
		reason string
		env    environment
		text   string // after login
		tls    client.TLS
		want   []string
	}{
		"all": {
			reason: "files that can be read", env: env, text: "ca-file = /ca\ncert-file = /cert\nkey-file = /key\ntls-insecure = false\n",
			tls: client.TLS{CAFile: "/ca", CertFile: "/cert", KeyFile: "/key"},
		},
		"inline":       {"certificates in the cloud-config", env, inline, client.TLS{CAPEM: certificate}, nil},
		"both":         {"the file is used", env, "ca-file = /ca\n" + inline, client.TLS{CAFile: "/ca"}, []string{"warning: 8:1: [Global] cafilecontents: is ignored: ca-file is set"}},
		"ignored text": {"not validated", env, "ca-file = /ca\ncafilecontents = text\n", client.TLS{CAFile: "/ca"}, []string{"warning: 8:1: [Global] cafilecontents: is ignored: ca-file is set"}},
		"no file":      {"the error names it", env, "ca-file = /missing\n", client.TLS{CAFile: "/missing"}, []string{"error: 7:1: [Global] ca-file: read /missing: file does not exist"}},
		"unreadable":   {"the error names it", unreadable, "cert-file = /cert\nkey-file = /key\n", client.TLS{CertFile: "/cert", KeyFile: "/key"}, []string{"error: 7:1: [Global] cert-file: read /cert: permission denied", "error: 8:1: [Global] key-file: read /key: permission denied"}},
		"text":         {"no certificate", env, "ca-file = /text\n", client.TLS{CAFile: "/text"}, []string{"error: 7:1: [Global] ca-file: /text has no certificate in PEM format"}},
		"empty":        {"no certificate", env, "ca-file = /empty\n", client.TLS{CAFile: "/empty"}, []string{"error: 7:1: [Global] ca-file: /empty has no certificate in PEM format"}},
		"inline text":  {"no certificate", env, "cafilecontents = text\n", client.TLS{CAPEM: "text"}, []string{"error: 7:1: [Global] cafilecontents: has no certificate in PEM format"}},
		"bad pair":     {"the error names both", env, "cert-file = /key\nkey-file = /cert\n", client.TLS{CertFile: "/key", KeyFile: "/cert"}, []string{"error: 7:1: [Global] cert-file: /key and /cert, which is the key-file: tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched"}},
		"no key":       {"half a pair is ignored", env, "cert-file = /missing\n", client.TLS{}, []string{"warning: 7:1: [Global] cert-file: is ignored without key-file"}},
		"no cert":      {"half a pair is ignored", env, "key-file = /missing\n", client.TLS{}, []string{"warning: 7:1: [Global] key-file: is ignored without cert-file"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, problems := decode(parse(t, loginText+tc.text), tc.env)
			checkProblems(t, tc.reason, tc.want, problems)
			check(t, tc.reason, tc.tls, cfg.clientConfig().TLS)
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason    string
		variables map[string]string
		text      string // after login
		regional  bool
		want      []string
	}{
		"nothing":           {"defaults", nil, "", false, nil},
		"regional":          {"a note", map[string]string{"OS_CCM_REGIONAL": "true"}, "region = r\n", true, []string{"note: environment OS_CCM_REGIONAL is true: the provider IDs of Nodes have the region"}},
		"not regional":      {"a valid word", map[string]string{"OS_CCM_REGIONAL": "false"}, "", false, nil},
		"regional by one":   {"exactly true", map[string]string{"OS_CCM_REGIONAL": "1"}, "", false, []string{`warning: environment OS_CCM_REGIONAL is "1", which has no effect: only true has one`}},
		"no region":         {"nothing to write", map[string]string{"OS_CCM_REGIONAL": "true"}, "", true, []string{"note: environment OS_CCM_REGIONAL is true: the provider IDs of Nodes have the region", "warning: environment OS_CCM_REGIONAL has no effect without [Global] region"}},
		"region with slash": {"the provider ID could not be read", map[string]string{"OS_CCM_REGIONAL": "true"}, "region = a/b\n", true, []string{"note: environment OS_CCM_REGIONAL is true: the provider IDs of Nodes have the region", `error: 7:1: [Global] region: "a/b" cannot be part of a provider ID`}},
		"unregional slash":  {"is not written", nil, "region = a/b\n", false, nil},
		"steps":             {"of the upstream controller", map[string]string{"OCCM_WAIT_LB_ACTIVE_STEPS": "7"}, "", false, []string{"note: environment OCCM_WAIT_LB_ACTIVE_STEPS is 7: a load balancer that is being changed is awaited for at most 13s"}},
		"many steps":        {"five minutes are the most", map[string]string{"OCCM_WAIT_LB_ACTIVE_STEPS": "9999"}, "", false, []string{"note: environment OCCM_WAIT_LB_ACTIVE_STEPS is 9999: a load balancer that is being changed is awaited for at most 5m0s"}},
		"no steps":          {"would be no wait", map[string]string{"OCCM_WAIT_LB_ACTIVE_STEPS": "0"}, "", false, []string{`warning: environment OCCM_WAIT_LB_ACTIVE_STEPS is "0", which has no effect: it must be a number above zero`}},
		"empty":             {"counts as not set", map[string]string{"OCCM_WAIT_LB_ACTIVE_STEPS": "", "OS_CCM_REGIONAL": ""}, "", false, nil},
		"OS_ variables":     {"of OpenStack clients have no influence", map[string]string{"OS_AUTH_URL": "x", "OS_USERNAME": "x", "OS_PASSWORD": "x", "OS_REGION_NAME": "x", "OS_CLOUD": "x", "OS_CLIENT_CONFIG_FILE": "/x"}, "", false, nil},
		"other variables":   {"have none either", map[string]string{"USERNAME": "x", "_CLOUD": "x"}, "", false, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := parse(t, loginText+tc.text)
			cfg, problems := decode(file, in(nil).with(tc.variables))
			checkProblems(t, tc.reason, tc.want, problems)
			if cfg.regional != tc.regional {
				t.Errorf("%s: want %v, got %v", tc.reason, tc.regional, cfg.regional)
			}
			plain, _ := decode(file, in(nil))
			if diff := cmp.Diff(reveal(plain.login), reveal(cfg.login)); diff != "" {
				t.Errorf("%s: the variables change credentials (-without +with):\n%s", tc.reason, diff)
			}
		})
	}
}

// The functions of the descriptor read the environment of the process.
func TestDescriptorFunctions(t *testing.T) {
	t.Parallel()
	file := parse(t, loginText+"ca-file = "+t.TempDir()+"/missing\n")
	if problems := decodeProblems(file, config.WithFiles); problems.Err() == nil || !strings.Contains(problems.Err().Error(), "[Global] ca-file") {
		t.Errorf("problems: %v", describe(problems))
	}
	if settings := explain(file); len(settings) == 0 || settings[len(settings)-1].Name.Key != "request-timeout" {
		t.Errorf("settings: %v", settings)
	}
	env := processEnvironment()
	if env.workingDirectory == "" || len(env.variables) == 0 {
		t.Errorf("environment: %+v", env)
	}
}

// FW-CONFIG-10: without its files, a cloud-config is checked as far as its text goes.
func TestTextOnly(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, text string
		want         []string
	}{
		"CA":     {"it may be in the Pod", "ca-file = /missing\ncert-file = /missing\nkey-file = /missing\n", nil},
		"clouds": {"it may have the credentials", "use-clouds = true\n", []string{"note: credentials are not checked: clouds.yaml, which may have them, is not opened"}},
	} {
		text := "[Global]\nauth-url = https://keystone.example.com\napplication-credential-id = id\napplication-credential-secret = secret\n" + tc.text
		var got []string
		for _, problem := range decodeProblems(parse(t, text), config.TextOnly) {
			got = append(got, problem.Severity.String()+": "+problem.String())
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}
