package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

func global(key string) config.Name { return config.Name{Section: "Global", Key: key} }

func TestResolver(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"well": {"nothing is wrong", "[Global]\nprovider = ours\nname = a\ncount = 1\n", nil},
		"sorted": {
			"problems are in the order of the file, whichever part reports them first", "[Global]\nname = bad\nprovider = theirs\nunknown = 1\n[Controllers]\nkube-api-qps = 0\n",
			[]string{
				"warning: cloud.conf:2:1: [Global] name: is doubtful",
				`error: cloud.conf:3:1: [Global] provider: this file is for provider "theirs", not for ours`,
				"warning: cloud.conf:4:1: unknown key [Global] unknown",
				"error: cloud.conf:6:1: [Controllers] kube-api-qps: must be a number above zero, got 0",
			},
		},
		"strict": {
			"only unknown names are errors", "[Global]\nname = bad\nunknown = 1\n[Multicloud]\nstrict\n",
			[]string{
				"warning: cloud.conf:2:1: [Global] name: is doubtful",
				"error: cloud.conf:3:1: unknown key [Global] unknown",
			},
		},
		"YAML": {
			"names are spelled as in the file", "global:\n  name: bad\n",
			[]string{"warning: cloud.conf:2:3: global.name: is doubtful"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var own cloud
			r := config.NewResolver(parse(t, tc.text), schema())
			r.Decode("ours", &own)
			if own.Global.Name == "bad" {
				r.Warnf(global("name"), "is %s", "doubtful")
			}
			compare(t, tc.reason, tc.want, describe(r.Finish()))
		})
	}
}

// A value that the file does not set, or sets to nothing, is the default.
func TestResolverDefaults(t *testing.T) {
	t.Parallel()
	var own cloud
	r := config.NewResolver(parse(t, "[Global]\nprovider = ours\nname = a\ncount = 0\nhosts = x\n"), schema())
	r.Decode("ours", &own)
	config.Default(r, global("name"), &own.Global.Name, "b")
	config.Default(r, global("count"), &own.Global.Count, 3)
	config.DefaultList(r, global("zones"), &own.Global.Zones, "y", "z")
	config.DefaultList(r, global("hosts"), &own.Global.Hosts, "y")
	r.Origins[global("ca-file")] = "environment CA_FILE"
	compare(t, "problems", []string(nil), describe(r.Finish()))
	var got []string
	for _, s := range r.Explain(&own) {
		if s.Name.Section == "Global" {
			got = append(got, fmt.Sprintf("%s = %s | %s | %s", s.Name, s.Value, s.Source, r.Origin(s.Name)))
		}
	}
	compare(t, "settings of both readers are listed together", []string{
		"[Global] provider = ours | cloud.conf:2:1 | cloud.conf:2:1",
		"[Global] name = a | cloud.conf:3:1 | cloud.conf:3:1",
		"[Global] token =  | default | cloud.conf:1:1",
		"[Global] ca-file =  | environment CA_FILE | environment CA_FILE",
		"[Global] count = 3 | default | default",
		"[Global] insecure = false | default | cloud.conf:1:1",
		"[Global] wait = 0s | default | cloud.conf:1:1",
		"[Global] zones = y,z | default | default",
		"[Global] nets =  | default | cloud.conf:1:1",
		"[Global] limit =  | default | cloud.conf:1:1",
		"[Global] hosts = x | cloud.conf:5:1 | cloud.conf:5:1",
		"[Global] labels = map[] | default | cloud.conf:1:1",
	}, got)
}

// Without a file nothing is set, and nothing is wrong.
func TestResolverWithoutFile(t *testing.T) {
	t.Parallel()
	var own cloud
	r := config.NewResolver(nil, schema())
	r.Decode("ours", &own)
	config.Default(r, global("name"), &own.Global.Name, "b")
	compare(t, "problems", []string(nil), describe(r.Finish()))
	compare(t, "configuration", "b", own.Global.Name)
}

// FW-CONFIG-9: each problem is listed once, and a file with very many does not flood a terminal.
func TestFinishLimits(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("[Global]\n" + strings.Repeat("k", 5000) + " = 1\n")
	for i := range 200 {
		fmt.Fprintf(&text, "key%d = 1\n", i)
	}
	r := config.NewResolver(parse(t, text.String()), config.Schema{})
	r.Decode("aws", &struct{ Global struct{} }{})
	r.Problems = append(r.Problems, r.Problems[0])
	problems := r.Finish()
	if len(problems) != 101 || !strings.HasSuffix(problems[100].String(), ": 101 more problems") {
		t.Errorf("%d problems, the last one is %v", len(problems), problems[len(problems)-1])
	}
	if n := len(problems[0].String()); n > 1100 {
		t.Errorf("the message about a long name has %d bytes", n)
	}
	if problems.Err() != nil || problems.Strict().Err() == nil {
		t.Error("the others have lost their severity")
	}
}
