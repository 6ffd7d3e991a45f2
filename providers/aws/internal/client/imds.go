package client

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
)

// maxMetadataBackoff bounds the backoff before a query to the instance metadata
// is retried. The service is local, and the caller waits. The SDK has the same
// default.
const maxMetadataBackoff = time.Second

// maxMetadata bounds the size of a response of the instance metadata service.
// An instance ID is much shorter.
const maxMetadata = 1 << 10

// IMDS queries the instance metadata service about the instance that this
// process runs on. If the caller has no deadline, a query takes at most 5 s.
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

// Region returns the region of the instance.
func (i *IMDS) Region(ctx context.Context) (string, error) {
	out, err := i.client.GetRegion(ctx, &imds.GetRegionInput{})
	if err != nil {
		return "", fmt.Errorf("get the region from the instance metadata: %w", err)
	}

	return out.Region, nil
}

// InstanceID returns the ID of the instance.
func (i *IMDS) InstanceID(ctx context.Context) (string, error) {
	out, err := i.client.GetMetadata(ctx, &imds.GetMetadataInput{Path: "instance-id"})
	if err != nil {
		return "", fmt.Errorf("get the instance ID from the instance metadata: %w", err)
	}
	defer out.Content.Close() //nolint:errcheck // it is read, or was an error
	id, err := io.ReadAll(io.LimitReader(out.Content, maxMetadata))
	if err != nil {
		return "", fmt.Errorf("read the instance ID from the instance metadata: %w", err)
	}

	return string(id), nil
}
