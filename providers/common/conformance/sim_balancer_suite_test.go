package conformance

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// simBalancerSuite is the suite of a provider over this cloud.
func simBalancerSuite(build simBuild) LoadBalancerSuite {
	suite := LoadBalancerSuite{
		Provider:    "sim",
		NewCloud:    func(t testing.TB) LoadBalancerCloud { return &simBalancerCloud{newSimCloud(t, build)} },
		Malformed:   []string{"sim://", "sim://not-a-number"},
		Annotations: map[string]string{simClass: "big"},
		Internal:    map[string]string{simInternal: "true"},
		Edited:      []map[string]string{{simClass: "small"}, nil},
		Refused:     []map[string]string{{simRefused: "yes"}},
		Elsewhere:   []map[string]string{{simClass: "elsewhere"}},
		Protocols:   []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP},
		Without:     LoadBalancerCapabilities{RequestedIP: true},
		Budget:      LoadBalancerBudget{Services: 30, Create: 9, Resync: 2},
		Timeout:     build.timeout,
		Patience:    build.patience,
	}
	if build.sparse {
		suite.Protocols = nil
		suite.Without.MixedProtocols, suite.Without.Affinity = true, true
	}

	return suite
}

// newBalancers builds the load balancers of a provider.
func (b simBuild) newBalancers(c *simCloud) cloudprovider.LoadBalancer {
	s := &simBalancers{
		cloud: c, timeout: b.timeout, sparse: b.sparse, patient: b.patient,
		locks: map[string]chan struct{}{}, known: map[string]*simBalancer{},
	}
	if b.sloppy != nil {
		b.sloppy(s)
	}
	if b.balancers != nil {
		return b.balancers(s)
	}

	return s
}
