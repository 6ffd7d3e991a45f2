package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
)

// tagsPerCall is how many tags one call is about.
const tagsPerCall = 500

// tagTimeout bounds a query for tags. It is less than an attempt to describe
// a new Node waits for one.
const tagTimeout = 7 * time.Second

// tagger has the objects with a tag of the configured categories. It queries by
// tag and not by object: two categories have few tags, so one call returns all
// hosts, clusters, folders and VMs, however many there are.
type tagger struct {
	client     Client
	categories []string // names, as configured
	known      categoryNames
	retryDelay time.Duration // after a rejected call

	catalogs *cache.Cache[struct{}, *catalog]
	attached *cache.Cache[*catalog, attachments]
	names    *cache.Cache[string, string]
}

// attachments lists the tag IDs of each category that an object has.
type attachments map[string]map[Ref][]string

func newTagger(client Client, cfg Config) *tagger {
	t := &tagger{
		client: client, retryDelay: cfg.TagRetryDelay,
		known: categoryNames{ttl: cfg.TagNameTTL, byID: map[string]categoryName{}},
	}
	for _, name := range []string{cfg.ZoneCategory, cfg.RegionCategory} {
		if name != "" && !slices.Contains(t.categories, name) {
			t.categories = append(t.categories, name)
		}
	}
	// The failure of a fetch that all callers have left is not kept, so it must
	// come before their patience ends, which can be as short as ours.
	timeout := min(cfg.CallTimeout/2, tagTimeout)
	keep := keepError(cfg.TagErrorTTL)
	t.catalogs = cache.New(t.fetchCatalog, cache.Options{
		TTL: cfg.TagNameTTL, Timeout: timeout, KeepError: keep,
	})
	t.attached = cache.New(t.fetchAttachments, cache.Options{
		TTL: cfg.TagTTL, Timeout: timeout, KeepError: keep, Size: 2,
	})
	t.names = cache.New(t.fetchName, cache.Options{
		TTL: cfg.TagNameTTL, Timeout: timeout, KeepError: keep,
	})

	return t
}

// keepError keeps errors for ttl. An attempt that made progress is followed by the next one
// at once.
func keepError(ttl time.Duration) func(error) time.Duration {
	return func(err error) time.Duration {
		if apierr.Has[*unfinishedError](err) {
			return 0
		}

		return ttl
	}
}

// timedOut reports whether an error is a timeout, and nothing else.
func timedOut(err error) bool {
	netErr, ok := errors.AsType[net.Error](err)

	return errors.Is(err, context.DeadlineExceeded) || ok && netErr.Timeout()
}

// repeat makes a call, and once more after a short time if the vCenter rejected
// it because of too many calls.
func repeat[T any](ctx context.Context, t *tagger, call func() (T, error)) (T, error) {
	result, err := call()
	if !rest.IsStatusError(err, http.StatusTooManyRequests) && !rest.IsStatusError(err, http.StatusServiceUnavailable) {
		return result, err
	}
	if !sleep(ctx, t.retryDelay+rand.N(t.retryDelay/2+1)) {
		return result, err
	}

	return call()
}

// fetchAttachments lists the objects that have one of the tags. Those that we
// may not read are not listed.
func (t *tagger) fetchAttachments(ctx context.Context, of *catalog) (attachments, error) {
	categories := map[string]string{} // of each tag
	for category, ids := range of.tags {
		for _, id := range ids {
			categories[id] = category
		}
	}
	var found attachments
	err := t.client.REST(ctx, func(ctx context.Context, c *rest.Client) error {
		found = attachments{}
		for batch := range slices.Chunk(slices.Sorted(maps.Keys(categories)), tagsPerCall) {
			response, err := repeat(ctx, t, func() ([]tags.AttachedObjects, error) {
				return tags.NewManager(c).ListAttachedObjectsOnTags(ctx, batch)
			})
			if err != nil {
				return fmt.Errorf("list objects with tags: %w", err)
			}
			for _, tag := range response {
				found.add(categories[tag.TagID], tag.TagID, tag.ObjectIDs)
			}
		}

		return nil
	})
	if err != nil {
		if !timedOut(err) {
			// A tag can have been deleted since the catalog was made.
			t.catalogs.Forget(struct{}{})
		}

		return nil, err
	}

	return found, nil
}

func (a attachments) add(category, tag string, objects []mo.Reference) {
	if a[category] == nil {
		a[category] = map[Ref][]string{}
	}
	for _, o := range objects {
		r := ref(o.Reference())
		a[category][r] = append(a[category][r], tag)
	}
}

// nearest returns the tags of a category on the first object that has any: chain
// by chain, each from its near end, as far as the first one that is incomplete.
func (a attachments) nearest(category string, chains []Chain) (Ref, []string, error) {
	for _, chain := range chains {
		for _, r := range chain.Refs {
			if ids := a[category][r]; len(ids) > 0 {
				return r, ids, nil
			}
		}
		if !chain.Complete {
			return Ref{}, nil, &incompleteChainError{last: chain.Refs[len(chain.Refs)-1]}
		}
	}

	return Ref{}, nil, nil
}

func (t *tagger) fetchName(ctx context.Context, id string) (string, error) {
	var name string
	err := t.client.REST(ctx, func(ctx context.Context, c *rest.Client) error {
		tag, err := repeat(ctx, t, func() (*tags.Tag, error) { return tags.NewManager(c).GetTag(ctx, id) })
		if err != nil {
			return fmt.Errorf("get tag %s: %w", id, err)
		}
		name = tag.Name

		return nil
	})

	return name, err
}

// namesOf returns the names of tags in alphabetical order.
func (t *tagger) namesOf(ctx context.Context, ids []string) ([]string, error) {
	var names []string
	for _, id := range ids {
		name, err := t.names.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	slices.Sort(names)

	return names, nil
}
