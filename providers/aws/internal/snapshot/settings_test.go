package snapshot

import (
	"strconv"
	"testing"
	"time"

	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const describeTags = "elbv2.DescribeTags"

// TestTagsOfAdditionalLoadBalancers reads the tags of one load balancer after the other.
func TestTagsOfAdditionalLoadBalancers(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		const count = 45
		var arns []string
		for i := range count {
			arns = append(arns, f.addBalancer(f.others, name(i), map[string]string{"number": name(i)}))
		}
		f.addBalancer(f.others, "unrelated", nil)
		f.balancer(name(0)) // lists all
		f.calls("twenty in a call", map[string]int{describeTags: 3}, func() {
			for i, arn := range arns {
				tags := must[map[string]map[string]string](f)(f.Tags(f.t.Context(), []string{arn}))
				same(f, "tags", map[string]map[string]string{arn: {"number": name(i)}}, tags)
			}
		})
		form := f.region.Requests(describeTags)[0].Form
		same(f, "no more than twenty", []string{"1", "0"}, []string{
			strconv.Itoa(len(form["ResourceArns.member.20"])), strconv.Itoa(len(form["ResourceArns.member.21"])),
		})
	})
}

// TestTagsDenied may not read tags.
func TestTagsDenied(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		arn := f.addBalancer(f.others, name(1), nil)
		f.region.SetDenied("elasticloadbalancing:DescribeTags")
		tags, err := f.Tags(f.t.Context(), []string{arn})
		if tags != nil || err != nil {
			t.Errorf("tags %v, error %v", tags, err)
		}
		f.region.SetDenied()
		same(f, "allowed", map[string]map[string]string{arn: {}}, must[map[string]map[string]string](f)(f.Tags(f.t.Context(), []string{arn})))
		f.region.Interceptor().Inject(describeTags, simserver.Always(), sim.Error(400, "ValidationError", "no"))
		time.Sleep(defaultKnownAge)
		if _, err := f.Tags(f.t.Context(), []string{arn}); err == nil {
			t.Error("another error is returned")
		}
	})
}

// TestSettingsExpire has another process write what was read.
func TestSettingsExpire(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		ctx := f.t.Context()
		arn := f.addBalancer(f.others, name(1), nil)
		group := f.addGroup(f.others, "one")
		read := func() {
			must[map[string]string](f)(f.Attributes(ctx, arn))
			must[map[string]string](f)(f.TargetGroupAttributes(ctx, group))
			must[map[string]map[string]string](f)(f.Tags(ctx, []string{arn}))
		}
		once := map[string]int{"elbv2.DescribeLoadBalancerAttributes": 1, "elbv2.DescribeTargetGroupAttributes": 1, describeTags: 1}
		f.calls("read", once, read)
		time.Sleep(defaultKnownAge - time.Second)
		f.calls("known", map[string]int{}, read)
		time.Sleep(time.Second)
		f.calls("expired", once, read)
	})
}

// TestReadsDuringWrites has a read of tags and attributes end after a write of
// the same that began later: what was read may be out of date.
func TestReadsDuringWrites(t *testing.T) {
	t.Parallel()
	run(t, func(f *fixture) {
		arn := f.addBalancer(f.others, name(1), nil)
		f.region.Interceptor().Inject(describeTags, simserver.First(1), simserver.Slow(time.Minute))
		old := make(chan map[string]map[string]string, 1)
		go func() { old <- must[map[string]map[string]string](f)(f.Tags(f.t.Context(), []string{arn})) }()
		time.Sleep(time.Second)
		f.tags.forget(arn) // as a write does
		same(f, "the tags, not that there is no such load balancer", map[string]map[string]string{arn: {}}, <-old)
		f.calls("read again", map[string]int{describeTags: 1}, func() {
			must[map[string]map[string]string](f)(f.Tags(f.t.Context(), []string{arn}))
		})
	})
}
