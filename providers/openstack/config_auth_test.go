package openstack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// defaultProject is what a warning says of a password beside an application credential.
const defaultProject = "Together they log in to the default project of the user: remove one of them"

// TestCredentials (OS-AUTH-6) goes through the methods to log in and their contradictions.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const project = "tenant-id = i\n"
	cases := map[string]struct {
		reason string
		text   string // after auth-url, in line 3
		want   client.Credentials
		errs   []string
	}{
		"user": {
			"name, domain, project", "username = u\npassword = p\nuser-domain-name = ud\ntenant-name = t\ntenant-domain-id = td\n",
			client.Credentials{Username: "u", Password: "p", UserDomainName: "ud", ProjectName: "t", ProjectDomainID: "td"},
			nil,
		},
		"default domain": {
			"of both", "username = u\npassword = p\ndomain-id = d\ntenant-name = t\n",
			client.Credentials{Username: "u", Password: "p", UserDomainID: "d", ProjectName: "t", ProjectDomainID: "d"},
			nil,
		},
		"default domain by ID and name": {
			"the ID is used", "username = u\npassword = p\ndomain-id = d\ndomain-name = dn\n" + project,
			client.Credentials{Username: "u", Password: "p", UserDomainID: "d", ProjectID: "i"},
			nil,
		},
		"own domain": {
			"before the default", "username = u\npassword = p\ndomain-id = d\nuser-domain-name = ud\ntenant-name = t\n",
			client.Credentials{Username: "u", Password: "p", UserDomainName: "ud", ProjectName: "t", ProjectDomainID: "d"},
			nil,
		},
		"project by ID and name": {
			"the ID is used, without a domain", "username = u\npassword = p\ndomain-id = d\ntenant-name = t\ntenant-id = i\n",
			client.Credentials{Username: "u", Password: "p", UserDomainID: "d", ProjectID: "i"},
			nil,
		},
		"user ID": {
			"has no domain, although the project has one", "user-id = ui\npassword = p\ndomain-id = d\ntenant-name = t\n",
			client.Credentials{UserID: "ui", Password: "p", ProjectName: "t", ProjectDomainID: "d"},
			nil,
		},
		"user ID and name": {
			"contradict", "user-id = ui\nusername = u\npassword = p\n" + project,
			client.Credentials{Password: "p", ProjectID: "i"},
			[]string{"error: 3:1: [Global] user-id: it is set together with username: keep one of them"},
		},
		"user ID and domain": {
			"contradict", "user-id = ui\npassword = p\nuser-domain-name = ud\nuser-domain-id = udi\n" + project,
			client.Credentials{UserID: "ui", Password: "p", ProjectID: "i"},
			[]string{
				"error: 3:1: [Global] user-id: it is set together with user-domain-id: a user ID has no domain, remove one of them",
				"error: 3:1: [Global] user-id: it is set together with user-domain-name: a user ID has no domain, remove one of them",
			},
		},
		"user without domain": {
			"cannot log in", "username = u\npassword = p\n" + project,
			client.Credentials{Username: "u", Password: "p", ProjectID: "i"},
			[]string{"error: 3:1: [Global] username: it needs a domain: set user-domain-name, user-domain-id, domain-name or domain-id"},
		},
		"project without domain": {
			"cannot be found", "username = u\npassword = p\nuser-domain-id = d\ntenant-name = t\n",
			client.Credentials{Username: "u", Password: "p", UserDomainID: "d", ProjectName: "t"},
			[]string{"error: 6:1: [Global] tenant-name: it needs a domain: set tenant-domain-name, tenant-domain-id, domain-name or domain-id"},
		},
		"password without user": {
			"cannot log in", "password = p\n" + project,
			client.Credentials{Password: "p", ProjectID: "i"},
			[]string{"error: 1:1: [Global] username: it is required, or user-id"},
		},
		"user without password": {
			"cannot log in", "username = u\ndomain-id = d\n" + project,
			client.Credentials{},
			[]string{"error: 1:1: [Global] password: it is required, since a user is set"},
		},
		"no project": {
			"the user may have a default one", "username = u\npassword = p\nuser-domain-id = d\n",
			client.Credentials{Username: "u", Password: "p", UserDomainID: "d"},
			[]string{"warning: 1:1: [Global] tenant-id: it is not set and tenant-name is not either: the default project of the user is used, if it has one"},
		},
		"domain as scope": {
			"has no project", "username = u\npassword = p\nuser-domain-id = ud\ndomain-name = d\n",
			client.Credentials{Username: "u", Password: "p", UserDomainID: "ud"},
			[]string{"error: 6:1: [Global] domain-name: it is set without tenant-id or tenant-name: logged in to a domain, no project could be used"},
		},
		"trust": {
			"is the scope, the user has no domain", "user-id = ui\npassword = p\ntrust-id = ti\ndomain-id = d\n" + project,
			client.Credentials{UserID: "ui", Password: "p", TrustID: "ti"},
			nil,
		},
		"trustee": {
			"replaces user and password", "user-id = ui\npassword = p\ntrust-id = ti\ntrustee-id = te\ntrustee-password = tp\n",
			client.Credentials{UserID: "te", Password: "tp", TrustID: "ti"},
			nil,
		},
		"trustee alone": {
			"needs no other user", "trust-id = ti\ntrustee-id = te\ntrustee-password = tp\n",
			client.Credentials{UserID: "te", Password: "tp", TrustID: "ti"},
			nil,
		},
		"trustee and user name": {
			"contradict", "trust-id = ti\ntrustee-id = te\ntrustee-password = tp\nusername = u\n",
			client.Credentials{Password: "tp", TrustID: "ti"},
			[]string{"error: 4:1: [Global] trustee-id: it is set together with username: keep one of them"},
		},
		"trustee without trust": {
			"has no effect", "trustee-id = te\ntrustee-password = tp\nuser-id = ui\npassword = p\n" + project,
			client.Credentials{UserID: "ui", Password: "p", ProjectID: "i"},
			[]string{"warning: 3:1: [Global] trustee-id: is ignored without trust-id", "warning: 4:1: [Global] trustee-password: is ignored without trust-id"},
		},
		"application credential": {
			"has a project, a user is not needed", "application-credential-id = a\napplication-credential-secret = s\nusername = u\ntenant-name = t\n",
			client.Credentials{ApplicationCredentialID: "a", ApplicationCredentialSecret: "s"},
			nil,
		},
		"application credential by name": {
			"needs a user", "application-credential-name = a\napplication-credential-secret = s\nusername = u\ndomain-name = d\n",
			client.Credentials{ApplicationCredentialName: "a", ApplicationCredentialSecret: "s", Username: "u", UserDomainName: "d"},
			nil,
		},
		"application credential by name and user ID": {
			"needs no domain", "application-credential-name = a\napplication-credential-secret = s\nuser-id = u\n",
			client.Credentials{ApplicationCredentialName: "a", ApplicationCredentialSecret: "s", UserID: "u"},
			nil,
		},
		"application credential by both": {
			"the ID is used", "application-credential-name = n\napplication-credential-id = a\napplication-credential-secret = s\n",
			client.Credentials{ApplicationCredentialID: "a", ApplicationCredentialSecret: "s"},
			nil,
		},
		"application credential by name, without a user": {
			"a name needs a user", "application-credential-name = a\napplication-credential-secret = s\n",
			client.Credentials{ApplicationCredentialName: "a", ApplicationCredentialSecret: "s"},
			[]string{"error: 1:1: [Global] username: it is required, or user-id"},
		},
		"application credential without domain": {
			"the user needs one", "application-credential-name = a\napplication-credential-secret = s\nusername = u\n",
			client.Credentials{ApplicationCredentialName: "a", ApplicationCredentialSecret: "s", Username: "u"},
			[]string{"error: 5:1: [Global] username: it needs a domain: set user-domain-name, user-domain-id, domain-name or domain-id"},
		},
		"application credential without secret": {
			"cannot log in", "application-credential-id = a\n",
			client.Credentials{ApplicationCredentialID: "a"},
			[]string{"error: 1:1: [Global] application-credential-secret: it is required for an application credential"},
		},
		"secret alone": {
			"is of no application credential", "application-credential-secret = s\n",
			client.Credentials{},
			[]string{"error: 3:1: [Global] application-credential-secret: it needs application-credential-id or application-credential-name"},
		},
		"secret and password": {
			"the secret takes the project away, as upstream", "application-credential-secret = s\nuser-id = u\npassword = p\n" + project,
			client.Credentials{UserID: "u", Password: "p"},
			[]string{"warning: 3:1: [Global] application-credential-secret: is ignored: password is set. " + defaultProject},
		},
		"secret and token": {
			"the secret is ignored", "application-credential-secret = s\ntoken = t\n" + project,
			client.Credentials{Token: "t", ProjectID: "i"},
			[]string{"warning: 3:1: [Global] application-credential-secret: is ignored without application-credential-id and application-credential-name"},
		},
		"application credential and trust": {
			"contradict", "application-credential-id = a\napplication-credential-secret = s\ntrust-id = ti\n",
			client.Credentials{ApplicationCredentialID: "a", ApplicationCredentialSecret: "s"},
			[]string{"error: 5:1: [Global] trust-id: it is set together with an application credential, which has a project of its own: remove one of them"},
		},
		"token": {
			"with a project", "token = t\ntenant-id = i\n", client.Credentials{Token: "t", ProjectID: "i"}, nil,
		},
		"token of a domain": {
			"has no project", "token = t\ndomain-id = d\n",
			client.Credentials{Token: "t"},
			[]string{"error: 3:1: [Global] token: it needs tenant-id or tenant-name"},
		},
		"password and application credential": {
			"the password is used, without a project, as upstream",
			"application-credential-id = a\napplication-credential-secret = s\nuser-id = u\npassword = p\n" + project,
			client.Credentials{UserID: "u", Password: "p"},
			[]string{"warning: 3:1: [Global] application-credential-id: is ignored: password is set. " + defaultProject},
		},
		"password and application credential by name": {
			"the same user is that of the password", "application-credential-name = a\napplication-credential-secret = s\nuser-id = u\npassword = p\n",
			client.Credentials{UserID: "u", Password: "p"},
			[]string{"warning: 3:1: [Global] application-credential-name: is ignored: password is set. " + defaultProject},
		},
		"trust and application credential": {
			"the trust has a project", "application-credential-id = a\ntrust-id = ti\ntrustee-id = te\ntrustee-password = p\n",
			client.Credentials{UserID: "te", Password: "p", TrustID: "ti"},
			[]string{"warning: 3:1: [Global] application-credential-id: is ignored: trustee-password is set"},
		},
		"password and token": {
			"a password can be used again", "user-id = u\npassword = p\ntoken = t\n" + project,
			client.Credentials{UserID: "u", Password: "p", ProjectID: "i"},
			[]string{"warning: 5:1: [Global] token: is ignored: password is set"},
		},
		"token and application credential": {
			"contradict", "application-credential-id = a\ntoken = t\n",
			client.Credentials{},
			[]string{"error: 4:1: [Global] token: it is set together with application-credential-id: keep one of them"},
		},
		"all methods": {
			"the password is used", "user-id = u\napplication-credential-id = a\npassword = p\ntoken = t\n",
			client.Credentials{UserID: "u", Password: "p"},
			[]string{
				"warning: 4:1: [Global] application-credential-id: is ignored: password is set. " + defaultProject,
				"warning: 6:1: [Global] token: is ignored: password is set",
			},
		},
		"trustee and token": {
			"the password is used", "trust-id = ti\ntrustee-id = te\ntrustee-password = p\ntoken = t\n",
			client.Credentials{UserID: "te", Password: "p", TrustID: "ti"},
			[]string{"warning: 6:1: [Global] token: is ignored: trustee-password is set"},
		},
		"nothing": {
			"is an error", "",
			client.Credentials{},
			[]string{"error: 1:1: [Global]: there are no credentials: set a user and password, application-credential-id and application-credential-secret, or token"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, problems := decode(parse(t, "[Global]\nauth-url = https://keystone/v3\n"+tc.text), in(nil))
			checkProblems(t, tc.reason, tc.errs, problems)
			check(t, tc.reason, reveal(tc.want), reveal(cfg.login))
		})
	}
}

func TestAuthURL(t *testing.T) {
	t.Parallel()
	const invalid = "error: 2:1: [Global] auth-url: it is not a URL such as https://keystone.example.com:5000/v3"
	cases := map[string]struct {
		reason, url string
		want        []string
	}{
		"HTTPS":        {"with a version", "https://keystone.example.com:5000/v3", nil},
		"HTTP":         {"without a version", "http://[fd00::1]/identity", nil},
		"none":         {"is required", "\"\"", []string{"error: 2:1: [Global] auth-url: it is required"}},
		"no scheme":    {"no URL", "keystone:5000/v3", []string{invalid}},
		"no host":      {"no URL", "https:///v3", []string{invalid}},
		"other scheme": {"no URL of Keystone", "ftp://keystone", []string{invalid}},
		"bad host":     {"no URL", "https://[", []string{invalid}},
		"bad user":     {"is not shown", "https://u:hunter2@[", []string{invalid}},
		"user":         {"is not needed and not shown", "https://u:hunter2@keystone", []string{"warning: 2:1: [Global] auth-url: it has a user, which Keystone does not need: remove it"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := parse(t, strings.Replace(loginText, "https://keystone/v3", tc.url, 1))
			_, problems := decode(file, in(nil))
			checkProblems(t, tc.reason, tc.want, problems)
			shown := fmt.Sprint(describe(problems), explainIn(file, in(nil)))
			if strings.Contains(shown, "hunter2") {
				t.Errorf("%s: the password is shown: %s", tc.reason, shown)
			}
		})
	}
}
