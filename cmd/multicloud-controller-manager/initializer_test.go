package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// missing is the content of a file that does not exist.
const missing = "missing"

type choiceCase struct {
	reason   string
	file     string // missing: there is none; empty: no --cloud-config
	flag     config.Flag
	want     string
	problems []string
	err      string
}

func choiceCases() map[string]choiceCase {
	return map[string]choiceCase{
		"Key":  {reason: "the key alone", file: "[Global]\nprovider = plain\n", want: plainName},
		"Flag": {reason: "the flag alone", file: "[Place]\ncity = Ulm\n", flag: config.Flag{Value: plainName, Set: true}, want: plainName},
		"FlagWithoutFile": {
			reason: "a provider may need no file",
			flag:   config.Flag{Value: plainName, Set: true}, want: plainName,
		},
		"Default": {
			reason: "the default of the flag is not a choice",
			file:   "[Global]\nprovider = broken\n", flag: config.Flag{Value: plainName}, want: brokenName,
		},
		"Disagree": {
			reason: "both named", file: "[Global]\nprovider = plain\n", flag: config.Flag{Value: brokenName, Set: true},
			err: `cloud.conf:2:1: [Global] provider is "plain" but --cloud-provider is "broken"`,
		},
		"Neither":     {reason: "the names to choose from", err: "known are: broken, plain"},
		"MissingFile": {reason: "even with a flag", file: missing, flag: config.Flag{Value: plainName, Set: true}, err: "no such file or directory"},
		"BrokenFile": {
			reason: "whatever the provider", file: "[Global\n", flag: config.Flag{Value: plainName, Set: true},
			err: "cloud.conf:1:8: a section must end with ]",
		},
		"Refused": {
			reason: "the provider's error, with its position",
			file:   "[Global]\nprovider = plain\n[Place]\ncity = Atlantis\n",
			want:   plainName, problems: []string{"error: cloud.conf:4:1: [Place] city: not a city"},
			err: "not a city",
		},
		"Typo": {
			reason: "a warning",
			file:   "[Global]\nprovider = plain\n[Place]\ncitty = Ulm\n[Old]\n",
			want:   plainName, problems: []string{
				"warning: cloud.conf:4:1: unknown key [Place] citty, did you mean city?",
				"note: cloud.conf:5:1: [Old] is ignored: it is no longer used",
			},
		},
		"StrictTypo": {
			reason: "an error on request; a section of others stays a note",
			file:   "[Global]\nprovider = plain\n[Multicloud]\nstrict\n[Place]\ncitty = Ulm\n[Old]\n",
			want:   plainName, problems: []string{
				"error: cloud.conf:6:1: unknown key [Place] citty, did you mean city?",
				"note: cloud.conf:7:1: [Old] is ignored: it is no longer used",
			},
			err: "unknown key [Place] citty",
		},
	}
}

// FW-CONFIG-1, FW-CONFIG-2: the flag and the key in the file choose the provider.
func TestChoose(t *testing.T) {
	t.Parallel()
	for name, tc := range choiceCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := ""
			switch tc.file {
			case "":
			case missing:
				path = filepath.Join(t.TempDir(), "cloud.conf")
			default:
				path = configFile(t, tc.file)
			}
			chosen, err := choose(testProviders(), path, tc.flag, config.WithFiles)
			wantError(t, tc.err, err)
			if chosen.provider.Name != tc.want {
				t.Errorf("%s: chose %q, want %q", tc.reason, chosen.provider.Name, tc.want)
			}
			var problems []string
			for _, p := range chosen.problems {
				problems = append(problems, fmt.Sprintf("%s: %s", p.Severity, strings.ReplaceAll(p.String(), path, "cloud.conf")))
			}
			if diff := cmp.Diff(tc.problems, problems); diff != "" {
				t.Errorf("%s: problems (-want +got):\n%s", tc.reason, diff)
			}
			if (chosen.file != nil) != (tc.want != "" && path != "") {
				t.Errorf("%s: file of the choice is %v", tc.reason, chosen.file)
			}
		})
	}
}

// newStarter makes a starter with the flags of the real command.
func newStarter(t *testing.T) (*starter, *cobra.Command) {
	t.Helper()
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		t.Fatal(err)
	}
	setDefaults(opts)
	cmd := &cobra.Command{}
	for _, set := range opts.Flags(nil, nil, names.CCMControllerAliases(), nil, nil).FlagSets {
		cmd.Flags().AddFlagSet(set)
	}

	return &starter{options: opts, providers: testProviders(), life: &lifetime{}}, cmd
}

// The hook leaves the options as if the chosen name had been given as a flag.
func TestStarterChoose(t *testing.T) {
	t.Parallel()
	s, cmd := newStarter(t)
	path := configFile(t, "[Global]\nprovider = plain\n[Controllers]\nconcurrent-node-syncs = 7\n")
	if err := cmd.Flags().Parse([]string{"--cloud-config=" + path}); err != nil {
		t.Fatal(err)
	}
	if err := s.choose(cmd, nil); err != nil {
		t.Fatal(err)
	}
	if name := s.options.KubeCloudShared.CloudProvider.Name; name != plainName || !cmd.Flags().Changed("cloud-provider") {
		t.Errorf("--cloud-provider is %q", name)
	}
	if n := s.options.NodeController.ConcurrentNodeSyncs; n != 7 {
		t.Errorf("node syncs are %d, want those of the file", n)
	}
	if !s.noRoutes || s.options.KubeCloudShared.ConfigureCloudRoutes {
		t.Error("routes are on")
	}
	if s.chosen.file == nil || s.chosen.file.Path != path {
		t.Errorf("the file of the choice is %v", s.chosen.file)
	}
}

func TestStarterChooseFails(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args []string
		err  string
	}{
		"NoProvider":   {nil, "no cloud provider chosen"},
		"NoWorkers":    {[]string{"--cloud-provider=plain", "--concurrent-node-syncs=0"}, "--concurrent-node-syncs must be more than zero"},
		"UnknownNames": {[]string{"--cloud-provider=plane"}, `did you mean "plain"?`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, cmd := newStarter(t)
			if err := cmd.Flags().Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			wantError(t, tc.err, s.choose(cmd, nil))
		})
	}
}

// FW-CONFIG-22: the factory gets the content that was checked, which is read once.
func TestMakeCloud(t *testing.T) {
	t.Parallel()
	const text = "[Global]\nprovider = plain\n"
	cases := map[string]struct {
		reason   string
		provider string
		meddle   func(path string) error
		err      string
	}{
		"Unchanged": {reason: "the factory gets the checked content", provider: plainName},
		"Changed": {
			reason: "another content was not checked, and the watcher finds it", provider: plainName,
			meddle: func(path string) error { return os.WriteFile(path, []byte(text+"\n"), 0o600) },
		},
		"Gone":    {reason: "the file is not opened again", provider: plainName, meddle: os.Remove},
		"Refused": {reason: "the path, which the framework leaves out", provider: brokenName, err: `cloud.conf: start provider broken: no credentials`},
		"Unknown": {reason: "an error, not a nil cloud", provider: "unknown", err: `unknown provider "unknown"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := configFile(t, text)
			file, err := config.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			if tc.meddle != nil {
				if err := tc.meddle(path); err != nil {
					t.Fatal(err)
				}
			}
			made, err := (&starter{chosen: choice{file: file}}).makeCloud(tc.provider)
			wantError(t, tc.err, err)
			if tc.err != "" {
				return
			}
			if cloud, ok := made.(*fakeCloud); !ok || cloud.content != text {
				t.Errorf("%s: made %+v", tc.reason, made)
			}
		})
	}
}

func TestMakeCloudWithoutFile(t *testing.T) {
	t.Parallel()
	made, err := (&starter{}).makeCloud(plainName)
	if cloud, ok := made.(*fakeCloud); err != nil || !ok || cloud.content != "" {
		t.Errorf("made %+v, %v", made, err)
	}
}

// FW-START-3: the framework does not check HasClusterID.
func TestCheckClusterID(t *testing.T) {
	t.Parallel()
	wantError(t, "", checkClusterID(&fakeCloud{clusterID: true}, false))
	wantError(t, "", checkClusterID(&fakeCloud{}, true))
	wantError(t, "--allow-untagged-cloud", checkClusterID(&fakeCloud{}, false))
}
