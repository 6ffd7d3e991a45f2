package vsphere

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
)

// Texts of the existing controller manager that users search for.
const (
	textNoConfig   = "no vSphere cloud provider config file given"
	textNoHosts    = "No Virtual Center hosts defined"
	textNoAddress  = "vsphere.conf does not have the VirtualCenter IP address specified"
	textNoUser     = "Username is missing"
	textNoPassword = "Password is missing"

	hintCredentials = "set user and password, or secret-name and secret-namespace, or secrets-directory in %s"

	textAllRetired = "every vCenter is retired: at least one must not be"
)

// decodeProblems returns all that is wrong with a cloud-config in the
// environment of this process.
func decodeProblems(file *config.File, scope config.Scope) config.Problems {
	env := processEnvironment()
	if scope == config.TextOnly {
		env.checkCAFile, env.checkTLS = nil, nil
	}
	_, _, problems := decode(file, env)

	return problems
}

// explain lists the settings that a cloud-config makes effective in the
// environment of this process.
func explain(file *config.File) []config.Setting {
	return explainIn(file, processEnvironment())
}

func explainIn(file *config.File, env environment) []config.Setting {
	if file == nil {
		return nil
	}
	r := resolve(file, env)

	return r.Explain(r.config)
}

// decode reads the configuration out of a cloud-config: what the file sets,
// then what the environment sets, then what each vCenter takes from [Global],
// then defaults. It reports everything that is wrong with the result, together
// with where it comes from; the configuration is usable if none of it is an
// error. file is nil where there is no cloud-config.
func decode(file *config.File, env environment) (*Config, config.Origins, config.Problems) {
	r := resolve(file, env)

	return r.config, r.Origins, r.Finish()
}

// resolver converts a decoded cloud-config to settings.
type resolver struct {
	*config.Resolver
	env    environment
	config *Config
	// serverKeys are the keys that add vCenters without a section of their own.
	serverKeys map[string]config.Name
	// implied means that the secrets directory is there by default, and no
	// reason to do without a user and password that are given.
	implied bool
}

func resolve(file *config.File, env environment) *resolver {
	r := &resolver{Resolver: config.NewResolver(file, schema()), env: env, config: new(Config), serverKeys: map[string]config.Name{}}
	if r.File.Blank() {
		r.Problems.Errorf(config.Position{Path: r.File.Path}, "%s", textNoConfig)

		return r
	}
	r.Decode(ProviderName, r.config)
	r.config.deleteByName, r.config.deletionLimit = r.Settings.NodeDeletion.ByName, r.Settings.NodeDeletion.Limit
	r.config.maxTargets = r.Settings.LoadBalancer.MaxTargets
	r.applyEnvironment()
	r.chooseSecretsDirectory()
	r.expandServer()
	r.completeEntries()
	r.setDefaults(config.Name{Section: "Global"}, &r.config.Global.Connection)
	r.checkLoadBalancers()
	r.checkNSXT()

	return r
}

func globalName(key string) config.Name { return config.Name{Section: "Global", Key: key} }

func entryName(sub, key string) config.Name {
	return config.Name{Section: "VirtualCenter", Sub: sub, Key: key}
}

func (r *resolver) note(message string) {
	r.Problems = append(r.Problems, config.Problem{Severity: config.Note, Message: message})
}

// errorf reports a problem with a key where the key is or, where it came
// from the environment, with the name of the variable.
func (r *resolver) errorf(name config.Name, format string, args ...any) {
	if variable, ok := strings.CutPrefix(r.Origins[name], "environment "); ok {
		r.Problems.Errorf(config.Position{}, "%s: %s (environment %s)", r.Spell(name), fmt.Sprintf(format, args...), variable)

		return
	}
	r.Errorf(name, format, args...)
}

// expandServer makes a vCenter of [Global] server.
func (r *resolver) expandServer() {
	server := r.config.Global.Server
	if _, exists := r.config.VirtualCenter[server]; exists || server == "" {
		return
	}
	if r.config.VirtualCenter == nil {
		r.config.VirtualCenter = map[string]*VirtualCenter{}
	}
	r.config.VirtualCenter[server] = &VirtualCenter{Server: server}
	r.serverKeys[server] = globalName("server")
	r.inherited(server, "server")
}

// completeEntries fills in what each vCenter needs, and reports what is
// missing then.
func (r *resolver) completeEntries() {
	if len(r.config.VirtualCenter) == 0 {
		r.Problems.Errorf(config.Position{Path: r.File.Path}, "%s: add a section such as %s", textNoHosts, r.Spell(entryName("vc.example.com", "")))
	} else if !slices.ContainsFunc(slices.Collect(maps.Values(r.config.VirtualCenter)), func(vc *VirtualCenter) bool { return !vc.Retired }) {
		r.Problems.Errorf(config.Position{Path: r.File.Path}, "%s", textAllRetired)
	}
	defer r.checkTwice()
	for _, name := range slices.Sorted(maps.Keys(r.config.VirtualCenter)) {
		entry := r.config.VirtualCenter[name]
		r.checkSecret(entryName(name, ""), entry.Connection)
		r.inherit(name, &entry.Connection)
		r.setDefaults(entryName(name, ""), &entry.Connection)
		if r.checkServer(name, entry) {
			r.checkCredentials(name, entry)
			r.checkCAFile(name, entry)
		}
	}
}

// checkServer reports whether it is known where the vCenter is.
func (r *resolver) checkServer(name string, entry *VirtualCenter) bool {
	if name != "" && entry.Server == "" && r.File.Format == config.INI {
		entry.Server = name
		r.Origins[entryName(name, "server")] = "the name of the section"
	}
	if name == "" || entry.Server == "" {
		r.errorf(entryName(name, ""), "%s: set server to a host name or an IP address", textNoAddress)

		return false
	}
	if problem := serverProblem(entry.Server); problem != "" {
		r.errorf(r.serverKey(name), "%s", problem)

		return false
	}

	return true
}

// serverKey is the key with the address of a vCenter.
func (r *resolver) serverKey(name string) config.Name {
	key := entryName(name, "server")
	if place, ok := r.serverKeys[name]; ok && place.Section == "Global" {
		return place
	}
	if r.Origins[key] == "the name of the section" {
		key.Key = ""
	}

	return key
}

// checkCredentials reports a vCenter without credentials.
func (r *resolver) checkCredentials(name string, entry *VirtualCenter) {
	place, ok := r.serverKeys[name]
	if !ok {
		place = entryName(name, "")
	}
	switch {
	case !r.config.secretSource(entry).none():
	case entry.User == "":
		r.errorf(place, textNoUser+": "+hintCredentials, r.Spell(config.Name{Section: "Global"}))
	case entry.Password == "":
		r.errorf(place, textNoPassword+": "+hintCredentials, r.Spell(config.Name{Section: "Global"}))
	}
}

// checkCAFile reports a CA file that cannot be used, where its path is.
func (r *resolver) checkCAFile(name string, entry *VirtualCenter) {
	if r.env.checkCAFile == nil || entry.CAFile == "" {
		return
	}
	key := entryName(name, "ca-file")
	if strings.HasPrefix(r.Origins[key], "inherited ") {
		key = globalName("ca-file")
	}
	if err := r.env.checkCAFile(entry.CAFile); err != nil {
		r.errorf(key, "%v", err)
	}
}

// inherit takes over from [Global] what a vCenter does not set itself.
func (r *resolver) inherit(name string, c *Connection) {
	g := &r.config.Global
	take := func(key string, missing bool, set func()) {
		if missing {
			set()
			r.inherited(name, key)
		}
	}
	explicit := c.hasSecret() || g.hasSecret() || g.SecretsDirectory != "" && !r.implied
	take("user", !explicit && c.User == "" && g.User != "", func() { c.User = g.User })
	take("password", !explicit && c.Password == "" && g.Password != "", func() { c.Password = g.Password })
	take("port", c.Port == 0 && g.Port != 0, func() { c.Port = g.Port })
	take("insecure-flag", !c.InsecureFlag && g.InsecureFlag, func() { c.InsecureFlag = true })
	take("datacenters", len(c.Datacenters) == 0 && len(g.Datacenters) > 0, func() { c.Datacenters = slices.Clone(g.Datacenters) })
	take("soap-roundtrip-count", c.SoapRoundtripCount == 0 && g.SoapRoundtripCount > 0, func() { c.SoapRoundtripCount = g.SoapRoundtripCount })
	take("ca-file", c.CAFile == "" && g.CAFile != "", func() { c.CAFile = g.CAFile })
	take("thumbprint", c.Thumbprint == "" && g.Thumbprint != "", func() { c.Thumbprint = g.Thumbprint })
	take("ip-family", len(c.IPFamily) == 0 && len(g.IPFamily) > 0, func() { c.IPFamily = slices.Clone(g.IPFamily) })
}

// inherited notes that a key of a vCenter has the value of [Global].
func (r *resolver) inherited(name, key string) {
	at := r.Origin(globalName(key))
	if strings.HasPrefix(at, "environment ") {
		r.Origins[entryName(name, key)] = "inherited from [Global], " + at

		return
	}
	r.Origins[entryName(name, key)] = "inherited from [Global] at " + at
}

func (r *resolver) setDefaults(section config.Name, c *Connection) {
	name := func(key string) config.Name {
		section.Key = key

		return section
	}
	config.Default(r.Resolver, name("port"), &c.Port, defaultPort)
	config.Default(r.Resolver, name("soap-roundtrip-count"), &c.SoapRoundtripCount, defaultRoundtripCount)
	config.DefaultList(r.Resolver, name("ip-family"), &c.IPFamily, address.IPv4)
}
