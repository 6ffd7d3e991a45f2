package openstack

import "github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"

// requestSettings returns what load balancers depend on, in a cluster of this name.
func (c *Config) requestSettings(cluster string) request.Settings {
	l := c.LoadBalancer
	settings := request.Settings{
		ClusterName: cluster,
		Networks:    request.Networks(l.Networks),
		Classes:     make(map[string]request.Networks, len(c.LoadBalancerClass)),
		Monitor: request.MonitorSettings{
			Create: l.CreateMonitor, Delay: l.MonitorDelay.Seconds(), Timeout: l.MonitorTimeout.Seconds(),
			MaxRetries: int(l.MonitorMaxRetries), MaxRetriesDown: int(l.MonitorMaxRetriesDown),
		},
		InternalOnly:         l.InternalLB,
		NodeSelector:         l.NodeSelector,
		FlavorID:             l.FlavorID,
		AvailabilityZone:     l.AvailabilityZone,
		TLSContainerRef:      l.DefaultTLSContainerRef,
		ContainerStore:       l.ContainerStore,
		ManageSecurityGroups: l.ManageSecurityGroups,
	}
	if c.methodSet {
		settings.Method = l.LBMethod
	}
	if l.EnableIngressHostname {
		settings.IngressHostnameSuffix = l.IngressHostnameSuffix
	}
	for name, class := range c.LoadBalancerClass {
		settings.Classes[name] = request.Networks(class.Networks)
	}

	return settings
}
