package e2e

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
)

// execute runs the binary to its end, in a directory with the files, and
// returns its exit code and all it printed.
func execute(t *testing.T, files map[string]string, args ...string) (int, string) {
	t.Helper()
	binary, err := ccm.Locate(binaryPath)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	command := exec.CommandContext(within(t), binary, args...)
	command.Dir, command.Env = dir, []string{"HOME=" + dir}
	output, err := command.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}

	return command.ProcessState.ExitCode(), string(output)
}

// vcenterConfig is a cloud-config for vSphere that needs no vCenter to be read.
const vcenterConfig = `[Global]
provider = vsphere
user = admin
password = "s3cr3t-in-file"

[VirtualCenter "127.0.0.1"]
port = 8443
`

// upstreamConfig is a cloud-config as the existing AWS controller manager has
// them: it does not name the provider.
const upstreamConfig = `[Global]
Zone = us-west-2-lax-1a
VPC = vpc-0123
SubnetID = subnet-0123
KubernetesClusterID = demo
DisableSecurityGroupIngress
NodeIPFamilies = ipv6
NodeIPFamilies = ipv4
DisableStrictZoneCheck = true

[ServiceOverride "1"]
Service = EC2
Region = us-west-2
URL = https://ec2.example.com
SigningRegion = us-west-2
`

// FW-START-1, FW-CONFIG-2, FW-CONFIG-9: whatever is wrong with the command line
// or the file ends the process before it connects to anything.
func TestStartFailures(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		file   string
		args   []string
		want   []string
	}{
		"KeyAndFlagDisagree": {
			reason: "both are named, and where the key stands",
			file:   vcenterConfig,
			args:   []string{"--cloud-provider=aws"},
			want:   []string{`cloud.conf:2:1: [Global] provider is "vsphere" but --cloud-provider is "aws"`},
		},
		"NoProvider": {reason: "the names to choose from", file: "[Foo]\na = b\n", want: []string{"no cloud provider chosen: set [Global] provider in cloud.conf to one of: aws, openstack, vsphere"}},
		"UnreadableFile": {
			reason: "a directory in the place of the file, as a mount of a missing key makes it",
			args:   []string{"--cloud-config=.", "--cloud-provider=vsphere"},
			want:   []string{"is a directory"},
		},
		"ProviderRefuses": {
			reason: "FW-START-1: the provider's own errors stop the start, too",
			file:   "[Global]\nprovider = vsphere\n[VirtualCenter \"vc\"]\nuser = admin\n",
			want:   []string{`cloud.conf:3:1: [VirtualCenter "vc"]`, "Password is missing"},
		},
		"NoWorkersByFlag": {reason: "no node would ever be initialized", file: awsConfig, args: []string{"--concurrent-node-syncs=0"}, want: []string{"--concurrent-node-syncs must be more than zero, got 0"}},
		"StrictTypo":      {reason: "FW-CONFIG-7: a typo is an error on request", file: "[Multicloud]\nstrict = true\n[ServiceOverrid \"x\"]\n" + awsConfig, want: []string{"cloud.conf:3:1: unknown section", "did you mean [ServiceOverride]?"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, output := execute(t, map[string]string{"cloud.conf": tc.file}, append([]string{"--cloud-config=cloud.conf"}, tc.args...)...)
			if code != 1 {
				t.Errorf("%s: exit code is %d, want 1", tc.reason, code)
			}
			for _, want := range tc.want {
				if !strings.Contains(strings.ReplaceAll(output, `\"`, `"`), want) { // the log quotes the error
					t.Errorf("%s: want %s, got:\n%s", tc.reason, want, output)
				}
			}
			if strings.Contains(output, "goroutine ") {
				t.Errorf("goroutines were dumped:\n%s", output)
			}
		})
	}
}

// FW-CONFIG-10: subcommands work offline.
func TestOfflineCommands(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"good.conf":     vcenterConfig,
		"upstream.conf": upstreamConfig,
		"wrong.conf":    "[Global]\nprovider = vsphere\n[VirtualCenter \"vc\"]\nport = 99999\nuser = u\npassword = \"s3cr3t-in-file\n\n",
	}
	cases := map[string]struct {
		reason string
		args   []string
		code   int
		want   []string
	}{
		"Version":       {reason: "needs no config, and is not that of Kubernetes", args: []string{"--version"}, want: []string{"multicloud-controller-manager "}},
		"Providers":     {reason: "what is registered and what it supports", args: []string{"providers"}, want: []string{"vsphere ", "instances ", "in NSX-T", "in a tier-1 gateway of NSX-T", "aws ", "classic and network", "in the route table of the cluster", "openstack ", "extra routes of a Neutron router"}},
		"Validate":      {reason: "the chosen provider", args: []string{"config", "validate", "--cloud-config=good.conf"}, want: []string{"good.conf: valid for provider vsphere"}},
		"ValidateWrong": {reason: "all errors, none with a secret", args: []string{"config", "validate", "--cloud-config=wrong.conf"}, code: 1, want: []string{"wrong.conf:"}},
		"ValidateFlag":  {reason: "the flag must agree here, too", args: []string{"config", "validate", "--cloud-config=good.conf", "--cloud-provider=aws"}, code: 1, want: []string{"remove one or make them agree"}},
		"ValidateUpstream": {
			reason: "a file of the existing AWS controller manager is good as it is",
			args:   []string{"config", "validate", "--cloud-config=upstream.conf", "--cloud-provider=aws"},
			want:   []string{"upstream.conf: valid for provider aws"},
		},
		"ExplainUpstream": {
			reason: "AWS-CONFIG-2: the region is that of the zone",
			args:   []string{"config", "explain", "--cloud-config=upstream.conf", "--cloud-provider=aws"},
			want:   []string{"that of Zone at upstream.conf:2:1", "ipv6,ipv4", "upstream.conf:8:1", "https://ec2.example.com", "upstream.conf:14:1", "DisableStrictZoneCheck is ignored"},
		},
		"Explain": {
			reason: "each key with its place or default, secrets redacted",
			args:   []string{"config", "explain", "--cloud-config=good.conf"},
			want:   []string{"good.conf:2:1", "<redacted>", `[VirtualCenter "127.0.0.1"] port`, "8443", "inherited from [Global] at good.conf:3:1", "default"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, output := execute(t, files, tc.args...)
			if code != tc.code {
				t.Errorf("%s: exit code is %d, want %d", tc.reason, code, tc.code)
			}
			for _, want := range tc.want {
				if !strings.Contains(output, want) {
					t.Errorf("%s: want %q, got:\n%s", tc.reason, want, output)
				}
			}
			if strings.Contains(output, "s3cr3t") {
				t.Errorf("%s: the password is shown:\n%s", tc.reason, output)
			}
		})
	}
}
