package tagging

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
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
