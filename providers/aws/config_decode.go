package aws

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// decodeProblems tells all that is wrong with a cloud-config.
func decodeProblems(file *config.File) config.Problems {
	_, _, problems := decode(file)
	return problems
}

// explain lists the settings that a cloud-config makes effective.
func explain(file *config.File) []config.Setting {
	if file == nil {
		file = new(config.File)
	}
	cfg, origins, _ := decode(file)
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

// decode reads the configuration out of a cloud-config and fills in defaults. It
// reports everything that is wrong; the configuration is usable if none of it is
// an error. Without a file, which is nil then, all is as by default.
func decode(file *config.File) (*Config, config.Origins, config.Problems) {
	if file == nil {
		file = new(config.File)
	}
	settings := config.NewSettings()
	r := &resolver{file: file, schema: schema(), config: new(Config), origins: config.Origins{}}
	if file.Format == config.YAML {
		r.problems.Errorf(config.Position{Path: file.Path}, "a cloud-config for %s is not written in YAML but in sections such as [Global]", ProviderName)
		return r.config, r.origins, r.problems
	}
	r.problems = append(file.Decode(r.schema, settings, r.config), settings.Validate(file)...)
	r.config.deleteByName = settings.NodeDeletion.ByName
	if name := settings.Global.Provider; name != "" && name != ProviderName {
		r.errorf("provider", "this file is for provider %q, not for %s", name, ProviderName)
	}
	r.chooseRegion()
	r.checkCluster()
	r.checkRole()
	r.chooseFamilies()
	r.compileTopology()
	r.checkNetworkSettings()
	r.collectOverrides()
	r.problems.Sort()
	if settings.Multicloud.Strict {
		r.problems = r.problems.Strict()
	}
	return r.config, r.origins, r.problems
}

// resolver turns what was written into what is meant.
type resolver struct {
	file     *config.File
	schema   config.Schema
	config   *Config
	origins  config.Origins
	problems config.Problems
}

func globalName(key string) config.Name { return config.Name{Section: "Global", Key: key} }

// errorf reports a bad value of a key in [Global].
func (r *resolver) errorf(key, format string, args ...any) {
	name := globalName(key)
	r.problems.Errorf(r.file.At(r.schema, name), "%s: %s", name, fmt.Sprintf(format, args...))
}

// warnf reports what is doubtful about a key in [Global].
func (r *resolver) warnf(key, format string, args ...any) {
	name := globalName(key)
	r.problems.Warnf(r.file.At(r.schema, name), "%s: %s", name, fmt.Sprintf(format, args...))
}

// fallBack notes that a key has its default.
func (r *resolver) fallBack(key string) { r.origins[globalName(key)] = "default" }

// chooseRegion makes Region the one that counts.
func (r *resolver) chooseRegion() {
	g := &r.config.Global
	if g.Zone == "" {
		return
	}
	region := inventory.RegionOfZone(g.Zone)
	switch {
	case region == "":
		r.errorf("Zone", "%q is not an availability zone such as us-west-2a", g.Zone)
		return
	case g.Region != "" && g.Region != region:
		r.warnf("Region", "%s is ignored: Zone is in %s", g.Region, region)
	}
	g.Region = region
	r.origins[globalName("Region")] = "that of Zone at " + r.file.At(r.schema, globalName("Zone")).String()
}

func (r *resolver) checkCluster() {
	g := r.config.Global
	if g.KubernetesClusterTag != "" && g.KubernetesClusterID != "" && g.KubernetesClusterTag != g.KubernetesClusterID {
		r.errorf("KubernetesClusterID", "%q is not the same as KubernetesClusterTag, which is %q", g.KubernetesClusterID, g.KubernetesClusterTag)
	}
}

func (r *resolver) checkRole() {
	if g := r.config.Global; g.SourceARN != "" && g.RoleARN == "" {
		r.warnf("SourceARN", "is ignored without RoleARN")
	}
}

func (r *resolver) chooseFamilies() {
	g := &r.config.Global
	if len(g.NodeIPFamilies) == 0 {
		g.NodeIPFamilies = Families{string(address.IPv4)}
		r.fallBack("NodeIPFamilies")
	}
	for _, name := range g.NodeIPFamilies {
		family := address.Family(name)
		switch {
		case family != address.IPv4 && family != address.IPv6:
			r.warnf("NodeIPFamilies", "%q is ignored: a line can say ipv4 or ipv6", name)
		case slices.Contains(r.config.families, family):
			r.warnf("NodeIPFamilies", "%s is there twice", name)
		default:
			r.config.families = append(r.config.families, family)
		}
	}
	if len(r.config.families) == 0 {
		r.errorf("NodeIPFamilies", "no family is left for node addresses in %q: a line can say ipv4 or ipv6", []string(g.NodeIPFamilies))
	}
}

func (r *resolver) compileTopology() {
	g := &r.config.Global
	if g.SupportedTopologyInstanceTypePattern == "" {
		g.SupportedTopologyInstanceTypePattern = defaultTopologyPattern
		r.fallBack("SupportedTopologyInstanceTypePattern")
	}
	r.config.topologyTypes = regexp.MustCompile(string(g.SupportedTopologyInstanceTypePattern)) // UnmarshalText did, too
}

// checkNetworkSettings looks at what only network load balancers need. What is
// wrong with it keeps nothing else from working.
func (r *resolver) checkNetworkSettings() {
	g := &r.config.Global
	bad := func(key, value, known string) {
		name := globalName(key)
		r.warnf(key, "%q is not %s: Services that ask for a network load balancer do not get one", value, known)
		if r.config.badNetworkSetting == nil {
			r.config.badNetworkSetting = apierr.Mark(apierr.ErrInvalid,
				fmt.Errorf("the cloud-config is wrong for network load balancers: %s is %q, not %s", name, value, known))
		}
	}
	switch g.ClusterServiceLoadBalancerHealthProbeMode {
	case "":
		g.ClusterServiceLoadBalancerHealthProbeMode = probeServicePort
		r.fallBack("ClusterServiceLoadBalancerHealthProbeMode")
	case probeServicePort, probeShared:
	default:
		bad("ClusterServiceLoadBalancerHealthProbeMode", g.ClusterServiceLoadBalancerHealthProbeMode, probeServicePort+" or "+probeShared)
	}
	if mode := g.NLBSecurityGroupMode; mode != "" && mode != groupsManaged {
		bad("NLBSecurityGroupMode", mode, groupsManaged)
	}
	switch port := g.ClusterServiceSharedLoadBalancerHealthProbePort; {
	case port == 0:
		g.ClusterServiceSharedLoadBalancerHealthProbePort = defaultProbePort
		r.fallBack("ClusterServiceSharedLoadBalancerHealthProbePort")
	case port < 0 || port > 65535:
		r.errorf("ClusterServiceSharedLoadBalancerHealthProbePort", "%d is not a port number (1 to 65535)", port)
	}
	if g.ClusterServiceSharedLoadBalancerHealthProbePath == "" {
		g.ClusterServiceSharedLoadBalancerHealthProbePath = defaultProbePath
		r.fallBack("ClusterServiceSharedLoadBalancerHealthProbePath")
	}
}

// clusterID is the cluster that the file names, the zero value without one.
func (c *Config) clusterID() cluster.ID {
	return cluster.ID{
		Name:   cmp.Or(c.Global.KubernetesClusterTag, c.Global.KubernetesClusterID),
		Legacy: c.Global.KubernetesClusterTag != "",
	}
}

// balancing is what load balancers depend on, but for the name of the cluster,
// which comes with each call.
func (c *Config) balancing(id identity) request.Config {
	g := c.Global
	return request.Config{
		Cluster:                 id.Cluster,
		VPC:                     id.VPC,
		LeaveNodeSecurityGroups: g.DisableSecurityGroupIngress,
		ClassicSecurityGroup:    g.ElbSecurityGroup,
		ManagedNetworkGroups:    g.NLBSecurityGroupMode == groupsManaged,
		SharedProbe:             g.ClusterServiceLoadBalancerHealthProbeMode == probeShared,
		SharedProbePort:         g.ClusterServiceSharedLoadBalancerHealthProbePort,
		SharedProbePath:         g.ClusterServiceSharedLoadBalancerHealthProbePath,
		BadNetworkSetting:       c.badNetworkSetting,
	}
}
