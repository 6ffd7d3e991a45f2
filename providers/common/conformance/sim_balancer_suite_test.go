package conformance

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// simBalancerSuite is the suite of a provider over this cloud.
func simBalancerSuite(build simBuild) LoadBalancerSuite {
	suite := LoadBalancerSuite{
		Provider:    "sim",
		NewCloud:    build.newBalancerCloud,
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

// newBalancerCloud makes a test cloud, with a Kubernetes API if there is need.
func (b simBuild) newBalancerCloud(t testing.TB) LoadBalancerCloud {
	cloud := &simBalancerCloud{newSimCloud(t, b)}
	if b.noting {
		return &simStore{cloud}
	}

	return cloud
}

// simStore is the cloud in memory with a Kubernetes API.
type simStore struct{ *simBalancerCloud }

// Store keeps what the provider noted in a Service as long as it has that UID.
func (s *simStore) Store(_ testing.TB, cluster string, service *v1.Service) *v1.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := cluster + "/" + service.Name
	stored := service.DeepCopy()
	if before := s.stored[key]; before != nil && before.UID == service.UID && before.Annotations[simNote] != "" {
		metav1.SetMetaDataAnnotation(&stored.ObjectMeta, simNote, before.Annotations[simNote])
	}
	s.stored[key] = stored

	return stored.DeepCopy()
}

// newBalancers builds the load balancers of a provider.
func (b simBuild) newBalancers(c *simCloud) cloudprovider.LoadBalancer {
	s := &simBalancers{
		cloud: c, timeout: b.timeout, sparse: b.sparse, patient: b.patient, noting: b.noting,
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
