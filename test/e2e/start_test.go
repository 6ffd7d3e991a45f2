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

type startFailure struct {
	reason string
	file   string
	args   []string
	want   []string
}

func startFailures() map[string]startFailure {
	return map[string]startFailure{
		"KeyAndFlagDisagree": {
			reason: "both are named, and where the key stands",
			file:   vcenterConfig,
			args:   []string{"--cloud-provider=aws"},
			want:   []string{`cloud.conf:2:1: [Global] provider is "vsphere" but --cloud-provider is "aws"`},
		},
		"UnknownKey": {
			reason: "a typo gets the known names and the nearest one",
			file:   "[Global]\nprovider = vshpere\n",
			want:   []string{`cloud.conf:2:1`, `unknown provider "vshpere", known are: aws, openstack, vsphere, did you mean "vsphere"?`},
		},
		"UnknownFlag": {
			reason: "the same for the flag",
			file:   "[Foo]\na = b\n",
			args:   []string{"--cloud-provider=Vsphere"},
			want:   []string{`--cloud-provider: unknown provider "Vsphere"`, `did you mean "vsphere"?`},
		},
		"ExternalKey":  {reason: "external is no provider", file: "[Global]\nprovider = external\n", want: []string{`unknown provider "external"`, "is no provider"}},
		"ExternalFlag": {reason: "external is no provider", file: "[Foo]\na = b\n", args: []string{"--cloud-provider=external"}, want: []string{`unknown provider "external"`, "is no provider"}},
		"Paravirtual": {
			reason: "FW-CONFIG-2: a name that users of the existing binary may bring",
			file:   "[Global]\nprovider = vsphere-paravirtual\n",
			want:   []string{`unknown provider "vsphere-paravirtual"`, "is not"},
		},
		"NoProvider": {reason: "the names to choose from", file: "[Foo]\na = b\n", want: []string{"no cloud provider chosen: set [Global] provider in cloud.conf to one of: aws, openstack, vsphere"}},
		"EmptyFile":  {reason: "an empty file is said to be one", want: []string{"no cloud provider chosen: cloud.conf is empty"}},
		"EmptyFileWithFlag": {
			reason: "VS-CONFIG-1: no panic without a file",
			args:   []string{"--cloud-provider=vsphere"},
			want:   []string{"cloud.conf: no vSphere cloud provider config file given"},
		},
		"MissingFile": {reason: "the path that was tried", args: []string{"--cloud-config=missing.conf"}, want: []string{"missing.conf: no such file or directory"}},
		"UnreadableFile": {
			reason: "a directory in the place of the file, as a mount of a missing key makes it",
			args:   []string{"--cloud-config=.", "--cloud-provider=vsphere"},
			want:   []string{"is a directory"},
		},
		"NeitherFormat": {
			reason: "both causes, with their places",
			file:   "[Global\nprovider = vsphere\n",
			want:   []string{"as gcfg: cloud.conf:1:8:", "as YAML: cloud.conf:2:"},
		},
		"BrokenYAML": {
			reason: "the same the other way round",
			file:   "global:\n  provider: vsphere\n bad: [\n",
			want:   []string{"as gcfg: cloud.conf:1:1:", "as YAML: cloud.conf:2:"},
		},
		"ProviderRefuses": {
			reason: "FW-START-1: the provider's own errors stop the start, too",
			file:   "[Global]\nprovider = vsphere\n[VirtualCenter \"vc\"]\nuser = admin\n",
			want:   []string{`cloud.conf:3:1: [VirtualCenter "vc"]`, "Password is missing"},
		},
		"BadZone": {
			reason: "AWS-CONFIG-2: a zone names its region",
			file:   awsConfig + "Zone = nowhere\n",
			want:   []string{`cloud.conf:3:1: [Global] Zone: "nowhere" is not an availability zone`},
		},
		"BadRole": {reason: "AWS-CONFIG-3: a role is an ARN", file: awsConfig + "RoleARN = admin\n", want: []string{`cloud.conf:3:1`, `"admin" is not an ARN`}},
		"TwoClusterIDs": {
			reason: "AWS-CONFIG-3: both keys have the same value",
			file:   awsConfig + "KubernetesClusterTag = a\nKubernetesClusterID = b\n",
			want:   []string{`cloud.conf:4:1: [Global] KubernetesClusterID: "b" is not the same as KubernetesClusterTag, which is "a"`},
		},
		"BadTopologyPattern": {reason: "AWS-CONFIG-5: no panic", file: awsConfig + "SupportedTopologyInstanceTypePattern = (\n", want: []string{"cloud.conf:3:1", "is not a regular expression"}},
		"NoIPFamily":         {reason: "AWS-CONFIG-5: no node could ever have an address", file: awsConfig + "NodeIPFamilies = ipv5\n", want: []string{"cloud.conf:3:1: [Global] NodeIPFamilies: no family is left"}},
		"IncompleteOverride": {
			reason: "AWS-CONFIG-7: what is missing, and where",
			file:   awsConfig + "[ServiceOverride \"1\"]\nService = EC2\nRegion = us-west-2\n",
			want:   []string{`cloud.conf:3:1`, `[ServiceOverride "1"]`, "URL", "SigningRegion"},
		},
		"NoWorkersByFlag": {reason: "no node would ever be initialized", file: awsConfig, args: []string{"--concurrent-node-syncs=0"}, want: []string{"--concurrent-node-syncs must be more than zero, got 0"}},
		"NoWorkersByKey":  {reason: "the same in the file", file: "[Controllers]\nconcurrent-node-syncs = 0\n" + awsConfig, want: []string{"cloud.conf:2:1: [Controllers] concurrent-node-syncs: must be a number above zero"}},
		"StrictTypo":      {reason: "FW-CONFIG-7: a typo is an error on request", file: "[Multicloud]\nstrict = true\n[ServiceOverrid \"x\"]\n" + awsConfig, want: []string{"cloud.conf:3:1: unknown section", "did you mean [ServiceOverride]?"}},
	}
}

// FW-START-1, FW-CONFIG-2, FW-CONFIG-9: whatever is wrong with the command line
// or the file ends the process before it connects to anything.
func TestStartFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range startFailures() {
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
		"typo.conf":     vcenterConfig + "prot = 1\n",
		"upstream.conf": upstreamConfig,
		"wrong.conf":    "[Global]\nprovider = vsphere\n[VirtualCenter \"vc\"]\nport = 99999\nuser = u\npassword = \"s3cr3t-in-file\n\n",
	}
	cases := map[string]struct {
		reason string
		args   []string
		code   int
		want   []string
	}{
		"Version":         {reason: "needs no config, and is not that of Kubernetes", args: []string{"--version"}, want: []string{"multicloud-controller-manager "}},
		"Providers":       {reason: "what is registered and what it supports", args: []string{"providers"}, want: []string{"vsphere ", "instances ", "NSX-T load balancers and routes are not supported yet", "aws ", "classic and network", "in the route table of the cluster", "openstack ", "extra routes of a Neutron router"}},
		"Validate":        {reason: "the chosen provider", args: []string{"config", "validate", "--cloud-config=good.conf"}, want: []string{"good.conf: valid for provider vsphere"}},
		"ValidateTypo":    {reason: "a warning at start is an error here", args: []string{"config", "validate", "--cloud-config=typo.conf"}, code: 1, want: []string{"error: typo.conf:8:1:", "did you mean", "is not valid for provider vsphere"}},
		"ValidateWrong":   {reason: "all errors, none with a secret", args: []string{"config", "validate", "--cloud-config=wrong.conf"}, code: 1, want: []string{"wrong.conf:"}},
		"ValidateNothing": {reason: "a file is needed", args: []string{"config", "validate"}, code: 1, want: []string{"--cloud-config is missing"}},
		"ValidateFlag":    {reason: "the flag must agree here, too", args: []string{"config", "validate", "--cloud-config=good.conf", "--cloud-provider=aws"}, code: 1, want: []string{"remove one or make them agree"}},
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

// FW-CONFIG-7, FW-CONFIG-8: what is odd but harmless is reported once, with its
// place, and does not keep the process from starting.
func TestWarningsAtStart(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	path := writeConfig(t, vcenterConfig+"prot = 1\n\n[LoadBalancer]\nsize = SMALL\n\n[NSXT]\nhost = nsx\n\n[Workspace]\nserver = x\n")
	m := c.run(t, path)
	m.awaitLog(t, "Cloud provider chosen")
	for _, want := range []string{
		path + ":8:1",  // prot
		path + ":10:1", // [LoadBalancer]
		path + ":13:1", // [NSXT]
		path + ":16:1", // [Workspace]
		"Routes are off",
	} {
		if lines := m.logged(t, want); len(lines) != 1 {
			t.Errorf("want %q once in the log, it is there %d times: %q", want, len(lines), lines)
		}
	}
	page := m.page(t, "/configz")
	for _, want := range []string{`"Name":"vsphere"`, `"ConfigureCloudRoutes":false`, `"ConcurrentNodeSyncs":20`} {
		if !strings.Contains(page, want) {
			t.Errorf("want %s in /configz: %s", want, page)
		}
	}
}
