package vpc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
)

const (
	// newZoneAge is the minimum age of the list of zones before it is read
	// again for a zone that is not in it.
	newZoneAge = time.Minute
	// deniedAge is how long a missing permission is cached, and failedAge any
	// other failure.
	deniedAge = 5 * time.Minute
	failedAge = time.Second
)

// ErrNoZone means that AWS does not list a zone. It is also apierr.ErrNotFound.
var ErrNoZone = apierr.Mark(apierr.ErrNotFound, errors.New("no such availability zone"))

var _ Zoner = (*Zones)(nil)

// Zones contains the zones of the region. They are read once, and again only
// for a zone that is not in the list. It is safe for concurrent use.
type Zones struct {
	all *cache.Value[map[string]Zone]
}

// NewZones returns a Zones that has not read anything yet.
func NewZones(api client.Network) *Zones {
	fetch := func(ctx context.Context) (map[string]Zone, error) { return readZones(ctx, api) }

	return &Zones{all: cache.NewValue(fetch, cache.Options{
		TTL: math.MaxInt64, Timeout: client.ListTimeout,
		KeepError: func(err error) time.Duration {
			if errors.Is(err, apierr.ErrDenied) {
				return deniedAge
			}

			return failedAge
		},
	})}
}

// Get returns a zone by name, or ErrNoZone.
func (z *Zones) Get(ctx context.Context, name string) (Zone, error) {
	found, err := z.Zones(ctx, []string{name})
	if err != nil {
		return Zone{}, err
	}
	zone, ok := found[name]
	if !ok {
		return Zone{}, fmt.Errorf("look up zone %q: %w", name, ErrNoZone)
	}

	return zone, nil
}

// Zones returns zones by name, without those that AWS does not list.
func (z *Zones) Zones(ctx context.Context, names []string) (map[string]Zone, error) {
	all, err := z.all.Get(ctx)
	if err == nil && !sets.KeySet(all).HasAll(names...) {
		all, err = z.all.GetWithin(ctx, newZoneAge)
	}
	if err != nil {
		return nil, fmt.Errorf("look up zones: %w", err)
	}
	found := make(map[string]Zone, len(names))
	for _, name := range names {
		if zone, ok := all[name]; ok {
			found[name] = zone
		}
	}

	return found, nil
}

// readZones reads the zones of the region by name. They come in one page.
func readZones(ctx context.Context, api client.Network) (map[string]Zone, error) {
	out, err := api.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, fmt.Errorf("describe availability zones: %w", err)
	}
	zones := make(map[string]Zone, len(out.AvailabilityZones))
	for _, in := range out.AvailabilityZones {
		if name := aws.ToString(in.ZoneName); name != "" {
			zones[name] = Zone{Name: name, ID: aws.ToString(in.ZoneId), Type: aws.ToString(in.ZoneType)}
		}
	}

	return zones, nil
}
