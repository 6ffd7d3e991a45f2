package config_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gopkg.in/gcfg.v1"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// FuzzParse: no file makes the reader panic, every problem has its place, and an
// INI file decodes entry by entry to what gcfg makes of it as a whole.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "# c\n", "[Global]\nname = a\ntoken = \"p#w\\\"\\\\\"\ncount = 0x1F\ninsecure\nzones = a,b\nlimit = 3\nhosts = a\nhosts\n",
		"[VirtualCenter \"a\tb\\\"c\\\\\"]\r\nserver = x \\\r\n y\r\n[virtualcenter]\npassword = \"\"\n", "\ufeff[Global]\nwait = 5\nnets = 10.0.0.0/8\n",
		"[Global \"x\"]\nname = a\n[Glob]\nx\n", "[Gſobal]\nname = é\n", "[Global]\nname = a\\\nb\n",
		"global:\n  name: a\n  zones: [a, 'b,c', \"d\\\\\"]\nvcenter:\n  east: {server: 1.2.3.4, password: ~}\n  west:\n",
		"a: &a {k: v}\nglobal:\n  <<: [*a, *a]\n  count: {x: y}\n", "{\"global\": {\"name\": \"a\\u0000\"}}", "---\nglobal: !!binary aGk=\n...\n---\n",
		"? a\n: b\n", "global: &g\n  <<: *g\n", "&a a: *a\n", "global: {name: &x [*x]}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := config.Parse("cloud.conf", data)
		if err != nil {
			return
		}
		var got cloud
		problems := file.Decode(config.Schema{}, &got)
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + strings.Count(string(data), "\u0085") +
			strings.Count(string(data), "\u2028") + strings.Count(string(data), "\u2029") + 1
		for _, problem := range problems {
			if at := problem.Position; at.Path != "cloud.conf" || at.Line < 1 || at.Line > lines || at.Column < 1 {
				t.Errorf("%q has no place: %+v", problem.Message, at)
			}
		}
		for _, setting := range file.Explain(config.Schema{}, nil, &got) {
			_ = file.Spell(config.Schema{}, setting.Name)
		}
		// With a schema the same file must do as well.
		_ = file.Decode(schema(), new(cloud), config.NewSettings())
		if file.Format == config.INI {
			compareWithGcfg(t, strings.TrimPrefix(string(data), "\ufeff"), problems, got)
		}
	})
}

func compareWithGcfg(t *testing.T, text string, problems config.Problems, got cloud) {
	t.Helper()
	var want cloud
	err := gcfg.FatalOnly(gcfg.ReadInto(&want, strings.NewReader(text)))
	if (err == nil) != (problems.Err() == nil) {
		t.Fatalf("gcfg returns %v, we return %v", err, problems.Err())
	}
	if err != nil {
		return // what was set before the error differs: gcfg stops at the first
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("-gcfg +ours:\n%s", diff)
	}
}

// FuzzSelect: a choice is a registered name or an error, never both, and no file
// makes it panic.
func FuzzSelect(f *testing.F) {
	f.Add("[Global]\nprovider = aws\n", "", false)
	f.Add("[Global]\nprovider = vsphere\n", "aws", true)
	f.Add("global: {provider: vsphere}\n", "external", true)
	f.Add("[Global", "openstack", true)
	f.Add("[Global]\nprovider\n", "AWS", true)
	registered := []string{"aws", "openstack", "vsphere"}
	f.Fuzz(func(t *testing.T, text, flag string, set bool) {
		file, parseErr := config.Parse("cloud.conf", []byte(text))
		name, err := config.Select(file, parseErr, config.Flag{Value: flag, Set: set}, registered)
		if (err == nil) != slices.Contains(registered, name) {
			t.Fatalf("got %q, %v", name, err)
		}
		if err == nil && set && flag != "" && name != flag {
			t.Fatalf("the flag is %q, got %q", flag, name)
		}
	})
}

// FuzzSecretNeverShown: whatever a password looks like and whatever that breaks
// in the file, no message shows it.
func FuzzSecretNeverShown(f *testing.F) {
	for _, around := range [][2]string{
		{"", ""},
		{`"`, `"`},
		{`"`, ""},
		{"'", "'"},
		{"{", "}"},
		{"{", ""},
		{"[", "]"},
		{"*", ""},
		{"&", ""},
		{"&", " *b"},
		{"!", " x"},
		{"!!", ""},
		{"|", ""},
		{"> ", ""},
		{"%", ""},
		{"@", ""},
		{"`", "`"},
		{"#", ""},
		{"; ", ""},
		{`\`, `\`},
		{`DOMAIN\`, ""},
		{"a: ", ": b"},
		{"? ", ""},
		{"- ", ""},
		{"<<: ", ""},
		{"{<<: ", "}"},
		{"\x00", ""},
		{"\xff", ""},
		{"*'", "'"},
		{`"\x0`, `"`},
		{"] ", "["},
		{"\ufeff", "\t"},
		{"!<", ">"},
		{"{a: [", "]}"},
	} {
		f.Add(around[0], around[1])
	}
	const marker = "hunter2marker"
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.ContainsAny(before+after, "\n\r\u0085\u2028\u2029") {
			return // it is no longer the value of that key
		}
		value := before + marker + after
		for _, text := range []string{
			"[Global]\nname = a\ntoken = " + value + "\ncount = x\nunknown\n[VirtualCenter \"east\"]\npassword = " + value + "\n",
			"global:\n  name: a\n  token: " + value + "\n  count: x\n  unknown: 1\n",
			"vcenter:\n  east:\n    server: a\n    password: " + value + "\n    unknown: 1\n",
		} {
			for _, shown := range everythingShown(text) {
				if strings.Contains(strings.ToLower(shown), marker) {
					t.Errorf("%q: shown in %q", text, shown)
				}
			}
		}
	})
}

// everythingShown is all output of the package about a file.
func everythingShown(text string) []string {
	var shown []string
	file, err := config.Parse("cloud.conf", []byte(text))
	if err != nil {
		_, selectErr := config.Select(nil, err, config.Flag{}, []string{"aws"})

		return []string{err.Error(), fmt.Sprint(selectErr)}
	}
	own, settings := new(cloud), config.NewSettings()
	problems := file.Decode(schema(), own, settings)
	shown = append(shown, describe(problems.Strict())...)
	for _, s := range file.Explain(schema(), nil, own, settings) {
		if key := s.Name.Key; key == "token" || key == "password" {
			shown = append(shown, s.Value)
		}
	}
	_, selectErr := config.Select(file, nil, config.Flag{}, []string{"aws"})
	dump, _ := json.Marshal(struct{ Token, Password any }{own.Global.Token, own.VirtualCenter})

	return append(shown, fmt.Sprint(selectErr), fmt.Sprintf("%#v", own.Global.Token), string(dump))
}
