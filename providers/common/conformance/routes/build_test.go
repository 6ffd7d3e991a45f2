package routes

import (
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
)

// build is how providers are built: fast or slow, correct or as a mutant.
type build struct {
	timeout    time.Duration
	noticeTime time.Duration
	faulty     func(*provider)
	routes     func(*provider) cloudprovider.Routes
}

// adapter returns the adapter of such a provider.
func (b build) adapter() Adapter {
	return Adapter{
		Provider: sim.Provider,
		NewCloud: func(t testing.TB) Cloud {
			return &cloud{Cloud: sim.New(t), build: b, notes: map[string]bool{}}
		},
		Budget:     Budget{Routes: 20, List: 1, Create: 1},
		Timeout:    b.timeout,
		NoticeTime: b.noticeTime,
		How:        How{InMemory: true},
	}
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

// provider builds a provider over the cloud.
func (b build) provider(c *cloud) cloudprovider.Routes {
	p := &provider{cloud: c, timeout: b.timeout}
	if b.faulty != nil {
		b.faulty(p)
	}
	if b.routes != nil {
		return b.routes(p)
	}

	return p
}
