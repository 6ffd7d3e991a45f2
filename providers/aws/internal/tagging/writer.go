package tagging

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
)

// batches contain up to 50 instances, of which the first waits for the others.
func batches() batch.Options {
	return batch.Options{Window: 100 * time.Millisecond, MaxSize: 50}
}

// writer writes the tags of single instances, and chooses the calls itself.
type writer struct {
	tag, untag func(ctx context.Context, instance string) error
}

// writeFunc writes the tags of instances in one call, for all of them or none.
type writeFunc func(ctx context.Context, instances []string) error

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
		return writer{tag: single(tag), untag: single(untag)}
	}

	return writer{tag: gathered(tag, gather), untag: gathered(untag, gather)}
}

func single(write writeFunc) func(context.Context, string) error {
	return func(ctx context.Context, instance string) error {
		return own(write(ctx, []string{instance}))
	}
}

// gathered combines instances in calls.
func gathered(write writeFunc, gather batch.Options) func(context.Context, string) error {
	b := batch.New(func(ctx context.Context, instances []string) (map[string]batch.Result[struct{}], error) {
		return writeAll(ctx, write, instances), nil
	}, gather)

	return func(ctx context.Context, instance string) error {
		_, err := b.Get(ctx, instance)

		return err
	}
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
