package aws

import (
	"errors"
	"time"

	"k8s.io/cloud-provider/api"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

const (
	// callTime is how long a call takes on the clock of the region. It is short
	// enough for a new security group to be unknown to the load balancer APIs when
	// the load balancer is created.
	callTime = time.Second
	// retryTime is how long the service controller waits before it tries again
	// what AWS is not ready for. It is long enough for the network interfaces of a
	// deleted load balancer to be gone.
	retryTime = 5 * time.Minute
)

// newClock returns the clock of a region. All regions start at the same time, so
// that each can restore the state of another one.
func newClock() *clocktesting.FakeClock {
	return clocktesting.NewFakeClock(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
}

// moment is a state of a region, with its time: what is due after a delay is
// still due when the state is restored.
type moment struct {
	state *sim.Snapshot
	at    time.Time
}

func (s *environment) save() moment { return moment{s.Snapshot(), s.clock.Now()} }

func (s *environment) load(m moment) {
	s.described = nil
	s.Restore(m.state)
	s.clock.SetTime(m.at)
}

// retry runs an operation as the service controller does: again some time later
// as long as the error is that AWS is not ready. Other errors are returned.
func (s *environment) retry(operation func() error) error {
	var err error
	for range 3 {
		if err = operation(); !notReady(err) {
			return err
		}
		s.clock.Step(retryTime)
	}

	return err
}

// notReady reports whether an operation is to be tried again later because
// something is in use.
func notReady(err error) bool {
	_, later := errors.AsType[*api.RetryError](err)
	_, incomplete := errors.AsType[*service.IncompleteError](err)

	return later && !incomplete || errors.Is(err, securitygroup.ErrInUse)
}
