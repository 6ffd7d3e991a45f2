package config_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// full is the configuration that both spellings of it decode to.
func full() cloud {
	want := cloud{VirtualCenter: map[string]*center{
		"east": {Connection: Connection{Server: "10.0.0.1", Password: `p#w"d\`}, Tags: config.List{"a", "b"}},
		"west": {},
	}}
	want.Global.Name = "one"
	want.Global.Token = "s3cret"
	want.Global.CAFile = "/ca.pem"
	want.Global.Count = 7
	want.Global.Insecure = true
	want.Global.Wait = config.Duration(90 * time.Second)
	want.Global.Zones = config.List{"z1", "z2"}
	want.Global.Nets = config.CIDRs{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/64")}
	want.Global.Limit = new(int32(3))

	return want
}

func TestDecodeValues(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		text   string
		want   cloud
	}{
		"INI": {
			reason: "every kind of value, in any case, with comments",
			text: `; a comment
[Global]
name = one # the first
TOKEN = "s3cret"
ca-file = /ca.pem
count = 7
insecure = yes
wait = 1m30s
zones = z1, z2,
nets = "10.1.2.3/8, fd00::/64"
limit = 3

[virtualcenter "east"]
server = 10.0.0.1
password = "p#w\"d\\"
tags = a,b
[VirtualCenter "west"]
`,
			want: full(),
		},
		"YAML": {
			reason: "the same file in camelCase, with typed values and lists",
			text: `---
global:
  name: one # the first
  token: s3cret
  caFile: /ca.pem
  count: 7
  insecure: true
  wait: 1m30s
  zones: [z1, z2]
  nets:
  - 10.1.2.3/8
  - fd00::/64
  limit: 3
vcenter:
  east:
    server: 10.0.0.1
    password: 'p#w"d\'
    tags: [a, b]
  west: {}
`,
			want: full(),
		},
		"YAML with the spellings of INI": {
			reason: "hyphens, a scalar for a list, quoted numbers, YAML's own booleans",
			text: `Global: {name: "one", token: s3cret, ca-file: /ca.pem, count: "7", insecure: on, wait: "1m30s", zones: "z1,z2", nets: "10.0.0.0/8,fd00::/64", limit: '3'}
VirtualCenter:
  east: {server: 10.0.0.1, password: "p#w\"d\\", tags: 'a, b'}
  west: {server: null, password: ~, tags: }
`,
			want: full(),
		},
		"JSON": {
			reason: "JSON is YAML",
			text: `{"global": {"name": "one", "token": "s3cret", "caFile": "/ca.pem", "count": 7, "insecure": true, "wait": "90s",
  "zones": ["z1", "z2"], "nets": ["10.0.0.0/8", "fd00::/64"], "limit": 3},
  "vcenter": {"east": {"server": "10.0.0.1", "password": "p#w\"d\\", "tags": ["a", "b"]}, "west": {}}}`,
			want: full(),
		},
		"anchors, aliases and merge keys": {
			reason: "a mapping's own keys win over merged ones",
			text: `
defaults: &defaults
  name: no
  token: s3cret
  count: 1
more: &more {count: 7, insecure: true, caFile: /ca.pem}
global:
  <<: [*more, *defaults]
  name: &one one
  wait: 90s
  zones: &zones [z1, z2]
  nets: [10.0.0.0/8, fd00::/64]
  limit: 3
vcenter:
  east:
    <<: &east {server: 10.0.0.1, tags: [a, b]}
    password: p#w"d\
  west: {}
`,
			want: full(),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got cloud
			problems := parse(t, tc.text).Decode(schema(), &got)
			if err := problems.Err(); err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			compare(t, tc.reason, tc.want, got)
		})
	}
}

// TestDecodeGcfgFacts (FW-CONFIG-5) checks the behavior of gcfg that files in
// use rely on.
func TestDecodeGcfgFacts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		text   string
		want   func(*cloud)
	}{
		"repeated multi-value": {"[]T collects", "[Global]\nhosts = a\nhosts = b\n", func(c *cloud) { c.Global.Hosts = []string{"a", "b"} }},
		"reset multi-value":    {"a blank key resets []T", "[Global]\nhosts = a\nhosts\nhosts = b\n", func(c *cloud) { c.Global.Hosts = []string{"b"} }},
		"blank bool":           {"a bare key is true", "[Global]\ninsecure\n", func(c *cloud) { c.Global.Insecure = true }},
		"quotes keep":          {"inside quotes they do not", "[Global]\ntoken = \"pass#word\"\nname = \"a;b\"\n", func(c *cloud) { c.Global.Token, c.Global.Name = "pass#word", "a;b" }},
		"escapes":              {"the four escapes", `[Global]` + "\n" + `token = "a\\b\"c\nd\te"` + "\n", func(c *cloud) { c.Global.Token = "a\\b\"c\nd\te" }},
		"equals sign":          {"= is harmless in a value", "[Global]\ntoken = a=b==\n", func(c *cloud) { c.Global.Token = "a=b==" }},
		"continued line":       {"a backslash at the end continues", "[Global]\nname = one\\\n two\n", func(c *cloud) { c.Global.Name = "one two" }},
		"hex":                  {"0x is hexadecimal, a leading 0 is not octal", "[Global]\ncount = 0x10\nlimit = 010\n", func(c *cloud) { c.Global.Count, c.Global.Limit = 16, new(int32(10)) }},
		"CRLF": {"Windows line ends", "[Global]\r\nname = a\r\ntoken = \"b\"\r\n[VirtualCenter \"x\"]\r\n", func(c *cloud) {
			c.Global.Name, c.Global.Token = "a", "b"
			c.VirtualCenter = map[string]*center{"x": {}}
		}},
		"BOM":              {"a byte order mark", "\ufeff[Global]\nname = a\n", func(c *cloud) { c.Global.Name = "a" }},
		"BOM in YAML":      {"the same", "\ufeffglobal:\n  name: a\n", func(c *cloud) { c.Global.Name = "a" }},
		"CRLF in YAML":     {"the same", "global:\r\n  name: a\r\n  token: |-\r\n    x\r\n    y\r\n", func(c *cloud) { c.Global.Name, c.Global.Token = "a", "x\ny" }},
		"no final newline": {"the last line needs none", "[Global]\nname = a", func(c *cloud) { c.Global.Name = "a" }},
		"subsections keep case": {"names in quotes are exact, escapes and blanks included", "[VirtualCenter \"A b\"]\n[VirtualCenter \"a b\"]\n[VirtualCenter \"t\tq\\\"s\\\\\"]\nserver = x\n", func(c *cloud) {
			c.VirtualCenter = map[string]*center{"A b": {}, "a b": {}, "t\tq\"s\\": {Connection: Connection{Server: "x"}}}
		}},
		"section without a name": {"gcfg keeps it under the empty name", "[VirtualCenter]\nserver = x\n", func(c *cloud) { c.VirtualCenter = map[string]*center{"": {Connection: Connection{Server: "x"}}} }},
		"unicode":                {"values are UTF-8", "[Global]\nname = Zürich\n", func(c *cloud) { c.Global.Name = "Zürich" }},
		"YAML text stays text": {"a string key takes numbers, booleans and dates as they are written", "global:\n  name: 0123\n  token: 1e3\n  caFile: 2024-01-02\nvcenter:\n  x: {server: yes, password: 12:34:56}\n", func(c *cloud) {
			c.Global.Name, c.Global.Token, c.Global.CAFile = "0123", "1e3", "2024-01-02"
			c.VirtualCenter = map[string]*center{"x": {Connection: Connection{Server: "yes", Password: "12:34:56"}}}
		}},
		"YAML list with commas": {"an item is an item, whatever is in it", "global:\n  zones: ['a,b', 'c\\', d]\n", func(c *cloud) { c.Global.Zones = config.List{"a,b", `c\`, "d"} }},
		"YAML null":             {"a null leaves a key unset", "global:\n  name:\n  token: ~\n  zones: null\n  count: 3\n", func(c *cloud) { c.Global.Count = 3 }},
		"YAML null section":     {"and a section", "global:\nvcenter:\n", func(*cloud) {}},
		"YAML empty mapping":    {"no entry is made of it", "global: {}\nvcenter: {}\n", func(*cloud) {}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got, want cloud
			tc.want(&want)
			problems := parse(t, tc.text).Decode(schema(), &got)
			compare(t, tc.reason+": problems", []string(nil), describe(problems))
			compare(t, tc.reason, want, got)
		})
	}
}

// FW-CONFIG-21: a value that may be cut and what is set twice are warnings, and errors in strict files.
func TestDecodeDoubts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, text string
		want         func(*cloud)
		problems     []string
	}{
		"key twice": {
			"the last one counts", "[Global]\nname = a\nname = b\n", func(c *cloud) { c.Global.Name = "b" },
			[]string{"warning: cloud.conf:3:1: [Global] name is set in line 2, too, and this value takes effect: remove one of them"},
		},
		"section twice": {
			"sections of one name merge", "[Global]\nname = a\n[global]\ncount = 2\n", func(c *cloud) { c.Global.Name, c.Global.Count = "a", 2 },
			[]string{"warning: cloud.conf:3:1: section [global] begins in line 1 already: write all of its keys there"},
		},
		"list twice": {
			"a List is one value", "[Global]\nzones = a\nzones = b,c\n", func(c *cloud) { c.Global.Zones = config.List{"b", "c"} },
			[]string{"warning: cloud.conf:3:1: [Global] zones is set in line 2, too, and this value takes effect: remove one of them"},
		},
		"cut": {
			"# and ; begin a comment outside quotes", "[Global]\ntoken = pass#word\nname = a;b\nca-file = \"a\"#\n",
			func(c *cloud) { c.Global.Token, c.Global.Name, c.Global.CAFile = "pass", "a", "a" },
			[]string{
				"warning: cloud.conf:2:1: [Global] token: it ends before the # in column 13, which begins a comment: if that is a part of the value, put the value in quotes",
				"warning: cloud.conf:3:1: [Global] name: it ends before the ; in column 9, which begins a comment: if that is a part of the value, put the value in quotes",
				"warning: cloud.conf:4:1: [Global] ca-file: it ends before the # in column 14, which begins a comment: if that is a part of the value, put the value in quotes",
			},
		},
		"empty": {
			"nothing is left of the value", "[Global]\ntoken = #word\n", func(*cloud) {},
			[]string{"warning: cloud.conf:2:1: [Global] token: it is empty, since # begins a comment: if it is a part of the value, put the value in quotes"},
		},
		"comments": {"a space comes before a comment, or after its mark", "[Global]\ntoken = a # word\nname =# a name\nca-file = b\t;c\n", func(c *cloud) { c.Global.Token, c.Global.CAFile = "a", "b" }, nil},
		"joined": {
			"quotes in the middle are left out", "[Global]\ntoken = \"a\"b\nname = a \"b\" c\n", func(c *cloud) { c.Global.Token, c.Global.Name = "ab", "a b c" },
			[]string{
				`warning: cloud.conf:2:1: [Global] token: its quotes are left out: put all of the value in quotes, with \" for a quote inside`,
				`warning: cloud.conf:3:1: [Global] name: its quotes are left out: put all of the value in quotes, with \" for a quote inside`,
			},
		},
		"quoted items":  {"each item of a list can have quotes", "[Global]\nzones = \"a b\", \"c\" , d\n", func(c *cloud) { c.Global.Zones = config.List{"a b", "c", "d"} }, nil},
		"escaped quote": {"is a quote", "[Global]\ntoken = a\\\"b\n", func(c *cloud) { c.Global.Token = `a"b` }, nil},
		"typographic quotes": {
			"they are text", "[Global]\nname = “a”\ntoken = 'a'\nca-file = \"'a'\"\n", func(c *cloud) { c.Global.Name, c.Global.Token, c.Global.CAFile = "“a”", "'a'", "'a'" },
			[]string{
				`warning: cloud.conf:2:1: [Global] name: its typographic quotes are a part of the value: write "value"`,
				`warning: cloud.conf:3:1: [Global] token: its single quotes are a part of the value: write "value"`,
			},
		},
		"typographic quotes in YAML": {
			"single ones are those of YAML", "global:\n  name: “a”\n  token: 'a'\n", func(c *cloud) { c.Global.Name, c.Global.Token = "“a”", "a" },
			[]string{`warning: cloud.conf:2:3: global.name: its typographic quotes are a part of the value: write "value"`},
		},
		"key of another section": {
			"where it belongs", "[Global]\ntags = a\n[VirtualCenter \"x\"]\nzones = a\n", func(c *cloud) { c.VirtualCenter = map[string]*center{"x": {}} },
			[]string{
				`warning: cloud.conf:2:1: unknown key [Global] tags, did you mean [VirtualCenter "…"] tags?`,
				`warning: cloud.conf:4:1: unknown key [VirtualCenter "x"] zones, did you mean [Global] zones?`,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got, want cloud
			tc.want(&want)
			problems := parse(t, tc.text).Decode(schema(), &got)
			compare(t, tc.reason+": problems", tc.problems, describe(problems))
			compare(t, tc.reason, want, got)
			if strict := problems.Strict().Err(); (strict != nil) != (len(tc.problems) > 0) {
				t.Errorf("%s: a strict file has the error %v", tc.reason, strict)
			}
		})
	}
}

func TestDecodeProblems(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"all at once": {
			reason: "one bad value does not hide the next",
			text:   "[Global]\ncount = many\nwait = 5\nnets = 10.0.0.0/8, 10.0.0.1\ninsecure = 2\n",
			want: []string{
				`error: cloud.conf:2:1: [Global] count: "many" must be a whole number such as 10`,
				`error: cloud.conf:3:1: [Global] wait: "5" is not a duration such as 30s or 5m`,
				`error: cloud.conf:4:1: [Global] nets: "10.0.0.1" is not an address block such as 10.0.0.0/8`,
				`error: cloud.conf:5:1: [Global] insecure: "2" must be true or false`,
			},
		},
		"all at once in YAML": {
			reason: "the same in the other format, with its names",
			text:   "global:\n  count: many\n  wait: 5\n  nets: [10.0.0.0/8, 10.0.0.1]\nvcenter:\n  dc.east:\n    tags: {a: b}\n",
			want: []string{
				`error: cloud.conf:2:3: global.count: "many" must be a whole number such as 10`,
				`error: cloud.conf:3:3: global.wait: "5" is not a duration such as 30s or 5m`,
				`error: cloud.conf:4:3: global.nets: "10.0.0.1" is not an address block such as 10.0.0.0/8`,
				`error: cloud.conf:7:5: vcenter."dc.east".tags must be a plain value or a list of them`,
			},
		},
		"blank keys": {
			reason: "only a bool can do without a value",
			text:   "[Global]\n  name\ncount\n[VirtualCenter \"x\"]\npassword\n",
			want: []string{
				"error: cloud.conf:2:3: [Global] name: needs a value",
				"error: cloud.conf:3:1: [Global] count: needs a value",
				`error: cloud.conf:5:1: [VirtualCenter "x"] password: needs a value`,
			},
		},
		"empty number": {
			reason: `soap-roundtrip-count = "" is an error`,
			text:   "[Global]\ncount = \"\"\n",
			want:   []string{`error: cloud.conf:2:1: [Global] count: needs a value`},
		},
		"did you mean": {
			reason: "a section once, each key by itself, with the nearest known name",
			text:   "[Glob]\nname = a\nfoo = b\n[Global]\nnam = a\nsomething-else = b\n[VirtualCenter \"x\"]\nserverr = c\n[glob]\n[Completely \"other\"]\n",
			want: []string{
				"warning: cloud.conf:1:1: unknown section [Glob], did you mean [Global]?",
				"warning: cloud.conf:5:1: unknown key [Global] nam, did you mean name?",
				"warning: cloud.conf:6:1: unknown key [Global] something-else",
				`warning: cloud.conf:8:1: unknown key [VirtualCenter "x"] serverr, did you mean server?`,
				`warning: cloud.conf:10:1: unknown section [Completely "other"]`,
			},
		},
		"did you mean in YAML": {
			reason: "in the spelling of YAML; what is inside of unknown names does not matter",
			text: `glob: [1, 2]
vcentre: {x: {server: y}}
global:
  cafile: a
  ca_file: a
  extra: {deep: {deeper: 1}}
  list: [{a: b}]
  binary: !!binary aGk=
vcenter:
  east:
    servr: x
    nested: {a: b}
my section: 1
2: 3
`,
			want: []string{
				"warning: cloud.conf:1:1: unknown section glob, did you mean global?",
				"warning: cloud.conf:2:1: unknown section vcentre, did you mean vcenter?",
				"warning: cloud.conf:4:3: unknown key global.cafile, did you mean caFile?",
				"warning: cloud.conf:5:3: unknown key global.ca_file, did you mean caFile?",
				"warning: cloud.conf:6:3: unknown key global.extra",
				"warning: cloud.conf:7:3: unknown key global.list, did you mean limit?",
				"warning: cloud.conf:8:3: unknown key global.binary",
				"warning: cloud.conf:11:5: unknown key vcenter.east.servr, did you mean server?",
				"warning: cloud.conf:12:5: unknown key vcenter.east.nested",
				`warning: cloud.conf:13:1: unknown section "my section"`,
				`warning: cloud.conf:14:1: unknown section 2`,
			},
		},
		"name in quotes": {
			reason: "a plain section takes none",
			text:   "[Global \"x\"]\nname = a\nname = b\n",
			want:   []string{`warning: cloud.conf:1:1: section [Global] takes no name in quotes: [Global "x"] is ignored`},
		},
		"foreign": {
			reason: "names of other programs are noted once",
			text:   "[Workspace]\nserver = a\nfolder = b\n[Global]\nservice-account = x\nservice-account = y\n[VirtualCenter \"x\"]\ndatastore = z\n[workspace]\n",
			want: []string{
				"note: cloud.conf:1:1: [Workspace] is ignored: the in-tree provider reads it",
				"note: cloud.conf:5:1: [Global] service-account is ignored: it is no longer used",
				`note: cloud.conf:8:1: [VirtualCenter "x"] datastore is ignored: the CSI driver reads it`,
			},
		},
		"foreign in YAML": {
			reason: "whatever is in them",
			text:   "workspace: [a]\nglobal: {serviceAccount: {a: b}}\nvcenter: {x: {datastore: [[]]}}\n",
			want: []string{
				"note: cloud.conf:1:1: workspace is ignored: the in-tree provider reads it",
				"note: cloud.conf:2:10: global.serviceAccount is ignored: it is no longer used",
				"note: cloud.conf:3:15: vcenter.x.datastore is ignored: the CSI driver reads it",
			},
		},
		"mappings": {
			reason: "a mapping is the value of a key that takes one, and of no other key",
			text:   "global:\n  labels: {aB: x, c: \"1\"}\n  count: {a: b}\nunknown: {a: {b: c}}\n",
			want: []string{
				"error: cloud.conf:3:3: global.count must be a plain value, not a mapping",
				"warning: cloud.conf:4:1: unknown section unknown",
			},
		},
		"mapping of no texts": {
			reason: "what is nested, or null",
			text:   "global:\n  labels: {a: {b: c}}\n",
			want:   []string{"error: cloud.conf:2:3: global.labels must be a mapping of names to texts"},
		},
		"shapes that YAML allows": {
			reason: "null entries, lists and mappings where a plain value belongs",
			text: `global:
  name: [a]
  token: [s3cret]
  count: {a: b}
  caFile: !!binary aGk=
vcenter:
  east:
  west: text
  south: [a]
  north:
    server: [a, b]
    password: {s3cret}
    tags: [a, [b]]
`,
			want: []string{
				"error: cloud.conf:2:3: global.name must be a plain value, not a list",
				"error: cloud.conf:3:3: global.token must be a plain value, not a list",
				"error: cloud.conf:4:3: global.count must be a plain value, not a mapping",
				"error: cloud.conf:5:3: global.caFile must be text, not !!binary",
				"error: cloud.conf:7:3: vcenter.east is empty (null)",
				"error: cloud.conf:8:3: vcenter.west must be a mapping of keys to values",
				"error: cloud.conf:9:3: vcenter.south must be a mapping of keys to values",
				"error: cloud.conf:11:5: vcenter.north.server must be a plain value, not a list",
				"error: cloud.conf:12:5: vcenter.north.password must be a plain value or a list of them",
				"error: cloud.conf:13:5: vcenter.north.tags must be a list of plain values, the item in line 13 is none",
			},
		},
		"section that is no mapping": {
			reason: "a known section must be one",
			text:   "global: text\nvcenter: [a]\n",
			want: []string{
				"error: cloud.conf:1:1: global must be a mapping of keys to values",
				"error: cloud.conf:2:1: vcenter must be a mapping of keys to values",
			},
		},
		"password that needed quotes": {
			reason: "a value that YAML takes for a mapping or a list is not shown",
			text:   "global:\n  token: {hunter2}\n",
			want:   []string{"error: cloud.conf:2:3: global.token must be a plain value, not a mapping"},
		},
		"control characters": {
			reason: "gcfg cannot express them",
			text:   "global:\n  name: \"a\\0b\"\n  token: \"a\\rb\"\n",
			want: []string{
				"error: cloud.conf:2:3: global.name must not contain the control character U+0000",
				"error: cloud.conf:3:3: global.token must not contain the control character U+000D",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, tc.reason, tc.want, describe(parse(t, tc.text).Decode(schema(), new(cloud))))
		})
	}
}

func TestDecodeSeveralTargets(t *testing.T) {
	t.Parallel()
	const text = "[Global]\nprovider = vsphere\nname = a\nnothing = b\n[Controllers]\nkube-api-qps = 5\nkube-api-burst = x\n"
	settings, own := config.NewSettings(), new(cloud)
	problems := parse(t, text).Decode(schema(), settings, own)
	compare(t, "what no target has, and what one cannot take", []string{
		"warning: cloud.conf:4:1: unknown key [Global] nothing",
		`error: cloud.conf:7:1: [Controllers] kube-api-burst: "x" must be a whole number up to 2147483647`,
	}, describe(problems))
	compare(t, "provider", "vsphere", settings.Global.Provider)
	compare(t, "qps", float32(5), *settings.Controllers.KubeAPIQPS)
	compare(t, "name", "a", own.Global.Name)
}

func TestSet(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		name   config.Name
		value  string
		want   func(*cloud)
		err    string
	}{
		"text":            {"nothing in it means anything to gcfg", config.Name{Section: "Global", Key: "token"}, "p#w;d\"\\ =[x]\n\ty ", func(c *cloud) { c.Global.Token = "p#w;d\"\\ =[x]\n\ty " }, ""},
		"number":          {"read as in a file", config.Name{Section: "Global", Key: "count"}, "0x10", func(c *cloud) { c.Global.Count = 16 }, ""},
		"list":            {"read as in a file", config.Name{Section: "Global", Key: "zones"}, "a, b", func(c *cloud) { c.Global.Zones = config.List{"a", "b"} }, ""},
		"subsection":      {"made where there is none", config.Name{Section: "VirtualCenter", Sub: `a "b"`, Key: "server"}, "x", func(c *cloud) { c.VirtualCenter = map[string]*center{`a "b"`: {Connection: Connection{Server: "x"}}} }, ""},
		"bad value":       {"the cause alone", config.Name{Section: "Global", Key: "count"}, "many", func(*cloud) {}, `"many" must be a whole number such as 10`},
		"empty value":     {"the cause alone", config.Name{Section: "Global", Key: "count"}, "", func(*cloud) {}, "needs a value"},
		"bad character":   {"gcfg cannot express it", config.Name{Section: "Global", Key: "token"}, "a\rb", func(*cloud) {}, "must not contain the control character U+000D"},
		"unknown key":     {"nothing takes it", config.Name{Section: "Global", Key: "foo"}, "x", func(*cloud) {}, "no such key: [Global] foo"},
		"unknown section": {"nothing takes it", config.Name{Section: "Foo", Key: "foo"}, "x", func(*cloud) {}, "no such key: [Foo] foo"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got, want cloud
			tc.want(&want)
			err := config.Set(&got, tc.name, tc.value)
			if (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
				t.Errorf("%s: want error %q, got %v", tc.reason, tc.err, err)
			}
			compare(t, tc.reason, want, got)
		})
	}
}

// A mapping in YAML has the names as they are written, and is where it is in the file.
func TestMapping(t *testing.T) {
	t.Parallel()
	got, file := new(cloud), parse(t, "global:\n  labels: {aB: x, \"c d\": \"{\\\"\"}\n")
	if problems := file.Decode(schema(), got); len(problems) > 0 {
		t.Error(describe(problems))
	}
	compare(t, "names are not converted", labels{"aB": "x", "c d": `{"`}, got.Global.Labels)
	compare(t, "place", "cloud.conf:2:3", file.At(schema(), config.Name{Section: "Global", Key: "labels"}).String())
}

func TestProblems(t *testing.T) {
	t.Parallel()
	problems := parse(t, "[Glob]\n[Workspace]\n[Global]\nnam = a\n").Decode(schema(), new(cloud))
	if err := problems.Err(); err != nil {
		t.Errorf("warnings and notes prevent no start, got: %v", err)
	}
	compare(t, "strict makes unknown names errors, and nothing else", []string{
		"error: cloud.conf:1:1: unknown section [Glob], did you mean [Global]?",
		"note: cloud.conf:2:1: [Workspace] is ignored: the in-tree provider reads it",
		"error: cloud.conf:4:1: unknown key [Global] nam, did you mean name?",
	}, describe(problems.Strict()))
	if problems[0].Severity != config.Warning {
		t.Error("Strict changed the problems it was called on")
	}
	err := problems.Strict().Err()
	if err == nil {
		t.Fatal("Strict: no error")
	}
	compare(t, "one line for each error", []string{
		"cloud.conf:1:1: unknown section [Glob], did you mean [Global]?",
		"cloud.conf:4:1: unknown key [Global] nam, did you mean name?",
	}, strings.Split(err.Error(), "\n"))

	var own config.Problems
	own.Warnf(config.Position{}, "environment %s", "X")
	own.Errorf(config.Position{Path: "cloud.conf"}, "empty")
	compare(t, "places that are no lines", []string{"warning: environment X", "error: cloud.conf: empty"}, describe(own))
}
