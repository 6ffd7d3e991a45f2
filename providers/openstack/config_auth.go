package openstack

import (
	"net/url"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/cloudsyaml"
)

// chooseCredentials converts [Global] to what a login sends, and reports what
// contradicts itself and what is missing.
func (r *resolver) chooseCredentials() {
	r.checkAuthURL()
	r.checkTrustee()
	g := r.config.Global
	login := client.Credentials{TrustID: g.TrustID}
	switch r.chooseMethod() {
	case methodPassword:
		r.choosePassword(&login)
	case methodToken:
		login.Token = g.Token
		r.chooseScope(&login)
	case methodApplicationCredential:
		r.chooseApplicationCredential(&login)
	case methodNone:
		return
	}
	r.config.login = login
}

func (r *resolver) checkAuthURL() {
	g := r.config.Global
	if g.AuthURL == "" {
		r.errorf("auth-url", "it is required")

		return
	}
	parsed, err := url.Parse(string(g.AuthURL))
	switch {
	case err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http":
		r.errorf("auth-url", "it is not a URL such as https://keystone.example.com:5000/v3")
	case parsed.User != nil:
		r.warnf("auth-url", "it has a user, which Keystone does not need: remove it")
	}
}

// method is what a login proves itself with.
type method int

const (
	methodNone method = iota
	methodPassword
	methodToken
	methodApplicationCredential
)

// chooseMethod returns the method that is used. It reports several, and none.
func (r *resolver) chooseMethod() method {
	g := r.config.Global
	application := g.ApplicationCredentialID != "" || g.ApplicationCredentialName != ""
	switch {
	case g.Password != "" || r.usesTrustee():
		return methodPassword
	case g.Token != "" && application:
		r.errorf("token", "it is set together with %s: keep one of them", r.spelled(r.applicationKey()))
	case g.Token != "":
		if g.ApplicationCredentialSecret != "" {
			r.warnf("application-credential-secret", "is ignored without application-credential-id and application-credential-name")
		}

		return methodToken
	case application:
		return methodApplicationCredential
	case g.ApplicationCredentialSecret != "":
		r.errorf("application-credential-secret", "it needs %s or %s", r.spelled("application-credential-id"), r.spelled("application-credential-name"))
	case g.Username != "" || g.UserID != "":
		r.errorf("password", "it is required, since a user is set")
	case r.cloud != nil:
		r.Problems.Errorf(config.Position{Path: r.cloud.At()}, "cloud %q: auth: there are no credentials: set %s and %s, %s and %s, or %s", r.cloud.Name,
			cloudsyaml.Username, cloudsyaml.Password, cloudsyaml.ApplicationCredentialID, cloudsyaml.ApplicationCredentialSecret, cloudsyaml.Token)
	default:
		r.Problems.Errorf(r.At(config.Name{Section: "Global"}), "%s: there are no credentials: set a user and password, "+
			"application-credential-id and application-credential-secret, or token", config.Name{Section: "Global"})
	}

	return methodNone
}

// usesTrustee reports whether the password is that of the user of a trust.
func (r *resolver) usesTrustee() bool {
	return r.config.Global.TrustID != "" && r.config.Global.TrusteePassword != ""
}

// applicationKey is the first key of an application credential that is set, empty if none
// is.
func (r *resolver) applicationKey() string {
	g := r.config.Global
	switch {
	case g.ApplicationCredentialID != "":
		return "application-credential-id"
	case g.ApplicationCredentialName != "":
		return "application-credential-name"
	case g.ApplicationCredentialSecret != "":
		return "application-credential-secret"
	}

	return ""
}

// choosePassword sets a password, which is used before what else is set. Beside an
// application credential, the login has no project of the cloud-config but that of a trust:
// so do the libraries of the upstream controller, and another project would have none of
// its servers (gophercloud: auth_options.go, ToTokenV3CreateMap; gophercloud/utils:
// clientconfig, v3auth).
func (r *resolver) choosePassword(login *client.Credentials) {
	g := r.config.Global
	login.Password = g.Password
	key := "password"
	if r.usesTrustee() {
		login.Password, key = g.TrusteePassword, "trustee-password"
	}
	if g.Token != "" {
		r.warnf("token", "is ignored: %s is set", r.spelled(key))
	}
	application := r.applicationKey()
	r.chooseUser(login)
	switch {
	case application == "":
		r.chooseScope(login)
	case g.TrustID != "":
		r.warnf(application, "is ignored: %s is set", r.spelled(key))
	default:
		r.warnf(application, "is ignored: %s is set. Together they log in to the default project of the user: remove one of them", r.spelled(key))
	}
}

// chooseApplicationCredential sets an application credential. It has a project of its
// own.
func (r *resolver) chooseApplicationCredential(login *client.Credentials) {
	g := r.config.Global
	if g.ApplicationCredentialSecret == "" {
		r.errorf("application-credential-secret", "it is required for an application credential")
	}
	if g.TrustID != "" {
		r.errorf("trust-id", "it is set together with an application credential, which has a project of its own: remove one of them")
	}
	login.TrustID = ""
	login.ApplicationCredentialSecret = g.ApplicationCredentialSecret
	if g.ApplicationCredentialID != "" {
		login.ApplicationCredentialID = g.ApplicationCredentialID

		return
	}
	login.ApplicationCredentialName = g.ApplicationCredentialName
	r.chooseUser(login)
}

// chooseUser sets the user of a password, or the owner of an application credential.
func (r *resolver) chooseUser(login *client.Credentials) {
	g := r.config.Global
	userID, key := g.UserID, "user-id"
	if g.TrustID != "" && g.TrusteeID != "" {
		userID, key = g.TrusteeID, "trustee-id"
	}
	switch {
	case userID == "" && g.Username == "":
		r.errorf("username", "it is required, or %s", r.spelled("user-id"))
	case userID != "" && g.Username != "":
		r.errorf(key, "it is set together with %s: keep one of them", r.spelled("username"))
	case userID != "":
		login.UserID = userID
		for _, domain := range []struct{ key, value string }{{"user-domain-id", g.UserDomainID}, {"user-domain-name", g.UserDomainName}} {
			if domain.value != "" {
				r.errorf(key, "it is set together with %s: a user ID has no domain, remove one of them", r.spelled(domain.key))
			}
		}
	default:
		login.Username = g.Username
		login.UserDomainID, login.UserDomainName = r.domain("username", "user-domain", g.UserDomainID, g.UserDomainName)
	}
}

// chooseScope sets the project, or the trust that has one.
func (r *resolver) chooseScope(login *client.Credentials) {
	g := r.config.Global
	switch {
	case g.TrustID != "":
	case g.TenantID != "":
		login.ProjectID = g.TenantID
		if id, name := r.placeInClouds("tenant-id"), r.placeInClouds("tenant-name"); g.TenantName != "" && id != "" && name == "" {
			r.warnf("tenant-name", "is ignored: %s is set", r.spelled("tenant-id"))
		}
	case g.TenantName != "":
		login.ProjectName = g.TenantName
		login.ProjectDomainID, login.ProjectDomainName = r.domain("tenant-name", "tenant-domain", g.TenantDomainID, g.TenantDomainName)
	case g.Token != "":
		r.errorf("token", "it needs %s or %s", r.spelled("tenant-id"), r.spelled("tenant-name"))
	case g.DomainID != "" || g.DomainName != "":
		key := "domain-id"
		if g.DomainID == "" {
			key = "domain-name"
		}
		r.errorf(key, "it is set without %s or %s: logged in to a domain, no project could be used", r.spelled("tenant-id"), r.spelled("tenant-name"))
	default:
		r.warnf("tenant-id", "it is not set and %s is not either: the default project of the user is used, if it has one", r.spelled("tenant-name"))
	}
}

// checkTrustee warns of a trustee without a trust.
func (r *resolver) checkTrustee() {
	g := r.config.Global
	if g.TrustID != "" {
		return
	}
	if g.TrusteeID != "" {
		r.warnf("trustee-id", "is ignored without trust-id")
	}
	if g.TrusteePassword != "" {
		r.warnf("trustee-password", "is ignored without trust-id")
	}
}

// domain returns the domain of a user or a project: its own, or else the default one.
// If both an ID and a name are set, the ID is used.
func (r *resolver) domain(needs, prefix, id, name string) (domainID, domainName string) {
	g := r.config.Global
	switch {
	case id != "":
		if name != "" {
			r.warnf(prefix+"-name", "is ignored: %s is set", r.spelled(prefix+"-id"))
		}

		return id, ""
	case name != "":
		return "", name
	case g.DomainID != "":
		return g.DomainID, ""
	case g.DomainName != "":
		return "", g.DomainName
	default:
		r.errorf(needs, "it needs a domain: set %s, %s, %s or %s",
			r.spelled(prefix+"-name"), r.spelled(prefix+"-id"), r.spelled("domain-name"), r.spelled("domain-id"))

		return "", ""
	}
}
