package tagging

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
)

// maxCalls is how many calls a batch may take because instances in it are
// refused.
const maxCalls = 5

// The codes that EC2 answers with for what can be no instance.
const (
	codeInvalid   = "InvalidID"
	codeMalformed = "InvalidInstanceID.Malformed"
)

// batches are up to 50 instances, of which the first waits for the others.
func batches() batch.Options {
	return batch.Options{Window: 100 * time.Millisecond, MaxSize: 50}
}

// writer writes the tags of single instances, in calls of its own choice.
type writer struct {
	tag, untag func(ctx context.Context, instance string) error
	close      func()
}

// newWriter makes a writer. With batching, instances share calls.
func newWriter(api client.Tags, o Options, gather batch.Options) writer {
	pairs := awstype.EC2Tags(o.Tags)
	tag := func(ctx context.Context, instances []string) error {
		_, err := api.CreateTags(ctx, &ec2.CreateTagsInput{Resources: instances, Tags: pairs})
		return wrap("tag", instances, err)
	}
	untag := func(ctx context.Context, instances []string) error {
		_, err := api.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: instances, Tags: pairs})
		return wrap("untag", instances, err)
	}
	if !o.Batching {
		return writer{tag: single(tag), untag: single(untag), close: func() {}}
	}
	tags, untags := newBatcher(tag, gather), newBatcher(untag, gather)
	return writer{
		tag:   gathered(tags),
		untag: gathered(untags),
		close: func() {
			tags.Close()
			untags.Close()
		},
	}
}

func single(write func(context.Context, []string) error) func(context.Context, string) error {
	return func(ctx context.Context, instance string) error {
		err := write(ctx, []string{instance})
		if refuses(err) {
			return &refusedError{err}
		}
		return err
	}
}

func gathered(b *batch.Batcher[string, struct{}]) func(context.Context, string) error {
	return func(ctx context.Context, instance string) error {
		_, err := b.Get(ctx, instance)
		return err
	}
}

// refusedError says that EC2 has no such instance. For another instance of the
// same call the same answer says nothing.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }

// Unwrap is for those who want to know the code.
func (e *refusedError) Unwrap() error { return e.err }

// newBatcher gathers instances into calls. EC2 changes nothing in a call in which
// it refuses an instance: those that it names have failed, and the others are
// sent again without them, all together.
func newBatcher(write func(context.Context, []string) error, gather batch.Options) *batch.Batcher[string, struct{}] {
	call := func(ctx context.Context, instances []string) (map[string]batch.Result[struct{}], error) {
		results := make(map[string]batch.Result[struct{}], len(instances))
		rest := slices.Clone(instances)
		var err error
		for range maxCalls {
			err = write(ctx, rest)
			named := refused(err)
			before := len(rest)
			rest = slices.DeleteFunc(rest, func(instance string) bool {
				if named.Has(instance) {
					results[instance] = batch.Result[struct{}]{Err: &refusedError{err}}
				}
				return named.Has(instance)
			})
			if len(rest) == before || len(rest) == 0 {
				break
			}
		}
		for _, instance := range rest {
			results[instance] = batch.Result[struct{}]{Err: err}
		}
		return results, nil
	}
	return batch.New(call, gather)
}

// refused gives the instances that an error names because EC2 has none such.
func refused(err error) sets.Set[string] {
	if !refuses(err) {
		return nil
	}
	return inventory.Named(err)
}

// refuses says whether EC2 has no such instance, or one of several.
func refuses(err error) bool {
	switch client.Code(err) {
	case inventory.CodeNotFound, codeInvalid, codeMalformed:
		return true
	}
	return false
}

func wrap(verb string, instances []string, err error) error {
	if err == nil {
		return nil
	}
	if len(instances) == 1 {
		return fmt.Errorf("%s instance %s: %w", verb, instances[0], err)
	}
	return fmt.Errorf("%s %d instances: %w", verb, len(instances), err)
}
