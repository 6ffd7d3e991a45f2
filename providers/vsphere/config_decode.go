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
)

// decodeProblems tells all that is wrong with a cloud-config in the environment
// of this process.
func decodeProblems(file *config.File) config.Problems {
	_, _, problems := decode(file, processEnvironment())
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
	cfg, origins, _ := decode(file, env)
	settings := config.NewSettings()
	file.Decode(schema(), settings)
	list := file.Explain(schema(), origins, settings, cfg)
	// Both have keys in [Global]: bring them together.
	order := map[string]int{}
	for i, s := range list {
		if _, seen := order[s.Name.Section]; !seen {
			order[s.Name.Section] = i
		}
	}
	slices.SortStableFunc(list, func(a, b config.Setting) int { return order[a.Name.Section] - order[b.Name.Section] })
	return list
}

// decode reads the configuration out of a cloud-config: what the file sets,
// then what the environment sets, then what each vCenter takes from [Global],
// then defaults. It reports everything that is wrong with the result, together
// with where it comes from; the configuration is usable if none of it is an
// error. file is nil where there is no cloud-config.
func decode(file *config.File, env environment) (*Config, config.Origins, config.Problems) {
	if file == nil || file.Blank() {
		at := config.Position{}
		if file != nil {
			at.Path = file.Path
		}
		var problems config.Problems
		problems.Errorf(at, "%s", textNoConfig)
		return new(Config), nil, problems
	}
	settings := config.NewSettings()
	r := &resolver{
		file: file, schema: schema(), env: env,
		config: new(Config), origins: config.Origins{}, places: map[string]config.Name{},
	}
	r.problems = file.Decode(r.schema, settings, r.config)
	r.problems = append(r.problems, settings.Validate(file)...)
	r.config.deleteByName = settings.NodeDeletion.ByName
	r.checkProvider(settings.Global.Provider)
	r.applyEnvironment()
	r.chooseSecretsDirectory()
	r.expandServer()
	r.completeEntries()
	r.setDefaults(config.Name{Section: "Global"}, &r.config.Global.Connection)
	if settings.Multicloud.Strict {
		r.problems = r.problems.Strict()
	}
	r.problems.Sort()
	return r.config, r.origins, r.problems
}

// resolver turns what was written into what is meant.
type resolver struct {
	file     *config.File
	schema   config.Schema
	env      environment
	config   *Config
	origins  config.Origins
	problems config.Problems
	// places are the keys that ask for vCenters without a section of their own.
	places map[string]config.Name
	// implied says that the secrets directory is there by default, and no
	// reason to do without a user and password that are given.
	implied bool
}

func globalName(key string) config.Name { return config.Name{Section: "Global", Key: key} }

func entryName(sub, key string) config.Name {
	return config.Name{Section: "VirtualCenter", Sub: sub, Key: key}
}

// spell writes a name the way the file would.
func (r *resolver) spell(name config.Name) string { return r.file.Spell(r.schema, name) }

// origin tells where a value comes from.
func (r *resolver) origin(name config.Name) string {
	if origin, ok := r.origins[name]; ok {
		return origin
	}
	return r.file.At(r.schema, name).String()
}

func (r *resolver) note(message string) {
	r.problems = append(r.problems, config.Problem{Severity: config.Note, Message: message})
}

// errorf reports a problem with a key where the key stands or, where it came
// from the environment, with the name of the variable.
func (r *resolver) errorf(name config.Name, format string, args ...any) {
	message := r.spell(name) + ": " + fmt.Sprintf(format, args...)
	at := r.file.At(r.schema, name)
	if variable, ok := strings.CutPrefix(r.origins[name], "environment "); ok {
		at, message = config.Position{}, message+" (environment "+variable+")"
	}
	r.problems.Errorf(at, "%s", message)
}

func (r *resolver) checkProvider(name string) {
	if name != "" && name != ProviderName {
		r.errorf(globalName("provider"), "this file is for provider %q, not for %s", name, ProviderName)
	}
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
	r.places[server] = globalName("server")
	r.inherited(server, "server")
}

// completeEntries gives every vCenter what it needs, and reports what is
// missing then.
func (r *resolver) completeEntries() {
	if len(r.config.VirtualCenter) == 0 {
		r.problems.Errorf(config.Position{Path: r.file.Path}, "%s", textNoHosts)
	}
	defer r.checkTwice()
	for _, name := range slices.Sorted(maps.Keys(r.config.VirtualCenter)) {
		entry := r.config.VirtualCenter[name]
		r.checkSecret(entryName(name, ""), entry.Connection)
		r.inherit(name, &entry.Connection)
		r.setDefaults(entryName(name, ""), &entry.Connection)
		if r.checkServer(name, entry) {
			r.checkCredentials(name, entry)
			r.checkEndpoint(name, entry)
		}
	}
}

// checkServer reports whether it is known where the vCenter is.
func (r *resolver) checkServer(name string, entry *VirtualCenter) bool {
	if name != "" && entry.Server == "" && r.file.Format == config.INI {
		entry.Server = name
		r.origins[entryName(name, "server")] = "the name of the section"
	}
	if name == "" || entry.Server == "" {
		r.errorf(entryName(name, ""), textNoAddress)
		return false
	}
	if problem := serverProblem(entry.Server); problem != "" {
		r.errorf(r.serverPlace(name), "%s", problem)
		return false
	}
	return true
}

// serverPlace is the key that says where a vCenter is.
func (r *resolver) serverPlace(name string) config.Name {
	key := entryName(name, "server")
	if place, ok := r.places[name]; ok && place.Section == "Global" {
		return place
	}
	if r.origins[key] == "the name of the section" {
		key.Key = ""
	}
	return key
}

// checkCredentials reports a vCenter that nobody can log in to.
func (r *resolver) checkCredentials(name string, entry *VirtualCenter) {
	place, ok := r.places[name]
	if !ok {
		place = entryName(name, "")
	}
	switch {
	case !r.config.secretSource(entry).none():
	case entry.User == "":
		r.errorf(place, textNoUser)
	case entry.Password == "":
		r.errorf(place, textNoPassword)
	}
}

// checkEndpoint reports a CA file that cannot be used.
func (r *resolver) checkEndpoint(name string, entry *VirtualCenter) {
	if r.env.checkEndpoint == nil {
		return
	}
	if err := r.env.checkEndpoint(endpoint(name, entry)); err != nil {
		r.errorf(entryName(name, "ca-file"), "%v", err)
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
	at := r.origin(globalName(key))
	if strings.HasPrefix(at, "environment ") {
		r.origins[entryName(name, key)] = "inherited from [Global], " + at
		return
	}
	r.origins[entryName(name, key)] = "inherited from [Global] at " + at
}

func (r *resolver) setDefaults(section config.Name, c *Connection) {
	fill := func(key string, missing bool, set func()) {
		if missing {
			set()
			section.Key = key
			r.origins[section] = "default"
		}
	}
	fill("port", c.Port == 0, func() { c.Port = defaultPort })
	fill("soap-roundtrip-count", c.SoapRoundtripCount == 0, func() { c.SoapRoundtripCount = defaultRoundtripCount })
	fill("ip-family", len(c.IPFamily) == 0, func() { c.IPFamily = Families{address.IPv4} })
}
