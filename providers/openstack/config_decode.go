package openstack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/cloudsyaml"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/nodes"
)

// textNoConfig is a text of the existing controller manager that users search for.
const textNoConfig = "no OpenStack cloud provider config file given"

// decodeProblems returns all that is wrong with a cloud-config in the environment of
// this process.
func decodeProblems(file *config.File, scope config.Scope) config.Problems {
	env := processEnvironment()
	if scope == config.TextOnly {
		env.readFile = nil
	}
	_, problems := decode(file, env)

	return problems
}

// explain lists the settings that a cloud-config makes effective in the environment of
// this process.
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

// decode reads the configuration from a cloud-config, which is nil if there is none,
// then from clouds.yaml, and applies defaults. It reports all problems; the
// configuration is usable if none of them is an error.
func decode(file *config.File, env environment) (*Config, config.Problems) {
	r := resolve(file, env)

	return r.config, r.Finish()
}

// resolver converts a decoded cloud-config to settings.
type resolver struct {
	*config.Resolver
	env    environment
	config *Config
	// cloud is that of clouds.yaml, nil if none is used.
	cloud *cloudsyaml.Cloud
}

func resolve(file *config.File, env environment) *resolver {
	r := newResolver(file, env)
	if !r.readable() {
		return r
	}
	r.Decode(ProviderName, r.config)
	r.config.maxTargets = r.Settings.LoadBalancer.MaxTargets
	r.config.deletionLimit = r.Settings.NodeDeletion.Limit
	if r.Settings.NodeDeletion.ByName {
		r.Warnf(config.Name{Section: "NodeDeletion", Key: "by-name"}, "has no effect: a Node without a provider ID is never deleted, since a list of servers is no proof")
	}
	r.applyEnvironment()
	if r.applyClouds() {
		r.chooseCredentials()
	}
	config.Default(r.Resolver, globalName("os-endpoint-type"), &r.config.Global.EndpointType, EndpointPublic)
	r.checkTLS()
	r.checkRegion()
	r.checkNetworking()
	r.checkMetadata()
	r.checkLoadBalancer()
	r.checkMonitor()
	r.checkNetworks()

	return r
}

func newResolver(file *config.File, env environment) *resolver {
	return &resolver{Resolver: config.NewResolver(file, schema()), env: env, config: newConfig()}
}

// readable reports whether the file is one for OpenStack at all.
func (r *resolver) readable() bool {
	switch {
	case r.File.Blank():
		r.Problems.Errorf(config.Position{Path: r.File.Path}, "%s", textNoConfig)
	case r.File.Format == config.YAML:
		r.Problems.Errorf(config.Position{Path: r.File.Path}, "a cloud-config for %s is not written in YAML but in sections such as [Global]", ProviderName)
	default:
		return true
	}

	return false
}

func globalName(key string) config.Name { return config.Name{Section: "Global", Key: key} }

func (r *resolver) note(message string) {
	r.Problems = append(r.Problems, config.Problem{Severity: config.Note, Message: message})
}

// errorf reports an invalid or missing value of a key in [Global]. It is reported where clouds.yaml
// has it, or would have it if the cloud-config has not.
func (r *resolver) errorf(key, format string, args ...any) {
	if at, name := r.inCloud(key); name != "" {
		r.Problems.Errorf(config.Position{Path: at}, "cloud %q: %s: %s", r.cloud.Name, name, fmt.Sprintf(format, args...))

		return
	}
	r.Errorf(globalName(key), format, args...)
}

// warnf reports a questionable value of a key in [Global], in the same way.
func (r *resolver) warnf(key, format string, args ...any) {
	if at, name := r.inCloud(key); name != "" {
		r.Problems.Warnf(config.Position{Path: at}, "cloud %q: %s: %s", r.cloud.Name, name, fmt.Sprintf(format, args...))

		return
	}
	r.Warnf(globalName(key), format, args...)
}

// spelled writes a key of [Global]: as it is in clouds.yaml, with its place, if its value comes
// from there or would.
func (r *resolver) spelled(key string) string {
	at, name := r.inCloud(key)
	switch {
	case name == "":
		return key
	case r.placeInClouds(key) == "":
		return name
	}

	return fmt.Sprintf("%s (set in %s)", name, at)
}

// placeInClouds is empty if the value of a key is not from clouds.yaml.
func (r *resolver) placeInClouds(key string) string {
	at := r.Origins[globalName(key)]
	if at == "default" {
		return ""
	}

	return at
}

// checkRegion warns of a region that provider IDs cannot have.
func (r *resolver) checkRegion() {
	region := r.config.Global.Region
	switch {
	case !r.config.regional:
	case region == "":
		r.Problems.Warnf(config.Position{}, "environment %s has no effect without %s", variableRegional, globalName("region"))
	case !nodes.ValidRegion(region):
		r.errorf("region", "%q cannot be part of a provider ID", region)
	}
}

// checkNetworking reads the order of addresses.
func (r *resolver) checkNetworking() {
	n := r.config.Networking
	order, err := address.ParsePrefixes(n.AddressSortOrder)
	if err != nil {
		for problem := range strings.SplitSeq(err.Error(), "\n") {
			r.Warnf(config.Name{Section: "Networking", Key: "address-sort-order"}, "%s: it is ignored", problem)
		}
	}
	r.config.sortOrder = order
	for _, network := range n.InternalNetworkName {
		if slices.Contains(n.PublicNetworkName, network) {
			r.Warnf(config.Name{Section: "Networking", Key: "internal-network-name"}, "%q is ignored: it is a public-network-name", network)
		}
	}
}
