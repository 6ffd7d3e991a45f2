package openstack

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential/credentialtest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/nodes"
)

// testTimeout bounds every wait of these tests; none of them waits that long.
const testTimeout = 5 * time.Minute

// start decodes the cloud-config at a path and returns the source of its credentials,
// which runs until the test ends, and a channel of its changes.
func start(t *testing.T, path string, env environment) (credential.Source[client.Credentials], <-chan struct{}) {
	t.Helper()
	file, err := config.Read(path)
	must(t, err)
	cfg, problems := decode(file, env)
	must(t, problems.Err())
	source, run := credentialSource(file, cfg, env)
	if run == nil {
		t.Fatal("the source does not follow the file")
	}
	changes := make(chan struct{}, 100)
	source.Subscribe(func(context.Context) { changes <- struct{}{} })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})

	return source, changes
}

// await waits until the source has this password.
func await(t *testing.T, source credential.Source[client.Credentials], changes <-chan struct{}, password string) {
	t.Helper()
	deadline := time.After(testTimeout)
	for {
		got, err := source.Lookup(t.Context(), client.CredentialsName)
		if err == nil && got.Password.Reveal() == password {
			return
		}
		select {
		case <-changes:
		case <-deadline:
			t.Fatalf("want the password %q, got %q, %v", password, got.Password.Reveal(), err)
		}
	}
}

// A Secret that is mounted as the cloud-config is replaced: the new password is used
// without a restart, and a cloud-config without credentials changes nothing.
func TestCredentialsOfCloudConfigChange(t *testing.T) {
	t.Parallel()
	mount := credentialtest.NewMount(t, "cloud.conf", loginText)
	env := in(nil)
	env.readFile = os.ReadFile
	source, changes := start(t, filepath.Join(mount.Path, "cloud.conf"), env)
	await(t, source, changes, "p")
	mount.Replace(t, "cloud.conf", strings.Replace(loginText, "password = p", "password =", 1))
	mount.Replace(t, "cloud.conf", loginText+"password = new\n")
	await(t, source, changes, "new")
}

// The same for clouds.yaml and secure.yaml in another Secret.
func TestCredentialsOfCloudsChange(t *testing.T) {
	t.Parallel()
	const clouds = "clouds: {a: {auth: {auth_url: https://keystone/v3, user_id: u, project_id: i}}}"
	const first, second = "clouds: {a: {auth: {password: first}}}", "clouds: {a: {auth: {password: second}}}"
	mount := credentialtest.NewMount(t, "clouds.yaml", clouds, "secure.yaml", first)
	path := filepath.Join(t.TempDir(), "cloud.conf")
	text := "[Global]\nuse-clouds = true\nclouds-file = " + filepath.Join(mount.Path, "clouds.yaml") + "\n"
	must(t, os.WriteFile(path, []byte(text), 0o600))
	env := environment{readFile: os.ReadFile, workingDirectory: t.TempDir(), home: t.TempDir()}
	source, changes := start(t, path, env)
	await(t, source, changes, "first")
	mount.Replace(t, "clouds.yaml", clouds, "secure.yaml", second)
	await(t, source, changes, "second")
}

func TestParseCredentials(t *testing.T) {
	t.Parallel()
	const conf, use = "/etc/config/cloud.conf", "[Global]\nuse-clouds = true\n"
	auth := cloudsFile("user_id: u\npassword: p\nproject_id: i\n", "cacert: /missing\n")[site]
	cases := map[string]struct {
		reason string
		data   map[string]string
		want   client.Credentials
		err    string
	}{
		"cloud-config": {
			"alone",
			map[string]string{conf: loginText},
			client.Credentials{Username: "u", Password: "p", UserDomainName: "d", ProjectName: "t", ProjectDomainName: "d"},
			"",
		},
		"clouds.yaml":      {"with its credentials, without its certificates", map[string]string{conf: use, site: auth}, client.Credentials{UserID: "u", Password: "p", ProjectID: "i"}, ""},
		"no cloud-config":  {"is an error", map[string]string{site: auth}, client.Credentials{}, "read cloud-config " + conf + ": file does not exist"},
		"no clouds.yaml":   {"is an error", map[string]string{conf: use}, client.Credentials{}, conf + ":2:1: [Global] use-clouds: no clouds.yaml exists"},
		"empty":            {"is an error", map[string]string{conf: ""}, client.Credentials{}, conf + ": no OpenStack cloud provider config file given"},
		"not gcfg":         {"is an error", map[string]string{conf: "[Global"}, client.Credentials{}, conf + ":1:8: a section must end with ]"},
		"no credentials":   {"is an error", map[string]string{conf: "[Global]\nauth-url = https://keystone/v3\n"}, client.Credentials{}, conf + ":1:1: [Global]: there are no credentials"},
		"another Keystone": {"must not get these credentials", map[string]string{conf: loginText + "auth-url = https://other/v3\n"}, client.Credentials{}, conf + ": [Global] auth-url has changed: restart the controller manager"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := map[string][]byte{}
			for path, text := range tc.data {
				data[path] = []byte(text)
			}
			got, err := parseCredentials(conf, "https://keystone/v3", in(nil))(data)
			if tc.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tc.err) || len(got) > 0 {
					t.Errorf("%s: want %q, got %v, %v", tc.reason, tc.err, got, err)
				}

				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			check(t, tc.reason, reveal(tc.want), reveal(got[client.CredentialsName]))
		})
	}
}

// A cloud-config that is not from a file has the credentials that it has.
func TestCredentialsInline(t *testing.T) {
	t.Parallel()
	file := parse(t, loginText)
	cfg, _ := decode(file, in(nil))
	source, run := credentialSource(file, cfg, in(nil))
	if run != nil {
		t.Error("there is nothing to follow")
	}
	got, err := source.Lookup(t.Context(), client.CredentialsName)
	if err != nil || got != cfg.login {
		t.Errorf("want %v, got %v, %v", reveal(cfg.login), reveal(got), err)
	}
}

// A cloud-config that has changed since it was decoded is followed, too.
func TestCredentialPathsOfChangedFile(t *testing.T) {
	t.Parallel()
	file, err := config.Parse("/etc/config/cloud.conf", []byte(loginText))
	must(t, err)
	env := in(map[string]string{"/etc/config/cloud.conf": loginText + "password = new\n"})
	cfg, _ := decode(file, env)
	check(t, "paths", []string{"/etc/config/cloud.conf"}, credentialPaths(file, cfg, env))
}

// Places that cannot be read are not watched: they would keep all others from being
// read.
func TestCredentialPaths(t *testing.T) {
	t.Parallel()
	const text = "[Global]\nuse-clouds = true\n"
	file := parse(t, text)
	files := cloudsFile("token: t\nproject_id: i\n", "")
	files["cloud.conf"] = text
	env := in(files)
	read := env.readFile
	env.readFile = func(path string) ([]byte, error) {
		if strings.HasPrefix(path, "/home/ccm/") {
			return nil, os.ErrPermission
		}

		return read(path)
	}
	cfg, problems := decode(file, env)
	checkProblems(t, "a home directory of another user", nil, problems)
	want := []string{
		"cloud.conf",
		"/srv/clouds.yaml", "/etc/openstack/clouds.yaml", "/srv/clouds.yml", "/etc/openstack/clouds.yml",
		"/srv/secure.yaml", "/etc/openstack/secure.yaml", "/srv/secure.yml", "/etc/openstack/secure.yml",
		"/srv/clouds-public.yaml", "/etc/openstack/clouds-public.yaml", "/srv/clouds-public.yml", "/etc/openstack/clouds-public.yml",
	}
	check(t, "paths", want, credentialPaths(file, cfg, env))
}

// The rules are those of the cloud-config, with the valid items of the order.
func TestAddressRules(t *testing.T) {
	t.Parallel()
	cfg, _ := decode(parse(t, loginText+"[Networking]\nipv6-support-disabled\npublic-network-name = p\npublic-network-name = q\n"+
		"internal-network-name = i\naddress-sort-order = \"10.1.2.3/8\\nx fd00::/8\"\n"), in(nil))
	want := nodes.AddressRules{
		IPv6Disabled: true, Public: []string{"p", "q"}, Internal: []string{"i"},
		Order: address.Prefixes{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")},
	}
	if diff := cmp.Diff(want, cfg.nodesConfig().Addresses, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}
