package tagging

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// createTags writes a tag with the client of the fixture.
func (b *fixture) createTags(ctx context.Context, instances []string) error {
	_, err := b.controller.config.EC2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: instances, Tags: awstype.EC2Tags(map[string]string{"k": "v"})})

	return err
}

// instances adds as many instances.
func (b *fixture) instances(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = b.cloud.AddInstance(aws.InstanceSpec{InterfaceSpec: aws.InterfaceSpec{Subnet: b.subnet}})
	}

	return ids
}

// fullTags are as many tags as a resource can have.
func fullTags() map[string]string {
	tags := map[string]string{}
	for i := range 50 {
		tags[fmt.Sprintf("tag-%d", i)] = ""
	}

	return tags
}

// TestOneRefusedInstanceCostsItself: wherever it is in the batch, the instance
// that EC2 refuses without naming it fails alone, for two calls each time the
// batch is halved.
func TestOneRefusedInstanceCostsItself(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ size, most int }{
		"two": {2, 3}, "three": {3, 5}, "seven": {7, 7}, "full batch": {50, 13},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, nil)
			ids := b.instances(test.size)
			for position, wrong := range ids {
				b.cloud.SetTags(wrong, fullTags())
				before := b.cloud.Interceptor().Count("CreateTags")
				results := writeAll(t.Context(), b.createTags, ids)
				for id, result := range results {
					if (result.Err != nil) != (id == wrong) {
						t.Errorf("position %d: instance %d has %v", position, slices.Index(ids, id), result.Err)
					}
				}
				if calls := b.cloud.Interceptor().Count("CreateTags") - before; len(results) != len(ids) || calls > test.most {
					t.Errorf("position %d: %d results, %d calls, want at most %d", position, len(results), calls, test.most)
				}
				b.cloud.SetTags(wrong, nil)
			}
		})
	}
}

// TestRefusedBatches covers what errors of a whole call mean for its
// instances.
func TestRefusedBatches(t *testing.T) {
	t.Parallel()
	const failed, refused, undecided = "failed", "refused", "undecided"
	tests := map[string]struct {
		reason  string
		wrong   []int // of 8 instances
		code    string
		message string
		want    map[int]string
		calls   int
	}{
		"none":       {"one call is enough", nil, "TagLimitExceeded", "", nil, 1},
		"limit":      {"the error names no instance", []int{5}, "TagLimitExceeded", "More than 50 tags specified", map[int]string{5: failed}, 6},
		"not found":  {"alone in its call, the instance is certainly meant", []int{0}, inventory.CodeNotFound, "Some instances do not exist", map[int]string{0: refused}, 7},
		"invalid ID": {"alone in its call, the instance is certainly meant", []int{7}, "InvalidID", "The ID is not valid", map[int]string{7: refused}, 5},
		"named": {
			"the error names the instance, the others go together",
			[]int{3},
			"InvalidID", "The ID '%[1]s' is not valid",
			map[int]string{3: refused},
			2,
		},
		"named, and a limit": {
			"an instance that is named fails with its own error",
			[]int{3},
			"TagLimitExceeded", "Instance %[1]s has 50 tags",
			map[int]string{3: failed},
			2,
		},
		"denied for one": {"a condition of the policy may be about single instances", []int{2}, codeUnauthorized, "You are not authorized", map[int]string{2: failed}, 6},
		"denied for all": {
			"what is left when the calls are is denied as well",
			[]int{0, 1, 2, 3, 4, 5, 6, 7},
			codeUnauthorized, "You are not authorized",
			map[int]string{0: failed, 1: failed, 2: failed, 3: failed, 4: failed, 5: failed, 6: failed, 7: failed},
			7,
		},
		"limit of all": {
			"what is left when the calls are may be right",
			[]int{0, 1, 2, 3, 4, 5, 6, 7},
			"TagLimitExceeded", "More than 50 tags specified",
			map[int]string{0: failed, 1: failed, 2: failed, 3: undecided, 4: undecided, 5: undecided, 6: undecided, 7: undecided},
			7,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, nil)
			ids := b.instances(8)
			var wrong []string
			for _, i := range test.wrong {
				wrong = append(wrong, ids[i])
			}
			message := test.message
			if len(wrong) == 1 && message != "" {
				message = fmt.Sprintf(message+"%.0[1]s", wrong[0])
			}
			b.cloud.Interceptor().Inject("CreateTags", simserver.Always(), aws.RejectResources(test.code, message, wrong...))
			got := map[int]string{}
			for id, result := range writeAll(t.Context(), b.createTags, ids) {
				if result.Err == nil {
					continue
				}
				kind := failed
				if _, ok := errors.AsType[*refusedError](result.Err); ok {
					kind = refused
				}
				if _, ok := errors.AsType[*undecidedError](result.Err); ok {
					kind = undecided
				}
				got[slices.Index(ids, id)] = kind
			}
			if test.want == nil {
				test.want = map[int]string{}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: results (-want +got):\n%s", test.reason, diff)
			}
			if calls := b.cloud.Interceptor().Count("CreateTags"); calls != test.calls {
				t.Errorf("%s: %d calls, want %d", test.reason, calls, test.calls)
			}
		})
	}
}

// TestErrorsOfTheCall: an error that no instance is the cause of is not looked
// for in the instances.
func TestErrorsOfTheCall(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	ids := b.instances(8)
	tests := map[string]struct {
		reason string
		fault  simserver.Fault
		mark   error
	}{
		"throttled":   {"EC2 wants fewer calls, not more", aws.Throttled(), apierr.ErrThrottled},
		"unavailable": {"EC2 has an outage", aws.Error(http.StatusInternalServerError, "InternalError", "An internal error has occurred"), apierr.ErrUnavailable},
		"credentials": {"the caller is rejected, whatever the call is", aws.Error(http.StatusUnauthorized, "AuthFailure", "AWS was not able to validate the provided access credentials"), apierr.ErrDenied},
		"no response": {"the connection is lost", simserver.Drop(), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b.cloud.Interceptor().Clear()
			b.cloud.Interceptor().Inject("CreateTags", simserver.Always(), test.fault)
			calls := 0
			results := writeAll(t.Context(), func(ctx context.Context, instances []string) error {
				calls++
				err := b.createTags(ctx, instances)
				if test.mark != nil {
					return apierr.Mark(test.mark, err) // as the client of the provider does
				}

				return err
			}, ids)
			if calls != 1 || len(results) != len(ids) {
				t.Errorf("%s: %d calls, %d results", test.reason, calls, len(results))
			}
			for id, result := range results {
				if _, undecided := errors.AsType[*undecidedError](result.Err); result.Err == nil || undecided {
					t.Errorf("%s: %s has %v", test.reason, id, result.Err)
				}
			}
		})
	}
}

// TestRefusedNeighborCostsNoRetries: of many Nodes that share calls, the one
// whose instance cannot have the tags is given up after its retries, and all
// others are tagged without a failure.
func TestRefusedNeighborCostsNoRetries(t *testing.T) {
	t.Parallel()
	const healthy, retries = 58, 9
	old := kubetest.CreatedAt(time.Now().Add(-time.Hour))
	tests := map[string]struct {
		reason    string
		fault     func(wrong string) simserver.Fault
		failures  int
		exhausted int
	}{
		"TagLimitExceeded": {"it is tried again, as tags may be taken away", nil, 1 + retries, 1},
		"NotFound without an ID": {
			"an old Node's instance does not appear any more",
			func(wrong string) simserver.Fault {
				return aws.RejectResources(inventory.CodeNotFound, "Some instances do not exist", wrong)
			}, 0, 0,
		},
		"InvalidID without an ID": {
			"an ID that is wrong stays wrong",
			func(wrong string) simserver.Fault {
				return aws.RejectResources(codeInvalid, "The ID is not valid", wrong)
			},
			0, 0,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := prepareFixture(t, func(o *Options) { o.Batching, o.ConcurrentNodeSyncs = true, healthy+1 })
			ids := b.instances(healthy + 1)
			wrong := ids[healthy/2]
			if test.fault == nil {
				b.cloud.SetTags(wrong, fullTags())
			} else {
				b.cloud.Interceptor().Inject("CreateTags", simserver.Always(), test.fault(wrong))
			}
			for i, id := range ids {
				b.add(fmt.Sprintf("n%d", i), "aws:///us-west-2a/"+id, old)
			}
			b.start()
			for i, id := range ids {
				if id != wrong {
					b.await("node "+id+" is tagged", func() bool { return b.label(fmt.Sprintf("n%d", i)) != "" })
				}
				if n := b.failures(errorsTotal, id); n != 0 && id != wrong {
					t.Errorf("%s has %d failures", id, n)
				}
			}
			b.await(test.reason, func() bool {
				return b.failures(errorsTotal, wrong) == test.failures && b.failures(errorsExhausted, wrong) == test.exhausted
			})
			// Two batches, halving the first one and the retries are 31; a slow
			// machine makes more batches.
			if calls := b.cloud.Interceptor().Count("CreateTags"); calls >= len(ids) {
				t.Errorf("%s: %d calls for %d instances", test.reason, calls, len(ids))
			}
			if b.label(fmt.Sprintf("n%d", healthy/2)) != "" {
				t.Errorf("%s: the Node has the label", test.reason)
			}
		})
	}
}

// TestManyRefusedNeighbors: where many instances of a batch are refused, those
// that there is no call left for wait, and that is no failure of theirs. The
// refused ones that are left in the end are tried one at a time.
func TestManyRefusedNeighbors(t *testing.T) {
	t.Parallel()
	const all, each = 12, 2 // every second one is refused
	b := prepareFixture(t, func(o *Options) { o.Batching, o.ConcurrentNodeSyncs = true, all })
	b.controller.undecidedBackoff = 20 * time.Millisecond
	ids := b.instances(all)
	for i, id := range ids {
		if i%each == 0 {
			b.cloud.SetTags(id, fullTags())
		}
	}
	for i, id := range ids {
		b.add(fmt.Sprintf("n%d", i), "aws:///us-west-2a/"+id)
	}
	b.start()
	for i, id := range ids {
		if i%each == 0 {
			continue
		}
		b.await("node of "+id+" is tagged", func() bool { return b.label(fmt.Sprintf("n%d", i)) != "" })
		if n := b.failures(errorsTotal, id); n != 0 {
			t.Errorf("%s has %d failures", id, n)
		}
	}
	b.await("all others wait for tags that EC2 accepts", func() bool { return b.failures(errorsRefused, "") > 0 })
	// Alone in its call, each of the rejected instances would take 10.
	if calls := b.cloud.Interceptor().Count("CreateTags"); calls > 10*all/each {
		t.Errorf("%d calls", calls)
	}
}
