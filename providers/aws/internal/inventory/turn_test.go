package inventory

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
)

var errBroken = errors.New("broken")

// TestTurnSharesFailures: a call that hangs and fails costs those who waited for
// it no call of their own, and there is a short pause before the next one.
func TestTurnSharesFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurn(clock.RealClock{}, 20*time.Second)
		asked := 0
		hang := func() error {
			asked++
			time.Sleep(20 * time.Second)
			return context.DeadlineExceeded
		}
		var all sync.WaitGroup
		begun := time.Now()
		for range 10 {
			all.Go(func() {
				if err := turns.do(t.Context(), hang); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
			time.Sleep(time.Second)
		}
		all.Wait()
		if took := time.Since(begun); asked != 1 || took != 20*time.Second {
			t.Errorf("%d calls, the last caller waited until %s", asked, took)
		}
		works := func() error { asked++; return nil }
		time.Sleep(maxPause - time.Nanosecond)
		if err := turns.do(t.Context(), works); !errors.Is(err, context.DeadlineExceeded) || asked != 1 {
			t.Errorf("in the pause: %d calls, %v", asked, err)
		}
		time.Sleep(time.Nanosecond)
		if err := turns.do(t.Context(), works); err != nil || asked != 2 {
			t.Errorf("after the pause: %d calls, %v", asked, err)
		}
	})
}

// TestTurnOfCallersThatGiveUp: what ends a caller early is not shared, and a
// failure that comes at once makes no pause.
func TestTurnOfCallersThatGiveUp(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		err    error
		takes  time.Duration
		shared bool
	}{
		"canceled":       {"the caller went away", context.Canceled, 15 * time.Second, false},
		"early deadline": {"the caller was in a hurry", context.DeadlineExceeded, 9 * time.Second, false},
		"late deadline":  {"EC2 does not answer", context.DeadlineExceeded, 10 * time.Second, true},
		"refused":        {"EC2 said so", errBroken, time.Millisecond, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				turns := newTurn(clock.RealClock{}, 20*time.Second)
				var all sync.WaitGroup
				all.Go(func() {
					_ = turns.do(t.Context(), func() error {
						time.Sleep(tc.takes)
						return tc.err
					})
				})
				synctest.Wait()
				err := turns.do(t.Context(), func() error { return nil })
				if (err != nil) != tc.shared {
					t.Errorf("%s: who waited got %v", tc.reason, err)
				}
				all.Wait()
				time.Sleep(tc.takes / pausePart)
				if err := turns.do(t.Context(), func() error { return nil }); err != nil {
					t.Errorf("%s: who came later got %v", tc.reason, err)
				}
			})
		})
	}
}

// slow is an EC2 client whose first call ends only when it is told to.
type slow struct {
	*ec2.Client

	first  sync.Once
	begun  chan struct{}
	resume chan struct{}
}

func (s *slow) DescribeInstances(ctx context.Context, in *ec2.DescribeInstancesInput, opts ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	s.first.Do(func() {
		close(s.begun)
		<-s.resume
	})
	return s.Client.DescribeInstances(ctx, in, opts...)
}

// TestFailureIsSharedByWaiters: of many questions that wait for one that fails
// none costs a call.
func TestFailureIsSharedByWaiters(t *testing.T) {
	t.Parallel()
	b := newBed(t, aws.Options{})
	ids := b.seed.AddNodes(10)
	api := &slow{Client: newClient(t, b.cloud), begun: make(chan struct{}), resume: make(chan struct{})}
	inventory := New(api, b.config)
	b.cloud.Gate().Break(describe, front.Always(), aws.Denied())
	before := b.cloud.Gate().Total()
	var all sync.WaitGroup
	ask := func(id string) {
		all.Go(func() {
			if _, err := inventory.Get(t.Context(), []string{id}); err == nil {
				t.Error("no error")
			}
		})
	}
	ask(ids[0])
	<-api.begun
	for _, id := range ids[1:] {
		ask(id)
	}
	for deadline := time.Now().Add(10 * time.Second); inventory.turn.waiting.Load() < int64(len(ids)-1); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the others do not wait")
		}
	}
	close(api.resume)
	all.Wait()
	if got := b.cloud.Gate().Total() - before; got != 1 {
		t.Errorf("%d calls", got)
	}
	b.cloud.Gate().Mend()
	if found, err := inventory.Get(t.Context(), ids); err != nil || len(found) != len(ids) {
		t.Errorf("afterwards: %d instances, %v", len(found), err)
	}
}
