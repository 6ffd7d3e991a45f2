package vsphere

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
)

// Texts of the existing controller manager that users search for.
const (
	textNoPlace      = "either load balancer service id or T1 gateway path required"
	textNoTCPProfile = "either load balancer TCP application profile name or path required"
	textNoUDPProfile = "either load balancer UDP application profile name or path required"
	textSize         = "load balancer size is invalid. Valid values are: DLB,LARGE,MEDIUM,SMALL,XLARGE"
	textNoClass      = "no default load balancer class defined"
	textNoPool       = "default load balancer class: ipPoolName and ipPoolID is empty"
	textTwoPools     = "either load balancer ipPoolName or ipPoolID can be set"
	textPoolPath     = "want the ID of an IP pool, not a path"
	textTags         = `unmarshalling load balancer tags failed: want a JSON object of strings, in INI files as in {\"team\": \"net\"}`
)

// LoadBalancer is the section for load balancers in NSX-T. Keys of classes in it are those of
// the class default. Load balancers are enabled by a class, or by size, lb-service-id,
// tier1-gateway-path or a pool; they require [NSXT].
type LoadBalancer struct {
	// Size is that of the load balancer service: SMALL, MEDIUM, LARGE, XLARGE or DLB. Required
	// without lb-service-id.
	Size string `gcfg:"size"`
	// LBServiceID is the ID of a load balancer service that is not managed by this
	// controller.
	// Default: a load balancer service for the cluster, which exists as long as a Service needs it
	LBServiceID string `gcfg:"lb-service-id"`
	// Tier1GatewayPath is the path of the tier-1 gateway of the load balancer service, such as
	// /infra/tier-1s/k8s. Required without lb-service-id.
	Tier1GatewayPath Tier1Path `gcfg:"tier1-gateway-path"`
	// SNATDisabled leaves clients their addresses. Members must reach clients through the
	// tier-1 gateway then. Pools that exist change with their next other change.
	// Default: false
	SNATDisabled bool `gcfg:"snat-disabled"`
	// Tags are tags of new objects, by scope: a JSON object of strings such as {\"team\": \"net\"}, in
	// YAML files a mapping.
	// The tag owner replaces the default owner; objects with another owner are then no longer
	// known.
	Tags Tags `gcfg:"tags"`
	// SweepDefaultClusterName has objects of Services that no longer exist deleted although
	// --cluster-name is the default, kubernetes. No other cluster at the same NSX-T manager may
	// have this name then.
	// Default: false
	SweepDefaultClusterName bool `gcfg:"sweep-default-cluster-name"`
	LoadBalancerClass
}

// Tags are tags by scope.
type Tags map[string]string

// UnmarshalText reads a JSON object.
func (t *Tags) UnmarshalText(text []byte) error {
	*t = nil
	if err := json.Unmarshal(text, (*map[string]string)(t)); err != nil {
		return fmt.Errorf("%s: %w", textTags, err)
	}

	return nil
}

// String formats the tags as they are read.
func (t Tags) String() string {
	if len(t) == 0 {
		return ""
	}
	text, _ := json.Marshal(map[string]string(t)) //nolint:errchkjson // texts

	return string(text)
}

// LoadBalancerClass is the section for one class, which the annotation
// loadbalancer.vmware.io/class selects. What it leaves out is that of [LoadBalancer]: name and
// ID, or name and path, are one setting.
type LoadBalancerClass struct {
	// IPPoolName is the display name of the IP pool with the addresses of load balancers. A name
	// or an ID is required for the class default.
	IPPoolName string `gcfg:"ip-pool-name"`
	// IPPoolID is the ID of that pool, instead of a name.
	IPPoolID string `gcfg:"ip-pool-id"`
	// IPPoolNameIPv6 is the display name of the IP pool with IPv6 addresses. It is required for
	// dual stack.
	// Default: the other pool
	IPPoolNameIPv6 string `gcfg:"ip-pool-name-ipv6"`
	// IPPoolIDIPv6 is the ID of that pool, instead of a name.
	IPPoolIDIPv6 string `gcfg:"ip-pool-id-ipv6"`
	// TCPAppProfileName is the display name of the application profile of TCP ports, an
	// LBFastTcpProfile, such as default-tcp-lb-app-profile. A name or a path is required in
	// [LoadBalancer], also without TCP ports.
	TCPAppProfileName string `gcfg:"tcp-app-profile-name"`
	// TCPAppProfilePath is the path of that profile. It takes precedence over the name.
	TCPAppProfilePath string `gcfg:"tcp-app-profile-path"`
	// UDPAppProfileName is the display name of the application profile of UDP ports, an
	// LBFastUdpProfile, such as default-udp-lb-app-profile. A name or a path is required in
	// [LoadBalancer], also without UDP ports.
	UDPAppProfileName string `gcfg:"udp-app-profile-name"`
	// UDPAppProfilePath is the path of that profile. It takes precedence over the name.
	UDPAppProfilePath string `gcfg:"udp-app-profile-path"`
	// PersistenceProfilePath is the path of the persistence profile of Services with
	// sessionAffinity ClientIP, such as
	// /infra/lb-persistence-profiles/default-source-ip-lb-persistence-profile.
	// Default: sessionAffinity has no effect
	PersistenceProfilePath string `gcfg:"persistence-profile-path"`
}

// keyPair is a setting that two keys can have.
type keyPair struct {
	id, name       *string
	idKey, nameKey string
	// pool means that the setting is a pool of addresses, and id no path.
	pool bool
}

func (p keyPair) ref() request.Ref { return request.Ref{ID: *p.id, Name: *p.name} }

// pairs returns the settings of a class that two keys can have.
func (c *LoadBalancerClass) pairs() []keyPair {
	return []keyPair{
		{&c.IPPoolID, &c.IPPoolName, "ip-pool-id", "ip-pool-name", true},
		{&c.IPPoolIDIPv6, &c.IPPoolNameIPv6, "ip-pool-id-ipv6", "ip-pool-name-ipv6", true},
		{&c.TCPAppProfilePath, &c.TCPAppProfileName, "tcp-app-profile-path", "tcp-app-profile-name", false},
		{&c.UDPAppProfilePath, &c.UDPAppProfileName, "udp-app-profile-path", "udp-app-profile-name", false},
	}
}

// class returns the class as load balancers use it.
func (c *LoadBalancerClass) class(name string) request.Class {
	p := c.pairs()

	return request.Class{
		Name: name, IPPool: p[0].ref(), IPPoolIPv6: p[1].ref(), TCP: p[2].ref(), UDP: p[3].ref(), PersistencePath: c.PersistenceProfilePath,
	}
}

// hasLoadBalancers reports whether there are load balancers.
func (c *Config) hasLoadBalancers() bool {
	lb := &c.LoadBalancer

	return len(c.LoadBalancerClass) > 0 || lb.Size != "" || lb.LBServiceID != "" || lb.Tier1GatewayPath != "" || lb.IPPoolName != "" || lb.IPPoolID != ""
}

// balancing returns the settings of load balancers.
func (c *Config) balancing() request.Config {
	settings := request.Config{
		LBServiceID: c.LoadBalancer.LBServiceID, Tier1: string(c.LoadBalancer.Tier1GatewayPath), Size: c.LoadBalancer.Size,
		SNATDisabled: c.LoadBalancer.SNATDisabled, Tags: c.LoadBalancer.Tags, MaxTargets: c.maxTargets,
		Classes: map[string]request.Class{request.DefaultClass: c.LoadBalancer.class(request.DefaultClass)},
	}
	for name, class := range c.LoadBalancerClass {
		settings.Classes[name] = class.class(name)
	}

	return settings
}

func balancerName(key string) config.Name { return config.Name{Section: "LoadBalancer", Key: key} }

func className(sub, key string) config.Name {
	return config.Name{Section: "LoadBalancerClass", Sub: sub, Key: key}
}

// checkLoadBalancers reports what keeps load balancers from being made, and completes classes.
func (r *resolver) checkLoadBalancers() {
	lb := &r.config.LoadBalancer
	if !r.config.hasLoadBalancers() {
		if lb.SNATDisabled || len(lb.Tags) > 0 || lb.LoadBalancerClass != (LoadBalancerClass{}) {
			r.Warnf(balancerName(""), "has no effect without %s, %s or a pool", r.Spell(balancerName("lb-service-id")), r.Spell(balancerName("tier1-gateway-path")))
		}

		return
	}
	problem := func(wrong bool, key, text string) {
		if wrong {
			r.errorf(balancerName(key), "%s", text)
		}
	}
	either := func(text, one, other string) string {
		return fmt.Sprintf("%s: set %s or %s", text, r.Spell(balancerName(one)), r.Spell(balancerName(other)))
	}
	problem(lb.LBServiceID == "" && lb.Tier1GatewayPath == "", "", either(textNoPlace, "lb-service-id", "tier1-gateway-path"))
	problem(strings.Contains(lb.LBServiceID, "/"), "lb-service-id", "want the ID of a load balancer service, not a path")
	problem(lb.TCPAppProfileName == "" && lb.TCPAppProfilePath == "", "", either(textNoTCPProfile, "tcp-app-profile-name", "tcp-app-profile-path"))
	problem(lb.UDPAppProfileName == "" && lb.UDPAppProfilePath == "", "", either(textNoUDPProfile, "udp-app-profile-name", "udp-app-profile-path"))
	sizes := []string{"DLB", "LARGE", "MEDIUM", "SMALL", "XLARGE"}
	problem(!slices.Contains(sizes, lb.Size) && (lb.Size != "" || lb.LBServiceID == ""), "size", textSize)
	problem(lb.IPPoolName != "" && lb.IPPoolID != "", "ip-pool-id", textTwoPools)
	problem(lb.IPPoolNameIPv6 != "" && lb.IPPoolIDIPv6 != "", "ip-pool-id-ipv6", textTwoPools)
	r.checkPaths(balancerName, &lb.LoadBalancerClass)
	r.completeClasses()
	r.checkTags()
}

// completeClasses gives each class what it leaves out: what [LoadBalancer] has, and for profiles
// what the class default has, if there is one.
func (r *resolver) completeClasses() {
	names := slices.Sorted(maps.Keys(r.config.LoadBalancerClass))
	if i := slices.Index(names, request.DefaultClass); i >= 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, request.DefaultClass)
	}
	for _, name := range names {
		class := r.config.LoadBalancerClass[name]
		if name == "" {
			r.errorf(className("", ""), "want a name, as in %s", r.Spell(className("public", "")))
		}
		r.checkPaths(func(key string) config.Name { return className(name, key) }, class)
		for _, p := range class.pairs() {
			if *p.id != "" && *p.name != "" {
				r.Warnf(className(name, p.nameKey), "is ignored: %s is set", r.Spell(className(name, p.idKey)))
			}
		}
		if fallback := r.config.LoadBalancerClass[request.DefaultClass]; fallback != nil && name != request.DefaultClass {
			r.inheritClass(name, fallback, func(key string) config.Name { return className(request.DefaultClass, key) }, true)
		}
		r.inheritClass(name, &r.config.LoadBalancer.LoadBalancerClass, balancerName, false)
	}
	lb := &r.config.LoadBalancer
	fallback, ok := r.config.LoadBalancerClass[request.DefaultClass]
	switch {
	case ok && fallback.IPPoolID == "" && fallback.IPPoolName == "":
		r.errorf(className(request.DefaultClass, ""), textNoPool)
	case !ok && lb.IPPoolID == "" && lb.IPPoolName == "":
		r.errorf(balancerName(""), "%s: set %s or %s", textNoClass, r.Spell(balancerName("ip-pool-name")), r.Spell(balancerName("ip-pool-id")))
	}
}

// checkPaths reports an ID that is a path, and a path that is none.
func (r *resolver) checkPaths(key func(string) config.Name, class *LoadBalancerClass) {
	for _, p := range class.pairs() {
		switch isPath := strings.Contains(*p.id, "/"); {
		case p.pool && isPath:
			r.errorf(key(p.idKey), textPoolPath)
		case !p.pool && *p.id != "" && !isPath:
			r.errorf(key(p.idKey), "want the path of an application profile, such as /infra/lb-app-profiles/%s", *p.id)
		}
	}
	if path := class.PersistenceProfilePath; path != "" && !strings.Contains(path, "/") {
		r.errorf(key("persistence-profile-path"), "want the path of a persistence profile, such as /infra/lb-persistence-profiles/%s", path)
	}
}

// inheritClass gives a class the settings of another one that it leaves out, pools or only
// profiles.
func (r *resolver) inheritClass(name string, from *LoadBalancerClass, key func(string) config.Name, profiles bool) {
	class := r.config.LoadBalancerClass[name]
	others := from.pairs()
	for i, p := range class.pairs() {
		switch {
		case p.pool && profiles:
		case p.pool && *p.id == "" && *p.name != "" && *others[i].id != "":
			r.Warnf(className(name, p.nameKey), "is used for new load balancers, not %s, which the existing controller manager prefers", r.Spell(key(p.idKey)))
		case p.ref().IsZero():
			*p.id, *p.name = *others[i].id, *others[i].name
			r.inheritedByClass(className(name, p.idKey), key(p.idKey), *p.id)
			r.inheritedByClass(className(name, p.nameKey), key(p.nameKey), *p.name)
		}
	}
	if class.PersistenceProfilePath == "" {
		class.PersistenceProfilePath = from.PersistenceProfilePath
		r.inheritedByClass(className(name, "persistence-profile-path"), key("persistence-profile-path"), class.PersistenceProfilePath)
	}
}

// inheritedByClass notes that a class has the value of another key.
func (r *resolver) inheritedByClass(name, from config.Name, value string) {
	if value != "" {
		r.Origins[name] = "inherited from " + config.Name{Section: from.Section, Sub: from.Sub}.String() + " at " + r.Origin(from)
	}
}

// checkTags reports tags that NSX-T does not accept, or that are those of this controller.
func (r *resolver) checkTags() {
	const own = 6 // scopes
	tags, key := r.config.LoadBalancer.Tags, balancerName("tags")
	if len(tags) > nsx.MaxTags-own {
		r.errorf(key, "%d tags, at most %d are possible", len(tags), nsx.MaxTags-own)
	}
	for _, scope := range slices.Sorted(maps.Keys(tags)) {
		if utf8.RuneCountInString(scope) > nsx.MaxScope || utf8.RuneCountInString(tags[scope]) > nsx.MaxTag {
			r.errorf(key, "%s: a scope can have %d characters, and its tag %d", scope, nsx.MaxScope, nsx.MaxTag)
		}
		if slices.Contains(policy.OwnScopes(), scope) {
			r.Warnf(key, "%s is ignored: it is a tag of this controller", scope)
		}
	}
	if owner, ok := tags[policy.ScopeOwner]; ok && owner != policy.Program {
		r.note("objects in NSX-T belong to load balancers of this cluster only with the tag owner " + owner)
	}
}
