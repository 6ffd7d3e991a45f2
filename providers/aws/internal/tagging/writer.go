package tagging

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
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
	pairs := ec2Tags(o.Tags)
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
	return func(ctx context.Context, instance string) error { return write(ctx, []string{instance}) }
}

func gathered(b *batch.Batcher[string, struct{}]) func(context.Context, string) error {
	return func(ctx context.Context, instance string) error {
		_, err := b.Get(ctx, instance)
		return err
	}
}

// newBatcher gathers instances into calls. EC2 changes nothing in a call in which
// it refuses an instance: those that it names have failed, and the others are
// sent once more without them, all together.
func newBatcher(write func(context.Context, []string) error, gather batch.Options) *batch.Batcher[string, struct{}] {
	call := func(ctx context.Context, instances []string) (map[string]batch.Result[struct{}], error) {
		results := make(map[string]batch.Result[struct{}], len(instances))
		err := write(ctx, instances)
		refused := named(instances, err)
		for _, instance := range refused {
			results[instance] = batch.Result[struct{}]{Err: err}
		}
		rest := slices.DeleteFunc(slices.Clone(instances), func(id string) bool { return slices.Contains(refused, id) })
		if len(refused) > 0 && len(rest) > 0 {
			err = write(ctx, rest)
		}
		for _, instance := range rest {
			results[instance] = batch.Result[struct{}]{Err: err}
		}
		return results, nil
	}
	return batch.New(call, gather)
}

// named lists the instances that an error blames.
func named(instances []string, err error) []string {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok || !refuses(api.ErrorCode()) {
		return nil
	}
	blamed := slices.Clone(instances)
	return slices.DeleteFunc(blamed, func(id string) bool { return !strings.Contains(api.ErrorMessage(), id) })
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

func ec2Tags(tags map[string]string) []types.Tag {
	list := make([]types.Tag, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, types.Tag{Key: new(key), Value: new(tags[key])})
	}
	return list
}
