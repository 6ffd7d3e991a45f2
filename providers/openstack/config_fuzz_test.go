package openstack

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// FuzzDecode: no cloud-config and no clouds.yaml makes the reader panic, a configuration
// without errors is complete, and no secret is ever shown.
func FuzzDecode(f *testing.F) {
	const marker = "hunter2marker"
	f.Add(loginText+"[LoadBalancer]\nmonitor-delay = 5\nfloating-subnet = ~[\n[LoadBalancerClass]\n", "", "true")
	f.Add("[Global]\nuse-clouds\ncloud = a\n", "clouds: {a: {auth: {auth_url: 'http://k', token: "+marker+", project_id: i}, auth_type: token}}", "1")
	f.Add("[Global]\nauth-url = https://k\ntrust-id = t\ntrustee-id = u\ntrustee-password = "+marker+"\n[Metadata]\nsearch-order\n", "[]", "x")
	f.Add("[Global]\nuse-clouds = yes\nusername = u\npassword = "+marker+"\n", "clouds: {a: {verify: no, cacert: /ca, profile: a}}\npublic-clouds: {a: {interface: x}}", "")
	f.Add("global: {}\n", "a: [", "-1")
	f.Fuzz(func(t *testing.T, text, clouds, variable string) {
		file, err := config.Parse("cloud.conf", []byte(text))
		if err != nil {
			return
		}
		env := in(map[string]string{site: clouds, "/etc/openstack/clouds-public.yaml": clouds, "/etc/openstack/secure.yaml": clouds})
		env = env.with(map[string]string{variableRegional: variable, variableWaitSteps: variable, variableCloud: variable})
		cfg, problems := decode(file, env)
		if _, err := decodeCredentials(file, env); err != nil && problems.Err() == nil {
			t.Errorf("the credentials of a valid cloud-config have an error: %v", err)
		}
		shown := fmt.Sprintf("%+v %#v", cfg.login, cfg.login)
		for _, s := range explainIn(file, env) {
			if secret := strings.HasSuffix(s.Name.Key, "password") || strings.HasSuffix(s.Name.Key, "secret") || s.Name.Key == "token"; secret {
				shown += s.Value
			}
		}
		if strings.Contains(shown, marker) {
			t.Errorf("a secret is shown: %s", shown)
		}
		if problems.Err() == nil {
			checkComplete(t, cfg)
		}
	})
}

// TestDecodeCombinations: whatever keys of [Global] and of clouds.yaml are set, the
// credentials are complete and do not contradict themselves, or there is an error.
func TestDecodeCombinations(t *testing.T) {
	t.Parallel()
	keys := cloudKeys()
	rapid.Check(t, func(rt *rapid.T) {
		text, auth, beside := "[Global]\nauth-url = https://keystone/v3\n", "", ""
		if rapid.Bool().Draw(rt, "use-clouds") {
			text += "use-clouds\n"
		}
		// Few keys at a time: most combinations contradict themselves.
		for _, key := range rapid.SliceOfN(rapid.SampledFrom(keys[1:17]), 0, 6).Draw(rt, "of the cloud-config") {
			text += key.name + " = x\n"
		}
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys[1:17]), 0, 6, func(key cloudKey) string { return key.name }).Draw(rt, "of clouds.yaml") {
			auth += strings.TrimPrefix(string(key.from), "auth.") + ": y\n"
		}
		for _, key := range rapid.SliceOfN(rapid.SampledFrom([]string{"trustee-id", "trustee-password"}), 0, 1).Draw(rt, "trustee") {
			text += key + " = x\n"
		}
		if kind := rapid.SampledFrom([]string{"", "password", "token", "v3applicationcredential"}).Draw(rt, "auth_type"); kind != "" {
			beside = "auth_type: " + kind + "\n"
		}
		env := in(cloudsFile(auth, beside))
		file := parse(t, text)
		cfg, problems := decode(file, env)
		if _, err := decodeCredentials(file, env); (err == nil) != (problems.Err() == nil) {
			rt.Errorf("at start %v, later %v", problems.Err(), err)
		}
		if problems.Err() == nil {
			checkComplete(rt, cfg)
		}
	})
}

func checkComplete(t interface {
	Helper()
	Errorf(format string, args ...any)
}, cfg *Config,
) {
	t.Helper()
	c, l := cfg.clientConfig(), cfg.login
	if c.AuthURL == "" || c.EndpointType == "" || c.Timeout <= 0 || cfg.LoadBalancer.LBMethod == "" {
		t.Errorf("the configuration is not complete: %+v", c)
	}
	methods := 0
	for _, set := range []bool{l.Password != "", l.Token != "", l.ApplicationCredentialSecret != ""} {
		if set {
			methods++
		}
	}
	if methods != 1 || l.UserID != "" && l.Username != "" || l.ProjectID != "" && l.ProjectName != "" {
		t.Errorf("the credentials contradict: %+v", l)
	}
	if l.Username != "" && (l.UserDomainID == "") == (l.UserDomainName == "") || l.ProjectName != "" && (l.ProjectDomainID == "") == (l.ProjectDomainName == "") {
		t.Errorf("a domain is missing or twice: %+v", l)
	}
}
