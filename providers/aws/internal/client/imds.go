package client

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
)

// maxMetadataBackoff bounds the pause before the metadata are asked again: they
// are near, and asked while somebody waits. It is what the SDK does by itself.
const maxMetadataBackoff = time.Second

// maxMetadata bounds what is read of an answer of the instance metadata; an
// instance ID is shorter by far.
const maxMetadata = 1 << 10

// IMDS asks the instance metadata service about the instance that this process
// runs on. Without a deadline of the caller's a question takes 5 s at most.
type IMDS struct{ client *imds.Client }

func (b *Base) newIMDS(marks bool) *IMDS {
	tuning := b.options.Tuning
	tuning.MaxBackoff = min(tuning.MaxBackoff, maxMetadataBackoff)

	return &IMDS{imds.NewFromConfig(b.config, func(o *imds.Options) {
		o.Retryer, o.DisableDefaultMaxBackoff = newRetryer(tuning), true
		o.APIOptions = append(o.APIOptions, b.middleware(ServiceIMDS, nil, marks)...)
		if override, ok := find(b.options.Overrides, ServiceIMDS, ""); ok {
			o.Endpoint = override.URL
		}
	})}
}

// Region is the region of the instance.
func (i *IMDS) Region(ctx context.Context) (string, error) {
	out, err := i.client.GetRegion(ctx, &imds.GetRegionInput{})
	if err != nil {
		return "", fmt.Errorf("ask the instance metadata for the region: %w", err)
	}

	return out.Region, nil
}

// InstanceID is the ID of the instance.
func (i *IMDS) InstanceID(ctx context.Context) (string, error) {
	out, err := i.client.GetMetadata(ctx, &imds.GetMetadataInput{Path: "instance-id"})
	if err != nil {
		return "", fmt.Errorf("ask the instance metadata for the instance ID: %w", err)
	}
	defer out.Content.Close() //nolint:errcheck // it is read, or was an error
	id, err := io.ReadAll(io.LimitReader(out.Content, maxMetadata))
	if err != nil {
		return "", fmt.Errorf("read the instance ID from the instance metadata: %w", err)
	}

	return string(id), nil
}
