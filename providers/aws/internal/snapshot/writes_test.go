package snapshot

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestOwnWritesAreSeen writes after everything was read, listed and alone, and
// reads again at once.
func TestOwnWritesAreSeen(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		ctx := f.t.Context()
		check := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Error(err)
			}
		}
		same(f, "nothing yet", "", f.balancer(name(1)))
		arn := f.addBalancer(f.Snapshot, name(1), nil)
		same(f, "a load balancer was created", arn, f.balancer(name(1)))
		all := must[map[string]*types.LoadBalancer](f)(f.LoadBalancers(ctx))
		same(f, "it is among all", arn, aws.ToString(all[name(1)].LoadBalancerArn))

		same(f, "it has no target groups", nil, f.groupsOf(arn))
		one, two := f.addGroup(f.Snapshot, "one"), f.addGroup(f.Snapshot, "two")
		listener := f.addListener(f.Snapshot, arn, one, 80)
		same(f, "a listener was created", []string{"one"}, f.groupsOf(arn))
		check(f.ModifyListener(ctx, &elbv2.ModifyListenerInput{ListenerArn: &listener, DefaultActions: forwardTo(two)}))
		same(f, "a listener was modified", []string{"two"}, f.groupsOf(arn))
		check(f.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: &one}))
		groups := must[[]types.TargetGroup](f)(f.TargetGroups(ctx))
		same(f, "a target group was deleted", []string{"two"}, names(groups))

		check(f.ModifyTargetGroup(ctx, &elbv2.ModifyTargetGroupInput{TargetGroupArn: &two, HealthCheckIntervalSeconds: aws.Int32(10)}))
		groups = must[[]types.TargetGroup](f)(f.TargetGroupsOf(ctx, arn))
		same(f, "a target group was modified", 10, aws.ToInt32(groups[0].HealthCheckIntervalSeconds))
		groups = must[[]types.TargetGroup](f)(f.TargetGroups(ctx))
		same(f, "a target group was modified", 10, aws.ToInt32(groups[0].HealthCheckIntervalSeconds))

		check(f.DeleteListener(ctx, &elbv2.DeleteListenerInput{ListenerArn: &listener}))
		same(f, "a listener was deleted", nil, f.groupsOf(arn))
		check(f.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &arn}))
		same(f, "a load balancer was deleted", "", f.balancer(name(1)))
	})
}

// TestOwnSettingsAreSeen writes attributes, tags and security groups after they
// were read.
func TestOwnSettingsAreSeen(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		ctx := f.t.Context()
		const crossZone, drain = "load_balancing.cross_zone.enabled", "deregistration_delay.timeout_seconds"
		arn := f.addBalancer(f.Snapshot, name(1), map[string]string{"a": "1"})
		group := f.addGroup(f.Snapshot, "one")
		read := func() []string {
			attributes := must[map[string]string](f)(f.Attributes(ctx, arn))
			ofGroup := must[map[string]string](f)(f.TargetGroupAttributes(ctx, group))
			tags := must[map[string]map[string]string](f)(f.Tags(ctx, []string{arn, group}))

			return []string{attributes[crossZone], ofGroup[drain], tags[arn]["a"], tags[group]["a"]}
		}
		same(f, "as created", []string{"false", "300", "1", ""}, read())
		_, err1 := f.ModifyLoadBalancerAttributes(ctx, &elbv2.ModifyLoadBalancerAttributesInput{
			LoadBalancerArn: &arn, Attributes: []types.LoadBalancerAttribute{{Key: aws.String(crossZone), Value: aws.String("true")}},
		})
		_, err2 := f.ModifyTargetGroupAttributes(ctx, &elbv2.ModifyTargetGroupAttributesInput{
			TargetGroupArn: &group, Attributes: []types.TargetGroupAttribute{{Key: aws.String(drain), Value: aws.String("10")}},
		})
		_, err3 := f.AddTags(ctx, &elbv2.AddTagsInput{
			ResourceArns: []string{arn, group}, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("2")}},
		})
		same(f, "no errors", []error{nil, nil, nil}, []error{err1, err2, err3})
		same(f, "as written", []string{"true", "10", "2", "2"}, read())
	})
}

// Which load balancers use a target group is as own writes have left it, though
// the list that it is taken from is old.
func TestOwnAttachmentsAreSeenInAnOldList(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		ctx := f.t.Context()
		arn, other := f.addBalancer(f.others, name(1), nil), f.addBalancer(f.others, name(2), nil)
		one, two := f.addGroup(f.others, "k8s-one"), f.addGroup(f.others, "k8s-two")
		f.addListener(f.others, other, two, 80)
		users := func() map[string][]string {
			all := map[string][]string{}
			for _, group := range must[[]types.TargetGroup](f)(f.TargetGroupsNamed(ctx, "k8s-", false)) {
				for _, balancer := range group.LoadBalancerArns {
					all[aws.ToString(group.TargetGroupName)] = append(all[aws.ToString(group.TargetGroupName)], NameOf(balancer))
				}
			}

			return all
		}
		same(f, "as listed", map[string][]string{"k8s-two": {name(2)}}, users())
		listener := f.addListener(f.Snapshot, arn, one, 80)
		same(f, "a listener was created", map[string][]string{"k8s-one": {name(1)}, "k8s-two": {name(2)}}, users())
		_, err := f.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &other})
		same(f, "no error", nil, err)
		_, err = f.ModifyListener(ctx, &elbv2.ModifyListenerInput{ListenerArn: &listener, DefaultActions: []types.Action{{
			Type:          types.ActionTypeEnumForward,
			ForwardConfig: &types.ForwardActionConfig{TargetGroups: []types.TargetGroupTuple{{TargetGroupArn: &two}}},
		}}})
		same(f, "no error", nil, err)
		same(f, "a load balancer was deleted and a listener modified",
			map[string][]string{"k8s-one": {name(1)}, "k8s-two": {name(1)}}, users())
		_, err = f.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &arn})
		same(f, "no error", nil, err)
		same(f, "no load balancer is left", map[string][]string{}, users())
		same(f, "the last user", []string{name(1), name(1), ""}, []string{f.LastUser(one), f.LastUser(two), f.LastUser("none")})
		_, err = f.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: &one})
		same(f, "no error", nil, err)
		must[[]types.TargetGroup](f)(f.TargetGroupsNamed(ctx, "k8s-", true))
		same(f, "the last user of what is deleted", []string{"", name(1)}, []string{f.LastUser(one), f.LastUser(two)})
	})
}

// A list that was read after a load balancer was deleted may still show it.
func TestOwnDeletionIsSeenInAStaleList(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		ctx := f.t.Context()
		arn, group := f.addBalancer(f.Snapshot, name(1), nil), f.addGroup(f.Snapshot, "one")
		f.addListener(f.Snapshot, arn, group, 80)
		var earlier *httptest.ResponseRecorder
		f.region.Interceptor().Inject("elbv2.DescribeTargetGroups", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
			if earlier == nil {
				earlier = httptest.NewRecorder()
				apply.ServeHTTP(earlier, r)
			}
			simserver.Replay(w, earlier)
		})
		users := func() (all []string) {
			for _, group := range must[[]types.TargetGroup](f)(f.TargetGroups(ctx)) {
				all = append(all, group.LoadBalancerArns...)
			}

			return all
		}
		same(f, "before", []string{arn}, users())
		_, err := f.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &arn})
		same(f, "no error", nil, err)
		time.Sleep(time.Second)
		f.Refresh()
		same(f, "listed again", nil, users())
	})
}

// A list that begins after target groups were created and deleted may not show
// that yet: for a minute, own writes count. Later ones are as listed.
func TestOwnTargetGroupsAreSeenInAStaleList(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		ctx := f.t.Context()
		arn, old := f.addBalancer(f.Snapshot, name(1), nil), f.addGroup(f.others, "k8s-old")
		same(f, "before", []string{"k8s-old"}, f.groupsNamed("k8s-"))
		var earlier *httptest.ResponseRecorder
		stale := f.region.Interceptor().Inject("elbv2.DescribeTargetGroups", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
			if earlier == nil {
				earlier = httptest.NewRecorder()
				apply.ServeHTTP(earlier, r)
			}
			simserver.Replay(w, earlier)
		})
		if _, err := f.TargetGroupsNamed(ctx, "k8s-", true); err != nil {
			t.Fatal(err)
		}
		used := f.addGroup(f.Snapshot, "k8s-used")
		f.addGroup(f.Snapshot, "k8s-unused")
		f.addListener(f.Snapshot, arn, used, 80)
		_, err := f.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: &old})
		same(f, "no error", nil, err)
		for _, age := range []time.Duration{time.Second, 20 * time.Second} {
			time.Sleep(age)
			listed := must[[]types.TargetGroup](f)(f.TargetGroupsNamed(ctx, "k8s-", true))
			same(f, "listed again", []string{"k8s-unused", "k8s-used"}, names(listed))
			for _, group := range listed {
				if aws.ToString(group.TargetGroupName) == "k8s-used" {
					same(f, "the user of a listed group", []string{arn}, group.LoadBalancerArns)
				}
			}
			same(f, "an old list", []string{"k8s-unused", "k8s-used"}, f.groupsNamed("k8s-"))
			same(f, "the last user", name(1), f.LastUser(used))
		}
		stale.Remove()
		_, err = f.others.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: aws.String(arnOf(f, "k8s-unused"))})
		same(f, "no error", nil, err)
		time.Sleep(propagation)
		listed := must[[]types.TargetGroup](f)(f.TargetGroupsNamed(ctx, "k8s-", true))
		same(f, "listed after a minute", []string{"k8s-used"}, names(listed))
	})
}

// arnOf returns the ARN of a target group.
func arnOf(f *fixture, name string) string {
	f.t.Helper()
	out, err := f.others.DescribeTargetGroups(f.t.Context(), &elbv2.DescribeTargetGroupsInput{Names: []string{name}})
	if err != nil {
		f.t.Fatal(err)
	}

	return aws.ToString(out.TargetGroups[0].TargetGroupArn)
}
