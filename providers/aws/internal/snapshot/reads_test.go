package snapshot

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const (
	describeBalancers = "elbv2.DescribeLoadBalancers"
	describeGroups    = "elbv2.DescribeTargetGroups"
)

// TestSingleRead reads one load balancer long after the list.
func TestSingleRead(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		arn := f.addBalancer(f.others, name(1), nil)
		f.addListener(f.others, arn, f.addGroup(f.others, "one"), 80)
		f.balancer(name(1))
		f.groupsOf(arn)
		time.Sleep(time.Hour)
		f.calls("one call each", map[string]int{describeBalancers: 1, describeGroups: 1}, func() {
			for range 3 {
				same(f, "the load balancer", arn, f.balancer(name(1)))
				same(f, "its target groups", []string{"one"}, f.groupsOf(arn))
			}
		})
		same(f, "it was read by its name", name(1), f.region.Requests(describeBalancers)[1].Form.Get("Names.member.1"))
		same(f, "they were read by its ARN", arn, f.region.Requests(describeGroups)[1].Form.Get("LoadBalancerArn"))
	})
}

// TestManyReads reads more load balancers than a list has pages.
func TestManyReads(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		const count = 450 // two pages
		var arns []string
		for i := range count {
			arns = append(arns, f.addBalancer(f.others, name(i), nil))
		}
		read := func() {
			var readers sync.WaitGroup
			for i := range 20 {
				readers.Go(func() { same(f, "a load balancer", arns[i], f.balancer(name(i))) })
			}
			readers.Wait()
		}
		f.calls("at first they are listed", map[string]int{describeBalancers: 2}, read)
		time.Sleep(time.Hour)
		f.calls("two alone, then they are listed", map[string]int{describeBalancers: 4}, read)
		f.calls("the list is young", map[string]int{}, read)
		time.Sleep(defaultMaxAge)
		f.calls("the list is too old", map[string]int{describeBalancers: 4}, read)
	})
}

// TestCreationWithoutResponse lists target groups again once AWS may have created
// one that this process has not stored.
func TestCreationWithoutResponse(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		f.groupsNamed("k8s-")
		time.Sleep(time.Minute)
		rule := f.region.Interceptor().Inject("elbv2.CreateTargetGroup", simserver.Always(), simserver.DropResponse())
		if _, err := f.CreateTargetGroup(f.t.Context(), f.group("k8s-lost")); err == nil {
			t.Error("a creation without a response is no error")
		}
		rule.Remove()
		time.Sleep(time.Second)
		f.calls("listed once", map[string]int{describeGroups: 1}, func() {
			same(f, "it was created", []string{"k8s-lost"}, f.groupsNamed("k8s-"))
			time.Sleep(time.Second)
			same(f, "it was created", []string{"k8s-lost"}, f.groupsNamed("k8s-"))
		})
		f.region.Interceptor().Inject("elbv2.CreateTargetGroup", simserver.Always(), sim.Denied())
		if _, err := f.CreateTargetGroup(f.t.Context(), f.group("k8s-denied")); !errors.Is(err, apierr.ErrDenied) {
			t.Errorf("denied: %v", err)
		}
		f.calls("AWS has rejected it", map[string]int{}, func() { f.groupsNamed("k8s-") })
	})
}

// TestCanceled reads with a canceled context while another read does not end.
func TestCanceled(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		arn := f.addBalancer(f.others, name(1), nil)
		f.region.Interceptor().SetLatency(time.Hour)
		ctx, cancel := context.WithTimeout(f.t.Context(), time.Second)
		defer cancel()
		for what, read := range map[string]func(context.Context) error{
			"load balancer": func(ctx context.Context) error {
				_, err := f.LoadBalancer(ctx, name(1))

				return err
			},
			"groups": func(ctx context.Context) error {
				_, err := f.TargetGroupsOf(ctx, arn)

				return err
			},
			"tags": func(ctx context.Context) error {
				_, err := f.Tags(ctx, []string{arn})

				return err
			},
			"more tags": func(ctx context.Context) error {
				_, err := f.Tags(ctx, []string{arn})

				return err
			},
			"attributes": func(ctx context.Context) error {
				_, err := f.Attributes(ctx, arn)

				return err
			},
		} {
			go func() {
				began := time.Now()
				if err := read(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", what, err)
				}
				same(f, what+" returns when its context ends", time.Second, time.Since(began))
			}()
		}
		synctest.Wait()
		time.Sleep(2 * time.Second)
	})
}

// TestNothingIsHeldDuringCalls reads and writes while one read does not end.
func TestNothingIsHeldDuringCalls(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		arn := f.addBalancer(f.others, name(1), nil)
		f.groupsNamed("")
		hold := simserver.NewHold()
		f.region.Interceptor().Inject("elbv2.DescribeLoadBalancerAttributes", simserver.First(1), hold.Before)
		held := make(chan error, 1)
		go func() {
			_, err := f.Attributes(f.t.Context(), arn)
			held <- err
		}()
		synctest.Wait()
		var others sync.WaitGroup
		for i := range 20 {
			others.Go(func() {
				own := f.addBalancer(f.Snapshot, name(100+i), nil)
				group := aws.String(f.addGroup(f.Snapshot, name(i)))
				f.addListener(f.Snapshot, own, *group, 80)
				same(f, "own writes", own, f.balancer(name(100+i)))
				same(f, "own writes", []string{name(i)}, f.groupsOf(own))
				if _, err := f.Tags(f.t.Context(), []string{own}); err != nil {
					t.Error(err)
				}
				if !slices.Contains(f.groupsNamed("a"), name(i)) {
					t.Errorf("target group %s is missing", name(i))
				}
			})
		}
		others.Wait()
		hold.Release()
		same(f, "the read that was held", nil, <-held)
	})
}

// Tags that are known are returned while others are read.
func TestKnownTagsDoNotWaitForOthers(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		ctx := f.t.Context()
		known, other := f.addGroup(f.others, "known"), f.addGroup(f.others, "other")
		read := func(arn string) map[string]map[string]string {
			return must[map[string]map[string]string](f)(f.Tags(ctx, []string{arn}))
		}
		want := read(known)
		var wg sync.WaitGroup
		wg.Go(func() { read(other) })
		synctest.Wait()
		start := time.Now()
		f.calls("known tags need no call", map[string]int{}, func() { same(f, "known tags", want, read(known)) })
		same(f, "time that known tags take", 0, time.Since(start))
		wg.Wait()
	})
}
