package vsphere

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/tlsfiles"
)

// Texts of the existing controller manager that users search for.
const (
	textNoMethod   = "user or vmc access token or client cert file must be set, or secret-name"
	textNoNSXTHost = "host is empty"
)

// Route is the section for routes.
type Route struct {
	// RouterPath is the path of the tier-1 gateway in NSX-T that gets the routes to the
	// Pods of Nodes, such as /infra/tier-1s/k8s. If it is set, [NSXT] is required.
	RouterPath Tier1Path `gcfg:"router-path"`
}

// NSXT is the section for the NSX-T manager. One way to authenticate is used: a Secret, a
// client certificate, a token of VMware Cloud, or user and password, the first of these
// that is set.
type NSXT struct {
	// Host is the host name or address of the NSX-T manager, with a port and a path if there
	// are any, such as the reverse proxy of VMware Cloud.
	Host string `gcfg:"host"`
	// User is the user name.
	User string `gcfg:"user"`
	// Password is the password of the user.
	Password config.Secret `gcfg:"password"`
	// RemoteAuth is for a user of VMware Identity Manager.
	// Default: false
	RemoteAuth bool `gcfg:"remote-auth"`
	// SecretName is the name of the Kubernetes Secret with the keys username and password.
	// Until it exists, user and password of this section are used.
	SecretName string `gcfg:"secret-name"`
	// SecretNamespace is the namespace of that Secret.
	SecretNamespace string `gcfg:"secret-namespace"`
	// ClientAuthCertFile is the path of a client certificate in PEM format, which is read
	// again for each connection.
	ClientAuthCertFile string `gcfg:"client-auth-cert-file"`
	// ClientAuthKeyFile is the path of the key of the client certificate.
	ClientAuthKeyFile string `gcfg:"client-auth-key-file"`
	// VMCAccessToken is a refresh token of VMware Cloud Services.
	VMCAccessToken config.Secret `gcfg:"vmc-access-token"`
	// VMCAuthHost is the host name and the path where VMware Cloud Services return an access
	// token for it.
	VMCAuthHost string `gcfg:"vmc-auth-host"`
	// InsecureFlag accepts every certificate of the manager.
	// Default: false
	InsecureFlag bool `gcfg:"insecure-flag"`
	// CAFile is the path of the CA certificates, in PEM format, that the certificate of the
	// manager is verified with.
	// Default: the certificates of the system
	CAFile string `gcfg:"ca-file"`
}

// hasSecret reports whether a Secret has the credentials.
func (n *NSXT) hasSecret() bool { return n.SecretName != "" && n.SecretNamespace != "" }

// method returns the key of the way to authenticate that is used, empty if none is set.
func (n *NSXT) method() string {
	switch {
	case n.hasSecret():
		return "secret-name"
	case n.ClientAuthCertFile != "":
		return "client-auth-cert-file"
	case n.VMCAccessToken != "":
		return "vmc-access-token"
	case n.User != "":
		return "user"
	}

	return ""
}

// tls returns how connections to the manager are secured.
func (n *NSXT) tls() tlsfiles.Files {
	files := tlsfiles.Files{CAFile: n.CAFile, Insecure: n.InsecureFlag}
	if n.method() == "client-auth-cert-file" {
		files.CertFile, files.KeyFile = n.ClientAuthCertFile, n.ClientAuthKeyFile
	}

	return files
}

// Tier1Path is the path of a tier-1 gateway in the policy API. Gateways of projects and
// tier-0 gateways have other paths.
type Tier1Path string

var tier1Path = regexp.MustCompile(`^/infra/tier-1s/[^/\s]+$`)

// UnmarshalText reads a path; an empty one is none. A wrong one is stored, too: it is not missing.
func (p *Tier1Path) UnmarshalText(text []byte) error {
	path := strings.TrimSpace(string(text))
	*p = Tier1Path(path)
	if path != "" && !tier1Path.MatchString(path) {
		return fmt.Errorf("%q is not the path of a tier-1 gateway: want /infra/tier-1s/<id>", text)
	}

	return nil
}

func nsxtName(key string) config.Name { return config.Name{Section: "NSXT", Key: key} }

// usesNSXT reports whether the NSX-T manager is needed.
func (c *Config) usesNSXT() bool { return c.Route.RouterPath != "" || c.hasLoadBalancers() }

// checkNSXT reports what keeps the manager from being called. It is needed for load balancers
// and routes: Nodes do not need it.
func (r *resolver) checkNSXT() {
	n := &r.config.NSXT
	if !r.config.usesNSXT() {
		if *n != (NSXT{}) {
			r.Warnf(nsxtName(""), "has no effect without %s or %s",
				r.Spell(config.Name{Section: "LoadBalancer"}), r.Spell(config.Name{Section: "Route", Key: "router-path"}))
		}

		return
	}
	if *n == (NSXT{}) {
		needs := config.Name{Section: "LoadBalancer"}
		if !r.config.hasLoadBalancers() {
			needs = config.Name{Section: "Route", Key: "router-path"}
		}
		r.errorf(needs, "requires %s: %s, %s", r.Spell(nsxtName("")), textNoNSXTHost, textNoMethod)

		return
	}
	requires := func(key string, set bool, other, value string) {
		if set && value == "" {
			r.errorf(nsxtName(key), "requires %s", r.Spell(nsxtName(other)))
		}
	}
	requires("vmc-access-token", n.VMCAccessToken != "", "vmc-auth-host", n.VMCAuthHost)
	requires("user", n.User != "" && !n.hasSecret(), "password", string(n.Password))
	requires("client-auth-cert-file", n.ClientAuthCertFile != "", "client-auth-key-file", n.ClientAuthKeyFile)
	requires("client-auth-key-file", n.ClientAuthKeyFile != "", "client-auth-cert-file", n.ClientAuthCertFile)
	requires("secret-name", n.SecretName != "", "secret-namespace", n.SecretNamespace)
	requires("secret-namespace", n.SecretNamespace != "", "secret-name", n.SecretName)
	method := n.method()
	if method == "" && n.SecretName+n.SecretNamespace == "" {
		r.errorf(nsxtName(""), textNoMethod)
	}
	ignored := func(key string, set bool) {
		if set && key != method {
			r.Warnf(nsxtName(key), "is ignored: %s is set", r.Spell(nsxtName(method)))
		}
	}
	ignored("client-auth-cert-file", n.ClientAuthCertFile != "")
	ignored("vmc-access-token", n.VMCAccessToken != "")
	ignored("user", n.User != "" && method != "secret-name")
	if n.Host == "" {
		r.errorf(nsxtName(""), textNoNSXTHost)
	}
	r.checkHost("host", n.Host)
	r.checkHost("vmc-auth-host", n.VMCAuthHost)
	files := n.tls()
	r.checkFiles("ca-file", tlsfiles.Files{CAFile: files.CAFile})
	r.checkFiles("client-auth-cert-file", tlsfiles.Files{CertFile: files.CertFile, KeyFile: files.KeyFile})
}

// checkFiles reports files of a key that cannot be used.
func (r *resolver) checkFiles(key string, files tlsfiles.Files) {
	if r.env.checkTLS == nil {
		return
	}
	if err := r.env.checkTLS(files); err != nil {
		r.errorf(nsxtName(key), "%v", err)
	}
}

// checkHost reports a host that is none. The text does not repeat it: a URL may hold a
// password.
func (r *resolver) checkHost(key, host string) {
	u, err := url.Parse("https://" + host)
	if host != "" && (err != nil || strings.Contains(host, "://") || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		r.errorf(nsxtName(key), "want a host name or an IP address, with a port and a path if there are any, and no scheme")
	}
}
