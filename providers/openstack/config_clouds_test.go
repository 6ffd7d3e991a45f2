package openstack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

const site = "/etc/openstack/clouds.yaml"

// cloudsFile is a clouds.yaml with one cloud, with the lines of auth and those beside it.
func cloudsFile(auth, beside string) map[string]string {
	indent := func(text, by string) string {
		return strings.ReplaceAll(strings.TrimRight("\n"+text, "\n"), "\n", "\n"+by)
	}

	return map[string]string{site: "clouds:\n  a:\n    auth:" + indent("auth_url: https://keystone/v3\n"+auth, "      ") + indent(beside, "    ") + "\n"}
}

func TestClouds(t *testing.T) {
	t.Parallel()
	const use, user = "[Global]\nuse-clouds = true\n", "username: u\npassword: p\ndomain_name: d\nproject_name: t\n"
	want := client.Credentials{Username: "u", Password: "p", UserDomainName: "d", ProjectName: "t", ProjectDomainName: "d"}
	cases := map[string]struct {
		reason    string
		text      string
		files     map[string]string
		variables map[string]string
		want      client.Credentials
		problems  []string
	}{
		"all from clouds.yaml": {reason: "the cloud-config need not have a key", text: use, files: cloudsFile(user, ""), want: want},
		"cloud alone":          {reason: "also reads clouds.yaml", text: "[Global]\ncloud = a\n", files: cloudsFile(user, ""), want: want},
		"cloud without use":    {reason: "even against use-clouds", text: "[Global]\ncloud = a\nuse-clouds = false\n", files: cloudsFile(user, ""), want: want},
		"not used": {
			reason: "without use-clouds and cloud", text: loginText, files: cloudsFile("token: x\n", ""), variables: map[string]string{"OS_CLOUD": "a", "OS_CLIENT_CONFIG_FILE": site}, want: want,
		},
		"cloud-config wins": {
			reason: "key by key", text: use + "password = mine\ntenant-name = mine\ntenant-domain-name = mine\n", files: cloudsFile(user, ""),
			want: client.Credentials{Username: "u", Password: "mine", UserDomainName: "d", ProjectName: "mine", ProjectDomainName: "mine"},
		},
		"empty key": {reason: "counts as not set", text: use + "password =\n", files: cloudsFile(user, ""), want: want},
		"OS_CLOUD": {
			reason: "names the cloud", text: use, files: map[string]string{site: "clouds:\n  b: {}\n  a: {auth: {auth_url: https://keystone, token: t, project_id: i}}\n"},
			variables: map[string]string{"OS_CLOUD": "a"}, want: client.Credentials{Token: "t", ProjectID: "i"},
		},
		"cloud before OS_CLOUD": {
			reason: "takes precedence", text: use + "cloud = a\n", files: cloudsFile(user, ""), variables: map[string]string{"OS_CLOUD": "b"}, want: want,
		},
		"OS_CLIENT_CONFIG_FILE": {
			reason: "names the file", text: use, files: map[string]string{site: "{", "/my/clouds.yaml": cloudsFile(user, "")[site]},
			variables: map[string]string{"OS_CLIENT_CONFIG_FILE": "/my/clouds.yaml"}, want: want,
		},
		"clouds-file before OS_CLIENT_CONFIG_FILE": {
			reason: "takes precedence", text: use + "clouds-file = /my/clouds.yaml\n", files: map[string]string{site: "{", "/my/clouds.yaml": cloudsFile(user, "")[site]},
			variables: map[string]string{"OS_CLIENT_CONFIG_FILE": site}, want: want,
		},
		"missing clouds-file": {
			reason: "the next place is used", text: use + "clouds-file = /my/clouds.yaml\n", files: cloudsFile(user, ""), want: want,
			problems: []string{"warning: 3:1: [Global] clouds-file: /my/clouds.yaml does not exist or does not have the cloud: the one of /etc/openstack/clouds.yaml is used"},
		},
		"other variables": {
			reason: "of OpenStack clients have no influence", text: use, files: cloudsFile(user, ""), want: want,
			variables: map[string]string{"OS_AUTH_URL": "x", "OS_TOKEN": "x", "OS_USERNAME": "x", "OS_PROJECT_ID": "x", "OS_REGION_NAME": "x", "OS_INTERFACE": "x", "OS_AUTH_TYPE": "x"},
		},
		"no file": {
			reason: "is fatal, and nothing else is reported", text: use,
			problems: []string{
				"error: 2:1: [Global] use-clouds: no clouds.yaml exists, looked for /srv/clouds.yaml, /home/ccm/.config/openstack/clouds.yaml, /etc/openstack/clouds.yaml, " +
					"/srv/clouds.yml, /home/ccm/.config/openstack/clouds.yml, /etc/openstack/clouds.yml: file does not exist",
			},
		},
		"several clouds": {
			reason: "one must be named", text: use, files: map[string]string{site: "clouds: {b: {}, a: {}}"},
			problems: []string{"error: 2:1: [Global] use-clouds: /etc/openstack/clouds.yaml: it has several clouds and none is selected, known are: a, b"},
		},
		"unknown cloud": {
			reason: "is fatal", text: use + "cloud = c\n", files: cloudsFile(user, ""),
			problems: []string{`error: 3:1: [Global] cloud: /etc/openstack/clouds.yaml: no cloud "c", known are: a`},
		},
		"default domain": {
			reason: "of the user and the project", text: use, files: cloudsFile("username: u\npassword: p\nproject_name: t\ndefault_domain: d\n", ""),
			want: client.Credentials{Username: "u", Password: "p", UserDomainID: "d", ProjectName: "t", ProjectDomainID: "d"},
		},
		"default domain and others": {
			reason: "others take precedence", text: use, files: cloudsFile("username: u\npassword: p\nproject_name: t\ndefault_domain: d\nuser_domain_name: un\nproject_domain_id: pi\n", ""),
			want: client.Credentials{Username: "u", Password: "p", UserDomainName: "un", ProjectName: "t", ProjectDomainID: "pi"},
		},
		"default domain and domain": {
			reason: "domain_name takes precedence", text: use, files: cloudsFile(user+"default_domain: x\n", ""), want: want,
		},
		"trust": {
			reason: "counts", text: use, files: cloudsFile("user_id: u\npassword: p\ntrust_id: ti\n", ""),
			want: client.Credentials{UserID: "u", Password: "p", TrustID: "ti"},
		},
		"auth_type selects": {
			reason: "one of several methods", text: use,
			files: cloudsFile(user+"token: t\napplication_credential_id: a\napplication_credential_secret: s\n", "auth_type: v3applicationcredential\n"),
			want:  client.Credentials{ApplicationCredentialID: "a", ApplicationCredentialSecret: "s"},
		},
		"auth_type password": {
			reason: "selects the password", text: use, files: cloudsFile(user+"application_credential_id: a\napplication_credential_secret: s\n", "auth_type: password\n"), want: want,
		},
		"auth_type token": {
			reason: "selects the token", text: use, files: cloudsFile(user+"token: t\n", "auth_type: v3token\n"),
			want: client.Credentials{Token: "t", ProjectName: "t", ProjectDomainName: "d"},
		},
		"wrong auth_type": {
			reason: "has no effect if its secret is missing, as with the existing controller manager", text: use,
			files: cloudsFile("application_credential_id: a\napplication_credential_secret: s\n", "auth_type: password\n"),
			want:  client.Credentials{ApplicationCredentialID: "a", ApplicationCredentialSecret: "s"},
		},
		"unknown auth_type": {
			reason: "a clear error, not a missing password", text: use, files: cloudsFile("username: u\n", "auth_type: v3oidcpassword\n"),
			problems: []string{`error: /etc/openstack/clouds.yaml:6: cloud "a": auth_type "v3oidcpassword" is not supported: it must be password, v3password, token, v3token or v3applicationcredential`},
		},
		"two methods": {
			reason: "the password is used, and the warning has the place of the other one", text: use + "password = mine\n",
			files:    cloudsFile("user_id: u\napplication_credential_id: a\napplication_credential_secret: s\n", ""),
			want:     client.Credentials{UserID: "u", Password: "mine"},
			problems: []string{`warning: /etc/openstack/clouds.yaml:6: cloud "a": auth.application_credential_id: is ignored: password is set. ` + defaultProject},
		},
		"two methods without a project": {
			reason: "the error has both places", text: use + "token = mine\n", files: cloudsFile("application_credential_id: a\napplication_credential_secret: s\n", ""),
			problems: []string{"error: 3:1: [Global] token: it is set together with auth.application_credential_id (set in /etc/openstack/clouds.yaml:5): keep one of them"},
		},
		"user of both": {
			reason: "the error has both places", text: use + "username = mine\n", files: cloudsFile("user_id: u\npassword: p\nproject_id: i\n", ""),
			want:     client.Credentials{Password: "p", ProjectID: "i"},
			problems: []string{`error: /etc/openstack/clouds.yaml:5: cloud "a": auth.user_id: it is set together with username: keep one of them`},
		},
		"project of both": {
			reason: "the ID is used: a warning, since it is not in the cloud-config", text: use + "tenant-name = mine\n", files: cloudsFile(user+"project_id: i\n", ""),
			want:     client.Credentials{Username: "u", Password: "p", UserDomainName: "d", ProjectID: "i"},
			problems: []string{"warning: 3:1: [Global] tenant-name: is ignored: auth.project_id (set in /etc/openstack/clouds.yaml:9) is set"},
		},
		"project by ID and name": {
			reason: "as clouds.yaml of the dashboard has it: nothing to warn of", text: use, files: cloudsFile(user+"project_id: i\n", ""),
			want: client.Credentials{Username: "u", Password: "p", UserDomainName: "d", ProjectID: "i"},
		},
		"domains": {
			reason: "of the cloud-config win, also if clouds.yaml has them by ID", text: use + "user-domain-name = un\ntenant-domain-name = tn\n",
			files: cloudsFile("username: u\npassword: p\nproject_name: t\nuser_domain_id: ui\nproject_domain_id: pi\n", ""),
			want:  client.Credentials{Username: "u", Password: "p", UserDomainName: "un", ProjectName: "t", ProjectDomainName: "tn"},
		},
		"default domains": {
			reason: "of the cloud-config win, also if clouds.yaml has them by ID", text: use + "domain-name = mine\n",
			files: cloudsFile("username: u\npassword: p\nproject_name: t\ndomain_id: x\ndefault_domain: y\n", ""),
			want:  client.Credentials{Username: "u", Password: "p", UserDomainName: "mine", ProjectName: "t", ProjectDomainName: "mine"},
		},
		"missing OS_CLIENT_CONFIG_FILE": {
			reason: "the next place is used", text: use, files: cloudsFile(user, ""), variables: map[string]string{"OS_CLIENT_CONFIG_FILE": "/my/clouds.yaml"}, want: want,
			problems: []string{"warning: environment OS_CLIENT_CONFIG_FILE: /my/clouds.yaml does not exist or does not have the cloud: the one of /etc/openstack/clouds.yaml is used"},
		},
		"no password": {
			reason: "the error has the file, the cloud and the name there", text: use, files: cloudsFile("username: u\n", ""),
			problems: []string{`error: /etc/openstack/clouds.yaml:3: cloud "a": auth.password: it is required, since a user is set`},
		},
		"no domain": {
			reason: "all names are those of clouds.yaml", text: use, files: cloudsFile("username: u\npassword: p\nproject_id: i\n", ""),
			want: client.Credentials{Username: "u", Password: "p", ProjectID: "i"},
			problems: []string{`error: /etc/openstack/clouds.yaml:5: cloud "a": auth.username: it needs a domain: ` +
				"set auth.user_domain_name, auth.user_domain_id, auth.domain_name or auth.domain_id"},
		},
		"no credentials": {
			reason: "the error has the file and the cloud", text: use, files: cloudsFile("", ""),
			problems: []string{`error: /etc/openstack/clouds.yaml:3: cloud "a": auth: there are no credentials: set auth.username and auth.password, ` +
				"auth.application_credential_id and auth.application_credential_secret, or auth.token"},
		},
		"unknown key": {
			reason: "a misspelled name is reported", text: use, files: cloudsFile(user+"tennant_name: t\n", ""), want: want,
			problems: []string{`warning: /etc/openstack/clouds.yaml:9: cloud "a": auth.tennant_name is unknown and has no effect`},
		},
		"control character": {
			reason: "no value of a key", text: use, files: cloudsFile("username: \"u\\a\"\npassword: p\ndomain_name: d\nproject_id: i\n", ""),
			want: client.Credentials{Password: "p", ProjectID: "i"},
			problems: []string{
				`error: /etc/openstack/clouds.yaml:5: cloud "a": auth.username: must not contain the control character U+0007`,
				`error: /etc/openstack/clouds.yaml:5: cloud "a": auth.username: it is required, or auth.user_id`,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, problems := decode(parse(t, tc.text), in(tc.files).with(tc.variables))
			checkProblems(t, tc.reason, tc.problems, problems)
			check(t, tc.reason, reveal(tc.want), reveal(cfg.login))
		})
	}
}

// TestCloudsSettings (OS-AUTH-6) reads what of clouds.yaml is no credential.
func TestCloudsSettings(t *testing.T) {
	t.Parallel()
	const token = "token: t\nproject_id: i\n"
	certificate, key := certificates()
	cases := map[string]struct {
		reason string
		text   string // of [Global]
		beside string
		want   client.Config
		shown  map[string]string // sources of keys
		// warnings are the problems.
		warnings []string
	}{
		"region":                   {reason: "of the cloud", beside: "region_name: r\n", want: client.Config{Region: "r"}, shown: map[string]string{"region": site + ":7", "auth-url": site + ":4", "ca-file": "default", "use-clouds": "cloud.conf:2:1"}},
		"own region":               {reason: "wins", text: "region = own\n", beside: "region_name: r\n", want: client.Config{Region: "own"}, shown: map[string]string{"region": "cloud.conf:3:1"}},
		"interface":                {reason: "the kind of endpoints", beside: "interface: internal\n", want: client.Config{EndpointType: "internal"}},
		"endpoint_type":            {reason: "takes precedence over interface", beside: "interface: internal\nendpoint_type: adminURL\n", want: client.Config{EndpointType: "admin"}},
		"own endpoint type":        {reason: "wins", text: "os-endpoint-type = public\n", beside: "endpoint_type: internal\n", want: client.Config{EndpointType: "public"}},
		"verify":                   {reason: "false accepts every certificate", beside: "verify: false\n", want: client.Config{TLS: client.TLS{Insecure: true}}, shown: map[string]string{"tls-insecure": site + ":7"}, warnings: []string{"warning: " + site + `:7: cloud "a": verify: it is false: the certificates of servers are not verified`}},
		"verify that is true":      {reason: "is the default", beside: "verify: yes\n"},
		"own tls-insecure":         {reason: "wins", text: "tls-insecure = false\n", beside: "verify: false\n"},
		"certificates":             {reason: "of the cloud", beside: "cacert: /ca\ncert: /cert\nkey: /key\n", want: client.Config{TLS: client.TLS{CAFile: "/ca", CertFile: "/cert", KeyFile: "/key"}}},
		"own certificates":         {reason: "win", text: "ca-file = /cert\n", beside: "cacert: /missing\n", want: client.Config{TLS: client.TLS{CAFile: "/cert"}}},
		"regions and other values": {reason: "are ignored", beside: "regions: [{name: x, values: {interface: internal}}]\nnetworks: []\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := cloudsFile(token, tc.beside)
			files["/ca"], files["/cert"], files["/key"] = certificate, certificate, key
			file := parse(t, "[Global]\nuse-clouds = true\n"+tc.text)
			cfg, problems := decode(file, in(files))
			checkProblems(t, tc.reason, tc.warnings, problems)
			got := cfg.clientConfig()
			want := tc.want
			want.AuthURL, want.Timeout = "https://keystone/v3", got.Timeout
			if want.EndpointType == "" {
				want.EndpointType = "public"
			}
			check(t, tc.reason, want, got)
			for _, s := range explainIn(file, in(files)) {
				if source, ok := tc.shown[s.Name.Key]; ok && s.Source != source {
					t.Errorf("%s: %s: want %s, got %s", tc.reason, s.Name, source, s.Source)
				}
			}
		})
	}
}

// A bad value of clouds.yaml is reported at its place.
func TestCloudsBadValues(t *testing.T) {
	t.Parallel()
	const token = "token: t\nproject_id: i\n"
	cases := map[string]struct{ beside, want string }{
		"interface": {"interface: private\n", `error: /etc/openstack/clouds.yaml:7: cloud "a": interface: "private" is not public, internal or admin`},
		"cacert":    {"cacert: /missing\n", `error: /etc/openstack/clouds.yaml:7: cloud "a": cacert: read /missing: file does not exist`},
		"verify":    {"verify: maybe\n", `error: 2:1: [Global] use-clouds: /etc/openstack/clouds.yaml:7: cloud "a": verify must be true or false`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, problems := decode(parse(t, "[Global]\nuse-clouds = true\n"), in(cloudsFile(token, tc.beside)))
			checkProblems(t, name, []string{tc.want}, problems)
		})
	}
}

// TestCloudKeys proves that each value of clouds.yaml sets a key of [Global], and that
// the key counts as set then.
func TestCloudKeys(t *testing.T) {
	t.Parallel()
	for _, key := range cloudKeys() {
		cfg := new(Config)
		if got := key.value(&cfg.Global); got != "" {
			t.Errorf("%s: not empty: %q", key.from, got)
		}
		if err := config.Set(cfg, globalName(key.name), "public"); err != nil {
			t.Errorf("%s: %v", key.from, err)
		}
		if got := key.value(&cfg.Global); got != "public" {
			t.Errorf("%s: want public, got %q", key.from, got)
		}
	}
}

// No error and no setting shows a secret of clouds.yaml.
func TestCloudsSecrets(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, text := range []string{
		"clouds: {a: {auth: {auth_url: https://k, username: u, password: hunter2, token: hunter2, application_credential_secret: hunter2}}}",
		"clouds:\n  a: {auth: {password: 'hunter2\n",
		"clouds: {a: {auth: {password: [hunter2]}}}",
		"clouds: {a: {auth: hunter2}}",
		"hunter2",
	} {
		file := parse(t, "[Global]\nuse-clouds = true\n")
		env := in(map[string]string{site: text})
		cfg, problems := decode(file, env)
		shown := fmt.Sprintf("%v %v %+v %#v", describe(problems), explainIn(file, env), cfg.login, cfg.Global)
		if strings.Contains(shown, secret) {
			t.Errorf("the secret is shown: %s", shown)
		}
	}
}

// TestEndlessFiles (OS-AUTH-7): files that settings name are read up to 1 MiB.
func TestEndlessFiles(t *testing.T) {
	t.Parallel()
	const endless = "/dev/zero"
	for name, text := range map[string]string{
		"clouds.yaml": "[Global]\nuse-clouds = true\nclouds-file = " + endless + "\n",
		"ca-file":     loginText + "ca-file = " + endless + "\n",
		"cert-file":   loginText + "cert-file = " + endless + "\nkey-file = " + endless + "\n",
	} {
		if err := decodeProblems(parse(t, text), config.WithFiles).Err(); err == nil || !strings.Contains(err.Error(), "larger than 1048576 bytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
	source := credential.NewFiles([]string{endless}, func(map[string][]byte) (map[string]client.Credentials, error) { return nil, nil })
	if _, err := source.Lookup(t.Context(), client.CredentialsName); err == nil || !strings.Contains(err.Error(), "larger than 1048576 bytes") {
		t.Errorf("credentials: %v", err)
	}
	for _, settings := range []client.TLS{{CAFile: endless}, {CertFile: endless, KeyFile: endless}} {
		if _, err := client.New(client.Config{AuthURL: "https://keystone.example.com/v3", TLS: settings}, source, client.Options{}); err == nil ||
			!strings.Contains(err.Error(), "larger than 1048576 bytes") {
			t.Errorf("%+v: %v", settings, err)
		}
	}
}
