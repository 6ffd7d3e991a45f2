package config

import (
	"fmt"
	"math"
)

// Settings are the keys that every cloud-config can hold, whatever its
// provider. They are next to the provider's own keys, in [Global] and in
// sections that the upstream controllers ignore.
type Settings struct {
	Global struct {
		// Provider is the registered name of the cloud provider. If the flag
		// --cloud-provider is set, it must name the same provider.
		Provider string `gcfg:"provider"`
	}
	Multicloud struct {
		// Strict makes every unknown section and key an error at startup.
		Strict bool `gcfg:"strict"`
	}
	Controllers  Controllers
	NodeDeletion struct {
		// ByName allows the deletion of a Node without a providerID if no instance
		// has its name. Otherwise such a Node is never deleted.
		ByName bool `gcfg:"by-name"`
		// Limit is the number of Nodes that are deleted in ten minutes at most because
		// their instances are gone. The others are held back. With 0 there is no limit.
		// Default: the greater of 20 and 20 % of the Nodes
		Limit *int32 `gcfg:"limit"`
	}
	LoadBalancer struct {
		// MaxTargets is how many Nodes are behind the load balancer of each Service with
		// externalTrafficPolicy Cluster, 0 for all of them. The annotation
		// multicloud-ccm.io/max-targets of a Service takes precedence.
		// Default: all in a cluster of up to 250 Nodes, 100 in a larger one
		MaxTargets *int32 `gcfg:"max-targets"`
	}
}

// Controllers limits how much the controllers do concurrently. A flag on the
// command line takes precedence over the file, and the file over the default.
type Controllers struct {
	// ConcurrentNodeSyncs is the number of Nodes that are initialized concurrently.
	// Default: 20
	ConcurrentNodeSyncs *int32 `gcfg:"concurrent-node-syncs"`
	// ConcurrentNodeStatusUpdates is the number of Nodes whose addresses are
	// updated concurrently.
	// Default: 20
	ConcurrentNodeStatusUpdates *int32 `gcfg:"concurrent-node-status-updates"`
	// ConcurrentNodeLifecycleSyncs is the number of Nodes that are not ready and
	// are looked up concurrently.
	// Default: 10
	ConcurrentNodeLifecycleSyncs *int32 `gcfg:"concurrent-node-lifecycle-syncs"`
	// ConcurrentServiceSyncs is the number of Services that are synced
	// concurrently, 20 by default with the provider openstack.
	// Default: 10
	ConcurrentServiceSyncs *int32 `gcfg:"concurrent-service-syncs"`
	// KubeAPIQPS is the maximum number of requests per second to the Kubernetes
	// API, for each client. With -1 there is none: the numbers of concurrent syncs
	// limit the requests under way, and the API server delays what is too much.
	// Default: -1
	KubeAPIQPS *float32 `gcfg:"kube-api-qps"`
	// KubeAPIBurst is the number of requests that a client may send in a burst, if
	// there is a maximum.
	// Default: 200
	KubeAPIBurst *int32 `gcfg:"kube-api-burst"`
}

// NoLimit as kube-api-qps means that there is none.
const NoLimit float32 = -1

// NewSettings returns the settings with their defaults.
func NewSettings() *Settings {
	return &Settings{Controllers: Controllers{
		ConcurrentNodeSyncs:          new(int32(20)),
		ConcurrentNodeStatusUpdates:  new(int32(20)),
		ConcurrentNodeLifecycleSyncs: new(int32(10)),
		ConcurrentServiceSyncs:       new(int32(10)),
		KubeAPIQPS:                   new(NoLimit),
		KubeAPIBurst:                 new(int32(200)),
	}}
}

// Validate reports the settings that no controller can work with.
func (s *Settings) Validate(file *File) Problems {
	var problems Problems
	positive := func(key string, value float64) {
		if value > 0 && !math.IsInf(value, 1) {
			return
		}
		name := Name{Section: "Controllers", Key: key}
		problems.Errorf(file.At(Schema{}, name), "%s: must be a number above zero, got %v", file.Spell(Schema{}, name), value)
	}
	c := s.Controllers
	positive("concurrent-node-syncs", float64(*c.ConcurrentNodeSyncs))
	positive("concurrent-node-status-updates", float64(*c.ConcurrentNodeStatusUpdates))
	positive("concurrent-node-lifecycle-syncs", float64(*c.ConcurrentNodeLifecycleSyncs))
	positive("concurrent-service-syncs", float64(*c.ConcurrentServiceSyncs))
	if *c.KubeAPIQPS != NoLimit {
		positive("kube-api-qps", float64(*c.KubeAPIQPS))
	}
	positive("kube-api-burst", float64(*c.KubeAPIBurst))
	if most := s.LoadBalancer.MaxTargets; most != nil && *most < 0 {
		name := Name{Section: "LoadBalancer", Key: "max-targets"}
		problems.Errorf(file.At(Schema{}, name), "%s: must be a number of Nodes, or 0 for all, got %d", file.Spell(Schema{}, name), *most)
	}
	if limit := s.NodeDeletion.Limit; limit != nil && *limit < 0 {
		name := Name{Section: "NodeDeletion", Key: "limit"}
		problems.Errorf(file.At(Schema{}, name), "%s: must not be negative, got %d", file.Spell(Schema{}, name), *limit)
	}

	return problems
}

// Provider is the name in [Global] provider, or empty where the file has none.
func (f *File) Provider() (string, error) {
	settings := NewSettings()
	f.Decode(Schema{}, settings)
	if name := settings.Global.Provider; name != "" || !f.Has(Name{Section: "Global", Key: "provider"}) {
		return name, nil
	}
	name := Name{Section: "Global", Key: "provider"}

	return "", fmt.Errorf("%s: %s is empty", f.At(Schema{}, name), f.Spell(Schema{}, name))
}

// Has reports whether the file has a value for a key.
func (f *File) Has(name Name) bool {
	for _, e := range f.entries {
		if e.name.fold() == name.fold() && !e.null {
			return true
		}
	}

	return false
}
