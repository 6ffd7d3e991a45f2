package aws

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// decodeProblems returns all problems of a cloud-config, which names no files.
func decodeProblems(file *config.File, _ config.Scope) config.Problems {
	_, problems := decode(file)

	return problems
}

// explain lists the effective settings of a cloud-config.
func explain(file *config.File) []config.Setting {
	r := resolve(file)

	return r.Explain(r.config)
}

// decode reads the configuration from a cloud-config and applies defaults. It
// reports all problems; the configuration is usable if none of them is an
// error. Without a file, which is nil then, all settings have their defaults.
func decode(file *config.File) (*Config, config.Problems) {
	r := resolve(file)

	return r.config, r.Finish()
}

// resolver converts a decoded cloud-config to settings.
type resolver struct {
	*config.Resolver
	config *Config
}

func resolve(file *config.File) *resolver {
	r := &resolver{Resolver: config.NewResolver(file, schema()), config: new(Config)}
	if r.File.Format == config.YAML {
		r.Problems.Errorf(config.Position{Path: r.File.Path}, "a cloud-config for %s is not written in YAML but in sections such as [Global]", ProviderName)

		return r
	}
	r.Decode(ProviderName, r.config)
	r.config.deleteByName, r.config.deletionLimit = r.Settings.NodeDeletion.ByName, r.Settings.NodeDeletion.Limit
	r.config.maxTargets = r.Settings.LoadBalancer.MaxTargets
	r.chooseRegion()
	r.checkIDs()
	r.checkCluster()
	r.checkRole()
	r.chooseFamilies()
	r.compileTopology()
	r.checkNetworkSettings()
	r.collectOverrides()

	return r
}

func globalName(key string) config.Name { return config.Name{Section: "Global", Key: key} }

// errorf reports an invalid value of a key in [Global].
func (r *resolver) errorf(key, format string, args ...any) {
	r.Errorf(globalName(key), format, args...)
}

// warnf reports a questionable value of a key in [Global].
func (r *resolver) warnf(key, format string, args ...any) { r.Warnf(globalName(key), format, args...) }

// chooseRegion sets Region to the region of Zone, if there is one.
func (r *resolver) chooseRegion() {
	g := &r.config.Global
	if g.Zone == "" {
		r.checkRegion(globalName("Region"), g.Region)

		return
	}
	region := inventory.RegionOfZone(g.Zone)
	switch {
	case region == "":
		r.errorf("Zone", "%q is not an availability zone such as us-west-2a", g.Zone)

		return
	case region == g.Zone:
		r.warnf("Zone", "%q is a region: set Region, or a zone such as %[1]sa", g.Zone)
	case g.Region != "" && g.Region != region:
		r.warnf("Region", "%s is ignored: Zone is in %s", g.Region, region)
	}
	r.checkRegion(globalName("Zone"), region)
	g.Region = region
	r.Origins[globalName("Region")] = "that of Zone at " + r.Origin(globalName("Zone"))
}

func (r *resolver) checkCluster() {
	g := r.config.Global
	if g.KubernetesClusterTag != "" && g.KubernetesClusterID != "" && g.KubernetesClusterTag != g.KubernetesClusterID {
		r.errorf("KubernetesClusterID", "%q is not the same as KubernetesClusterTag, which is %q", g.KubernetesClusterID, g.KubernetesClusterTag)
	}
}

func (r *resolver) checkRole() {
	g := r.config.Global
	if g.SourceARN != "" && g.RoleARN == "" {
		r.warnf("SourceARN", "is ignored without RoleARN")
	} else if g.SourceARN != "" && !arn.IsARN(g.SourceARN) {
		r.warnf("SourceARN", "%q is not an ARN such as arn:aws:eks:us-west-2:123456789012:cluster/name", g.SourceARN)
	}
}

func (r *resolver) chooseFamilies() {
	name, g := globalName("NodeIPFamilies"), &r.config.Global
	lines := r.File.Lines(r.Schema, name)
	config.DefaultList(r.Resolver, name, &g.NodeIPFamilies, string(address.IPv4))
	var unknown config.Problems
	for i, item := range g.NodeIPFamilies {
		family := address.Family(strings.TrimSpace(item))
		switch {
		case family != address.IPv4 && family != address.IPv6:
			unknown.Warnf(lines[i], "%s: %q must be ipv4 or ipv6: write one line for each, the preferred one first", name, item)
		case slices.Contains(r.config.families, family):
			r.Problems.Warnf(lines[i], "%s: %s is listed twice", name, family)
		default:
			r.config.families = append(r.config.families, family)
		}
	}
	if len(r.config.families) == 0 { // without any, Nodes have no addresses
		for i := range unknown {
			unknown[i].Severity = config.Error
		}
	}
	r.Problems = append(r.Problems, unknown...)
}

func (r *resolver) compileTopology() {
	g := &r.config.Global
	config.Default(r.Resolver, globalName("SupportedTopologyInstanceTypePattern"), &g.SupportedTopologyInstanceTypePattern, defaultTopologyPattern)
	r.config.topologyTypes = regexp.MustCompile(string(g.SupportedTopologyInstanceTypePattern)) // UnmarshalText has validated it
}

// checkNetworkSettings validates the settings for network load balancers. An
// error in them affects nothing else.
func (r *resolver) checkNetworkSettings() {
	g := &r.config.Global
	bad := func(key, value, known string) {
		name := globalName(key)
		r.warnf(key, "%q is not %s: Services that request a network load balancer do not get one", value, known)
		if r.config.badNetworkSetting == nil {
			r.config.badNetworkSetting = apierr.Mark(apierr.ErrInvalid,
				fmt.Errorf("the cloud-config is wrong for network load balancers: %s is %q, not %s", name, value, known))
		}
	}
	const (
		modeKey = "ClusterServiceLoadBalancerHealthProbeMode"
		portKey = "ClusterServiceSharedLoadBalancerHealthProbePort"
		pathKey = "ClusterServiceSharedLoadBalancerHealthProbePath"
	)
	config.Default(r.Resolver, globalName(modeKey), &g.ClusterServiceLoadBalancerHealthProbeMode, probeServicePort)
	if mode := g.ClusterServiceLoadBalancerHealthProbeMode; mode != probeServicePort && mode != probeShared {
		bad(modeKey, mode, probeServicePort+" or "+probeShared)
	}
	if mode := g.NLBSecurityGroupMode; mode != "" && mode != groupsManaged {
		bad("NLBSecurityGroupMode", mode, groupsManaged)
	}
	config.Default(r.Resolver, globalName(portKey), &g.ClusterServiceSharedLoadBalancerHealthProbePort, defaultProbePort)
	if port := g.ClusterServiceSharedLoadBalancerHealthProbePort; port < 0 || port > 65535 {
		r.errorf(portKey, "%d is not a port number (1 to 65535)", port)
	}
	config.Default(r.Resolver, globalName(pathKey), &g.ClusterServiceSharedLoadBalancerHealthProbePath, defaultProbePath)
	if path := g.ClusterServiceSharedLoadBalancerHealthProbePath; !strings.HasPrefix(path, "/") {
		r.warnf(pathKey, "%q does not begin with a slash, as in %s", path, defaultProbePath)
	}
}

// clusterID returns the cluster of the file, the zero value if there is none.
func (c *Config) clusterID() cluster.ID {
	return cluster.ID{
		Name:   cmp.Or(c.Global.KubernetesClusterTag, c.Global.KubernetesClusterID),
		Legacy: c.Global.KubernetesClusterTag != "",
	}
}

// balancing returns the settings of load balancers, without the cluster name,
// which is part of each call.
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
		MaxTargets:              c.maxTargets,
		BadNetworkSetting:       c.badNetworkSetting,
	}
}
