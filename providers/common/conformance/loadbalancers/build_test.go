package loadbalancers

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
)

// build is how providers are built: fast or slow, correct or as a mutant.
type build struct {
	timeout    time.Duration
	noticeTime time.Duration
	sparse     bool // the provider supports TCP alone and nothing special
	waiting    bool // the provider requests to be called again
	noting     bool // the provider writes into Services
	faulty     func(*balancers)
	balancers  func(*balancers) cloudprovider.LoadBalancer
}

// adapter returns the adapter of such a provider.
func (b build) adapter() Adapter {
	adapter := Adapter{
		Provider:    sim.Provider,
		NewCloud:    b.newCloud,
		Malformed:   []string{"sim://", "sim://not-a-number"},
		Annotations: map[string]string{annotationClass: "big"},
		Internal:    map[string]string{annotationInternal: "true"},
		Edited:      []map[string]string{{annotationClass: "small"}, nil},
		Refused:     []map[string]string{{annotationRefused: "yes"}},
		Unmanaged:   []map[string]string{{annotationClass: "unmanaged"}},
		Protocols:   []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP},
		Without:     Capabilities{RequestedIP: true},
		Budget:      Budget{Services: 30, Create: 9, Resync: 2},
		Timeout:     b.timeout,
		NoticeTime:  b.noticeTime,
		How:         How{InMemory: true},
	}
	if b.sparse {
		adapter.Protocols = nil
		adapter.Without.MixedProtocols, adapter.Without.Affinity, adapter.Without.DualStack = true, true, true
	}

	return adapter
}

// slow returns the prepared adapter of a provider with the timeouts of a real one.
func (b build) slow(t *testing.T) Adapter {
	t.Helper()
	b.timeout, b.noticeTime = 4*time.Second, 10*time.Second
	adapter, err := b.adapter().prepare()
	if err != nil {
		t.Fatal(err)
	}

	return adapter
}

// newCloud makes a test cloud, with a Kubernetes API if the provider needs it.
func (b build) newCloud(t testing.TB) Cloud {
	t.Helper()
	c := &cloud{Cloud: sim.New(t), build: b, notes: map[string]string{}, stored: map[string]*v1.Service{}}
	if b.noting {
		return &storeCloud{c}
	}

	return c
}

// connect builds a provider over the cloud.
func (b build) connect(c *cloud) cloudprovider.Interface {
	s := &balancers{
		cloud: c, timeout: b.timeout, sparse: b.sparse, waiting: b.waiting, noting: b.noting,
		locks: map[string]chan struct{}{},
	}
	if b.faulty != nil {
		b.faulty(s)
	}
	if b.balancers != nil {
		return &sim.CloudProvider{LoadBalancers: b.balancers(s)}
	}

	return &sim.CloudProvider{LoadBalancers: s}
}

// storeCloud is the in-memory cloud with a Kubernetes API.
type storeCloud struct{ *cloud }

// Store keeps the provider's note in a Service as long as it has that UID.
func (s *storeCloud) Store(_ testing.TB, cluster string, service *v1.Service) *v1.Service {
	s.Lock()
	defer s.Unlock()
	key := cluster + "/" + service.Name
	stored := service.DeepCopy()
	if before := s.stored[key]; before != nil && before.UID == service.UID && before.Annotations[annotationNote] != "" {
		metav1.SetMetaDataAnnotation(&stored.ObjectMeta, annotationNote, before.Annotations[annotationNote])
	}
	s.stored[key] = stored

	return stored.DeepCopy()
}
