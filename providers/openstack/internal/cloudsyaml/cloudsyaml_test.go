package cloudsyaml_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/cloudsyaml"
)

// files returns a reader of these files, by path.
func files(content map[string]string) cloudsyaml.Reader {
	return func(path string) ([]byte, error) {
		switch text, ok := content[path]; {
		case !ok:
			return nil, fs.ErrNotExist
		case text == "denied":
			return nil, fs.ErrPermission
		case text == "broken":
			return nil, errors.New("input/output error")
		default:
			return []byte(text), nil
		}
	}
}

// everywhere has all places.
var everywhere = cloudsyaml.Places{File: "/etc/config/clouds.yaml", WorkingDirectory: "/srv", Home: "/home/user"}

// one is a file with one cloud that is in a region.
func one(name, region string) string {
	return fmt.Sprintf("clouds:\n  %s:\n    region_name: %s\n", name, region)
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		places  cloudsyaml.Places
		content map[string]string
		want    string
		err     string
	}{
		"file":                        {"the named file comes first", everywhere, map[string]string{"/etc/config/clouds.yaml": one("a", "file"), "/srv/clouds.yaml": one("a", "work")}, "file", ""},
		"missing file":                {"the next place is used if it does not exist", everywhere, map[string]string{"/srv/clouds.yaml": one("a", "work"), "/home/user/.config/openstack/clouds.yaml": one("a", "home")}, "work", ""},
		"home":                        {"before /etc", everywhere, map[string]string{"/home/user/.config/openstack/clouds.yaml": one("a", "home"), "/etc/openstack/clouds.yaml": one("a", "site")}, "home", ""},
		"site":                        {"the last directory", everywhere, map[string]string{"/etc/openstack/clouds.yaml": one("a", "site")}, "site", ""},
		"yml":                         {"the other end of the name counts", everywhere, map[string]string{"/etc/openstack/clouds.yml": one("a", "yml")}, "yml", ""},
		"yml after yaml":              {"in all directories", everywhere, map[string]string{"/srv/clouds.yml": one("a", "yml"), "/etc/openstack/clouds.yaml": one("a", "yaml")}, "yaml", ""},
		"no directories":              {"only /etc is left", cloudsyaml.Places{}, map[string]string{"/etc/openstack/clouds.yaml": one("a", "site"), "clouds.yaml": one("a", "x")}, "site", ""},
		"denied directory":            {"a home that cannot be read has no file", everywhere, map[string]string{"/home/user/.config/openstack/clouds.yaml": "denied", "/etc/openstack/clouds.yaml": one("a", "site")}, "site", ""},
		"denied file":                 {"a named file must be readable", everywhere, map[string]string{"/etc/config/clouds.yaml": "denied", "/etc/openstack/clouds.yaml": one("a", "site")}, "", "read /etc/config/clouds.yaml: permission denied"},
		"broken":                      {"another error is not skipped", everywhere, map[string]string{"/srv/clouds.yaml": "broken", "/etc/openstack/clouds.yaml": one("a", "site")}, "", "read /srv/clouds.yaml: input/output error"},
		"broken secure":               {"in any file", everywhere, map[string]string{"/srv/clouds.yaml": one("a", "work"), "/srv/secure.yaml": "broken"}, "", "read /srv/secure.yaml: input/output error"},
		"secure beside file":          {"after the directories", everywhere, map[string]string{"/etc/config/clouds.yaml": one("a", "file"), "/etc/config/secure.yaml": one("a", "beside")}, "beside", ""},
		"secure in directories first": {"as other clients look for it", everywhere, map[string]string{"/etc/config/clouds.yaml": one("a", "file"), "/etc/config/secure.yaml": one("a", "beside"), "/etc/openstack/secure.yml": one("a", "yml"), "/srv/secure.yaml": one("a", "work")}, "work", ""},
		"none":                        {"the error lists the places", cloudsyaml.Places{WorkingDirectory: "/srv"}, nil, "", "no clouds.yaml exists, looked for /srv/clouds.yaml, /etc/openstack/clouds.yaml, /srv/clouds.yml, /etc/openstack/clouds.yml: file does not exist"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud, err := cloudsyaml.Load(tc.places, "a", files(tc.content))
			if text := message(err); text != tc.err {
				t.Fatalf("%s: want %q, got %q", tc.reason, tc.err, text)
			}
			if err == nil && cloud.Text(cloudsyaml.RegionName) != tc.want {
				t.Errorf("%s: want %s, got %s", tc.reason, tc.want, cloud.Text(cloudsyaml.RegionName))
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}

	return err.Error()
}

// Each file that has an influence is in Paths, which are watched.
func TestPaths(t *testing.T) {
	t.Parallel()
	var opened []string
	read := func(path string) ([]byte, error) {
		opened = append(opened, path)
		if path == "/etc/openstack/clouds.yml" {
			return []byte("clouds: {a: {profile: p}}"), nil
		}

		return nil, fs.ErrNotExist
	}
	if _, err := cloudsyaml.Load(everywhere, "", read); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load() = %v, want %v", err, fs.ErrNotExist)
	}
	if diff := cmp.Diff(opened, everywhere.Paths()); diff != "" {
		t.Errorf("Paths (-opened +listed):\n%s", diff)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	const clouds, secure, public = "/srv/clouds.yaml", "/srv/secure.yaml", "/srv/clouds-public.yaml"
	cases := map[string]struct {
		reason  string
		name    string
		content map[string]string
		want    map[cloudsyaml.Key]string
		places  map[cloudsyaml.Key]string
		err     string
	}{
		"everything": {
			reason: "each key is read",
			content: map[string]string{clouds: `clouds:
  mine:
    auth:
      auth_url: https://keystone
      username: u
      user_id: ui
      password: p
      project_id: pi
      project_name: pn
      domain_id: di
      domain_name: dn
      default_domain: dd
      project_domain_id: pdi
      project_domain_name: pdn
      user_domain_id: udi
      user_domain_name: udn
      trust_id: ti
      application_credential_id: aci
      application_credential_name: acn
      application_credential_secret: acs
      token: t
    auth_type: password
    region_name: r
    endpoint_type: internal
    interface: admin
    verify: false
    cacert: /ca
    cert: /cert
    key: /key
`},
			want: map[cloudsyaml.Key]string{
				cloudsyaml.AuthURL: "https://keystone", cloudsyaml.Username: "u", cloudsyaml.UserID: "ui", cloudsyaml.Password: "p",
				cloudsyaml.ProjectID: "pi", cloudsyaml.ProjectName: "pn", cloudsyaml.DomainID: "di", cloudsyaml.DomainName: "dn",
				cloudsyaml.DefaultDomain: "dd", cloudsyaml.ProjectDomainID: "pdi", cloudsyaml.ProjectDomainName: "pdn",
				cloudsyaml.UserDomainID: "udi", cloudsyaml.UserDomainName: "udn", cloudsyaml.TrustID: "ti",
				cloudsyaml.ApplicationCredentialID: "aci", cloudsyaml.ApplicationCredentialName: "acn",
				cloudsyaml.ApplicationCredentialSecret: "acs", cloudsyaml.Token: "t", cloudsyaml.AuthType: "password",
				cloudsyaml.RegionName: "r", cloudsyaml.EndpointType: "internal", cloudsyaml.Interface: "admin",
				cloudsyaml.Verify: "false", cloudsyaml.CACert: "/ca", cloudsyaml.Cert: "/cert", cloudsyaml.ClientKey: "/key",
			},
		},
		"scalars": {
			reason:  "what looks like a number, a boolean or a date is the text that is written",
			content: map[string]string{clouds: "clouds: {a: {auth: {project_id: 0123, username: 1e3, password: 2026-01-02, domain_id: yes, user_id: 0x1f, token: \"#;\"}}}"},
			want: map[cloudsyaml.Key]string{
				cloudsyaml.ProjectID: "0123", cloudsyaml.Username: "1e3", cloudsyaml.Password: "2026-01-02",
				cloudsyaml.DomainID: "yes", cloudsyaml.UserID: "0x1f", cloudsyaml.Token: "#;",
			},
		},
		"unknown keys": {
			reason:  "are ignored, whatever they are",
			content: map[string]string{clouds: "client: [1]\ncache: {}\nclouds: {a: {region_name: r, regions: [x, {name: y}], networks: {a: b}, auth: {foo: [bar]}}}"},
			want:    map[cloudsyaml.Key]string{cloudsyaml.RegionName: "r"},
		},
		"empty values": {
			reason:  "count as not set",
			content: map[string]string{clouds: "clouds: {a: {region_name: '', interface: null, cert: ~, auth: }}"},
			want:    map[cloudsyaml.Key]string{},
		},
		"named": {
			reason: "of several", name: "b",
			content: map[string]string{clouds: "clouds: {a: {region_name: ra}, b: {region_name: rb}}"},
			want:    map[cloudsyaml.Key]string{cloudsyaml.RegionName: "rb"},
		},
		"anchors": {
			reason: "aliases and merge keys are resolved", name: "b",
			content: map[string]string{clouds: "x: &x {username: u, password: p}\nclouds:\n  a: &a {region_name: ra, auth: &auth {<<: *x, password: q}}\n  b: {<<: *a, interface: &i admin, endpoint_type: *i}\n"},
			want: map[cloudsyaml.Key]string{
				cloudsyaml.RegionName: "ra", cloudsyaml.Interface: "admin", cloudsyaml.EndpointType: "admin",
				cloudsyaml.Username: "u", cloudsyaml.Password: "q",
			},
		},
		"secure": {
			reason: "secure.yaml takes precedence, but for its empty values", name: "a",
			content: map[string]string{
				clouds: "clouds:\n  a: {region_name: r, auth: {username: u, password: old}}\n",
				secure: "clouds:\n  a: {region_name: '', auth: {password: new}}\n  b: {}\n",
			},
			want:   map[cloudsyaml.Key]string{cloudsyaml.RegionName: "r", cloudsyaml.Username: "u", cloudsyaml.Password: "new"},
			places: map[cloudsyaml.Key]string{cloudsyaml.Username: clouds + ":2", cloudsyaml.Password: secure + ":2"},
		},
		"secure of the only cloud": {
			reason:  "is found without a name",
			content: map[string]string{clouds: "clouds: {a: {auth: {username: u}}}", secure: "clouds: {a: {auth: {password: p}}, b: {}}"},
			want:    map[cloudsyaml.Key]string{cloudsyaml.Username: "u", cloudsyaml.Password: "p"},
		},
		"secure of another cloud": {
			reason:  "is not used",
			content: map[string]string{clouds: "clouds: {a: {auth: {username: u}}}", secure: "clouds: {b: {auth: {password: p}}}"},
			want:    map[cloudsyaml.Key]string{cloudsyaml.Username: "u"},
		},
		"only in secure": {
			reason: "a cloud need not be in clouds.yaml", name: "b",
			content: map[string]string{clouds: "clouds: {a: {}}", secure: "clouds: {b: {auth: {password: p}}}"},
			want:    map[cloudsyaml.Key]string{cloudsyaml.Password: "p"},
		},
		"only cloud in secure": {
			reason:  "without a name either, if clouds.yaml has none",
			content: map[string]string{clouds: "clouds:\n", secure: "clouds: {b: {auth: {password: p}}}"},
			want:    map[cloudsyaml.Key]string{cloudsyaml.Password: "p"},
		},
		"profile": {
			reason: "clouds-public.yaml has the lowest precedence",
			content: map[string]string{
				clouds: "clouds: {a: {profile: vendor, cloud: other, region_name: mine, auth: {username: u}}}",
				public: "public-clouds: {vendor: {region_name: r, interface: internal, auth: {auth_url: https://vendor, username: x}}}",
			},
			want: map[cloudsyaml.Key]string{
				cloudsyaml.RegionName: "mine", cloudsyaml.Interface: "internal", cloudsyaml.AuthURL: "https://vendor", cloudsyaml.Username: "u",
			},
		},
		"cloud": {
			reason: "is another name of profile",
			content: map[string]string{
				clouds: "clouds: {a: {cloud: vendor}}", public: "public-clouds: {vendor: {region_name: r}}", secure: "clouds: {a: {region_name: s}}",
			},
			want: map[cloudsyaml.Key]string{cloudsyaml.RegionName: "s"},
		},
		"no clouds-public.yaml": {
			reason:  "a profile needs one",
			content: map[string]string{clouds: "clouds:\n  a:\n    profile: vendor\n"},
			err: clouds + `:3: no clouds-public.yaml exists with the profile "vendor", looked for /srv/clouds-public.yaml, ` +
				"/etc/openstack/clouds-public.yaml, /srv/clouds-public.yml, /etc/openstack/clouds-public.yml: file does not exist",
		},
		"unknown profile":   {"is an error", "", map[string]string{clouds: "clouds: {a: {profile: vendor}}", public: "public-clouds: {b: {}}"}, nil, nil, clouds + ":1: " + public + ` has no profile "vendor"`},
		"several":           {"one must be named", "", map[string]string{clouds: "clouds: {b: {}, a: {}}"}, nil, nil, clouds + ": it has several clouds and none is selected, known are: a, b"},
		"unknown":           {"the error lists the clouds", "c", map[string]string{clouds: "clouds: {b: {}, a: {}}", secure: "clouds: {d: {}}"}, nil, nil, clouds + `: no cloud "c", known are: a, b, d`},
		"no cloud":          {"is an error", "", map[string]string{clouds: "clouds: {}"}, nil, nil, clouds + ": it has no cloud"},
		"empty file":        {"is an error", "", map[string]string{clouds: "# nothing\n"}, nil, nil, clouds + ": it has no cloud"},
		"no mapping":        {"is an error", "", map[string]string{clouds: "clouds: [a]"}, nil, nil, clouds + ":1: clouds must be a mapping"},
		"text":              {"is an error", "", map[string]string{clouds: "password"}, nil, nil, clouds + ":1: the file must be a mapping"},
		"cloud of text":     {"is an error", "", map[string]string{clouds: "clouds:\n  a: password\n"}, nil, nil, clouds + `:2: cloud "a" must be a mapping`},
		"auth of text":      {"is an error", "", map[string]string{clouds: "clouds:\n  a:\n    auth: password\n"}, nil, nil, clouds + `:3: cloud "a": auth must be a mapping`},
		"list":              {"is no text", "", map[string]string{clouds: "clouds:\n  a:\n    auth:\n      password: [hunter2]\n"}, nil, nil, clouds + `:4: cloud "a": auth.password must be text`},
		"binary":            {"is no text", "", map[string]string{clouds: "clouds: {a: {auth: {password: !!binary aHVudGVyMg==}}}"}, nil, nil, clouds + `:1: cloud "a": auth.password must be text`},
		"not YAML":          {"the error has the line, not the text", "", map[string]string{clouds: "clouds:\n  a: 'hunter2\n"}, nil, nil, clouds + ":2: found unexpected end of stream"},
		"twice":             {"is an error", "", map[string]string{clouds: "clouds:\n  a: {auth: {password: x, password: y}}\n"}, nil, nil, clouds + ":2: mapping key (text) already defined at line 2"},
		"bad public":        {"is an error", "", map[string]string{clouds: "clouds: {a: {profile: p}}", public: "public-clouds: {p: {auth: 1}}"}, nil, nil, public + `:1: cloud "p": auth must be a mapping`},
		"bad public file":   {"is an error", "", map[string]string{clouds: "clouds: {a: {profile: p}}", public: "{"}, nil, nil, public + ":1: did not find expected node content"},
		"bad secure":        {"is an error", "a", map[string]string{clouds: one("a", "r"), secure: "clouds: {a: 1}"}, nil, nil, secure + `:1: cloud "a" must be a mapping`},
		"verify of text":    {"is an error", "a", map[string]string{clouds: "clouds: {a: {verify: /etc/ca.pem}}"}, nil, nil, clouds + `:1: cloud "a": verify must be true or false`},
		"public of a cloud": {"is not used without a profile", "", map[string]string{clouds: "clouds: {a: {region_name: r}}", public: "{"}, map[cloudsyaml.Key]string{cloudsyaml.RegionName: "r"}, nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud, err := cloudsyaml.Load(cloudsyaml.Places{WorkingDirectory: "/srv"}, tc.name, files(tc.content))
			if text := message(err); text != tc.err {
				t.Fatalf("%s: want %q, got %q", tc.reason, tc.err, text)
			}
			if err != nil {
				return
			}
			got := map[cloudsyaml.Key]string{}
			for key, value := range cloud.Values {
				if key != "profile" && key != "cloud" {
					got[key] = value.Text.Reveal()
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			for key, want := range tc.places {
				if at := cloud.Values[key].At(); at != want {
					t.Errorf("%s: %s: want %s, got %s", tc.reason, key, want, at)
				}
			}
		})
	}
}

// TestUnknown (OS-AUTH-7): keys of auth that are not read are listed, with their places.
func TestUnknown(t *testing.T) {
	t.Parallel()
	cloud, err := cloudsyaml.Load(cloudsyaml.Places{WorkingDirectory: "/srv"}, "", files(map[string]string{
		"/srv/clouds.yaml": "clouds:\n  a:\n    profile: p\n    rating: 5\n    auth:\n      username: u\n      pasword: hunter2\n      auth_uri: x\n",
		"/srv/secure.yaml": "clouds: {a: {auth: {token: t, secret: x}}}", "/srv/clouds-public.yaml": "public-clouds: {p: {auth: {site: x}}}",
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, unknown := range cloud.Unknown {
		got = append(got, unknown.Text.Reveal()+" "+unknown.At())
	}
	want := []string{"auth.auth_uri /srv/clouds.yaml:8", "auth.pasword /srv/clouds.yaml:7", "auth.secret /srv/secure.yaml:1", "auth.site /srv/clouds-public.yaml:1"}
	if diff := cmp.Diff(want, got); diff != "" || cloud.At() != "/srv/clouds.yaml:3" {
		t.Errorf("unknown keys of the cloud at %s: %s", cloud.At(), diff)
	}
}

func TestInsecure(t *testing.T) {
	t.Parallel()
	cases := map[string]bool{"": false, "true": false, "yes": false, "false": true, "False": true, "no": true, "off": true, "'false'": true}
	for text, want := range cases {
		cloud, err := cloudsyaml.Load(cloudsyaml.Places{}, "", files(map[string]string{"/etc/openstack/clouds.yaml": "clouds: {a: {verify: " + text + "}}"}))
		if err != nil {
			t.Fatal(err)
		}
		if got := cloud.Insecure(); got != want {
			t.Errorf("verify: %s: want %v, got %v", text, want, got)
		}
	}
}

// FuzzLoad: no file makes the reader panic, and no error and no value that is printed
// shows a password.
func FuzzLoad(f *testing.F) {
	const marker = "hunter2marker"
	f.Add("clouds: {a: {auth: {password: hunter2marker}}}", "clouds: {a: {}}", "")
	f.Add("clouds:\n  a: &a\n    auth: {password: 'hunter2marker'\n", "clouds: *a", "a")
	f.Add("clouds: {a: {profile: p, auth: {<<: {password: hunter2marker}}}}", "public-clouds: {p: {auth: [hunter2marker]}}", "a")
	f.Add("a: &a {a: *a}\nclouds: *a", "clouds: !!binary x", "b")
	f.Fuzz(func(t *testing.T, clouds, other, name string) {
		if strings.Contains(name, marker) {
			return
		}
		read := files(map[string]string{
			"/etc/openstack/clouds.yaml": clouds, "/etc/openstack/secure.yaml": other, "/etc/openstack/clouds-public.yaml": other,
		})
		cloud, err := cloudsyaml.Load(cloudsyaml.Places{}, name, read)
		if err != nil {
			return
		}
		if cloud.Name == "" && name != "" || cloud.Path == "" {
			t.Errorf("the cloud has no name or path: %+v", cloud)
		}
		for key, value := range cloud.Values {
			if value.Text == "" || value.Path == "" || value.Line == 0 {
				t.Errorf("%s is not complete: %+v", key, value)
			}
		}
		if shown := fmt.Sprintf("%+v %#v", cloud.Values, cloud.Values); strings.Contains(shown, marker) {
			t.Errorf("a password is shown: %s", shown)
		}
	})
}
