package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/cloud-provider/app"

	"github.com/multicloud-ccm/multicloud-ccm/providers/all"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

func TestPrintProviders(t *testing.T) {
	t.Parallel()
	var printed bytes.Buffer
	if err := printProviders(&printed, testProviders()); err != nil {
		t.Fatal(err)
	}
	wantGolden(t, "providers.golden", &printed, "")
}

// FW-CONFIG-18: the commands print problems to stderr and settings, without secrets, to stdout.
// They share the flags of the process, so their tests are not parallel.
func TestConfigCommands(t *testing.T) {
	const good = "[Global]\nprovider = plain\n\n[Place]\ncity = Ulm\npassword = s3cr3t\n"
	cases := map[string]struct {
		reason  string
		command string
		file    string
		err     string
	}{
		"explain":         {reason: "every key with its source", command: "explain", file: good},
		"validate":        {reason: "the chosen provider", command: "validate", file: good},
		"validate-typo":   {reason: "a warning at start is an error here", command: "validate", file: good + "[Old]\n[Plaze]\n", err: "is not valid for provider plain"},
		"validate-wrong":  {reason: "all problems", command: "validate", file: good + "city = Atlantis\n[Controllers]\nkube-api-qps = -2\n", err: "is not valid for provider plain"},
		"connect":         {reason: "what the cloud-config leads to; typos are warnings", command: "validate --connect", file: good + "[Plaze]\n"},
		"connect-refused": {reason: "the cloud refuses it", command: "validate --connect", file: strings.Replace(good, "Ulm", "Rome", 1), err: "is not proven: wrong password"},
		"connect-down":    {reason: "no response is an error", command: "validate --connect", file: strings.Replace(good, "Ulm", "Thule", 1), err: "is not proven: no response"},
		"allow-down":      {reason: "no response is a warning", command: "validate --connect --allow-unproven", file: strings.Replace(good, "Ulm", "Thule", 1)},
		"allow-refused":   {reason: "the cloud refuses it", command: "validate --connect --allow-unproven", file: strings.Replace(good, "Ulm", "Rome", 1), err: "is not proven: wrong password"},
		"connect-wrong":   {reason: "nothing is proven that is not valid", command: "validate --connect", file: good + "city = Atlantis\n", err: "is not valid for provider plain"},
		"explain-broken":  {reason: "nothing to explain", command: "explain", file: "[Global\n", err: "cloud.conf:1:8: a section must end with ]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := configFile(t, tc.file)
			cmd := newConfigCommand(testProviders())
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			var out, problems bytes.Buffer
			cmd.SetOut(&out)
			cmd.SetErr(&problems)
			cmd.SetArgs(append(strings.Fields(tc.command), "--cloud-config="+path))
			wantError(t, tc.err, cmd.ExecuteContext(t.Context()))
			if strings.Contains(out.String()+problems.String(), "s3cr3t") {
				t.Errorf("%s: the password is shown", tc.reason)
			}
			out.WriteString("--- problems\n")
			out.Write(problems.Bytes())
			wantGolden(t, name+".golden", &out, path)
		})
	}
}

// FW-CONFIG-14: the Nodes of a cluster are looked up with its kubeconfig.
func TestConnectWithNodes(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/api/v1/nodes" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, `{"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "node-1"}}]}`)
	}))
	defer api.Close()
	kubeconfig := configFile(t, fmt.Sprintf(`{"clusters": [{"name": "c", "cluster": {"server": %q}}], "contexts": [{"name": "c", "context": {"cluster": "c"}}], "current-context": "c"}`, api.URL))
	for name, tc := range map[string]struct{ kubeconfig, printed, err string }{
		"Nodes":   {kubeconfig, "nodes     0 found, 1 missing: node-1\n", ""},
		"Missing": {kubeconfig + "-missing", "", "read --kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := newConfigCommand(testProviders())
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			var out bytes.Buffer
			cmd.SetOut(&out)
			cmd.SetArgs([]string{"validate", "--connect", "--kubeconfig=" + tc.kubeconfig, "--cloud-config=" + configFile(t, "[Global]\nprovider = plain\n")})
			wantError(t, tc.err, cmd.ExecuteContext(t.Context()))
			if !strings.Contains(out.String(), tc.printed) {
				t.Errorf("printed %q, want %q", &out, tc.printed)
			}
		})
	}
}

func TestConfigCommandNeedsAFile(t *testing.T) {
	cmd := newConfigCommand(testProviders())
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"validate"})
	wantError(t, "the cloud-config is missing", cmd.ExecuteContext(t.Context()))
}

// The command is the framework's with our defaults, flags and subcommands.
func TestNewCommand(t *testing.T) {
	life := &lifetime{ctx: t.Context(), stop: func() {}}
	cmd, err := newCommand(all.Descriptors(), life)
	if err != nil {
		t.Fatal(err)
	}
	for flag, value := range map[string]string{"concurrent-node-syncs": "20", "node-labels": "", "cloud-provider": ""} {
		if f := cmd.Flags().Lookup(flag); f == nil || f.DefValue != value {
			t.Errorf("--%s is %+v, want the default %q", flag, f, value)
		}
	}
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"confg"})
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "Did you mean this?\n\tconfig") {
		t.Errorf("a mistyped command has the error %v", err)
	}
	var subcommands []string
	for _, sub := range cmd.Commands() {
		subcommands = append(subcommands, sub.Name())
	}
	for _, want := range []string{"config", "providers"} {
		if !slices.Contains(subcommands, want) {
			t.Errorf("there is no command %s among %q", want, subcommands)
		}
	}
}

// FW-START-7: the framework's map of controllers is shared and is not modified.
func TestControllers(t *testing.T) {
	t.Parallel()
	before := maps.Clone(app.DefaultInitFuncConstructors)
	own := map[string]app.ControllerInitFuncConstructor{"tagging": {}}
	made := controllers([]provider.Descriptor{{Name: plainName, Controllers: own}})
	if len(made) != len(before)+1 || len(app.DefaultInitFuncConstructors) != len(before) {
		t.Errorf("%d controllers, %d of the framework, %d before", len(made), len(app.DefaultInitFuncConstructors), len(before))
	}
	if _, ok := made["tagging"]; !ok {
		t.Error("the provider's own controller is missing")
	}
}

// The file is an argument or a flag, and a mistyped command is not an empty one.
func TestConfigArguments(t *testing.T) {
	path := configFile(t, "[Global]\nprovider = plain\n")
	for _, tc := range []struct {
		reason, err string
		args        []string
	}{
		{"the argument", "", []string{"validate", path}},
		{"the argument", "", []string{"explain", path}},
		{"both", "there are two files", []string{"validate", path, "--cloud-config=" + path}},
		{"two arguments", "accepts at most 1 arg", []string{"validate", path, path}},
		{"mistyped", `unknown command "vaildate", known are: explain, validate, did you mean validate?`, []string{"vaildate", path}},
		{"nothing like it", `unknown command "x", known are: explain, validate`, []string{"x"}},
		{"the help", "", nil},
	} {
		cmd := newConfigCommand(testProviders())
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetOut(&bytes.Buffer{})
		cmd.SetArgs(tc.args)
		t.Log(tc.reason)
		wantError(t, tc.err, cmd.ExecuteContext(t.Context()))
	}
}
