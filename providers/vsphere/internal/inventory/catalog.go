package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"golang.org/x/sync/errgroup"
)

// categoriesAtOnce is how many categories are read at the same time. A vCenter
// rejects more than 360 operations of the tag service a second, of all clients
// together: https://github.com/kubernetes-sigs/cluster-api-provider-vsphere/pull/1014.
const categoriesAtOnce = 4

// catalog lists the tags of each category by ID. It is never changed.
type catalog struct {
	tags map[string][]string // category name to tag IDs; absent if there is no such category
}

// categoryNames keeps the names of the categories that were read. Only a single
// category can be read at a time, and a vCenter can have thousands, so an attempt
// goes on where the one before it ended.
type categoryNames struct {
	ttl time.Duration

	mu   sync.Mutex
	byID map[string]categoryName
}

type categoryName struct {
	name string
	at   time.Time
}

// get returns the name of a category, unless it was read too long ago.
func (c *categoryNames) get(id string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	known, ok := c.byID[id]

	return known.name, ok && time.Since(known.at) < c.ttl
}

func (c *categoryNames) set(id, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.byID[id] = categoryName{name: name, at: time.Now()}
}

// order sorts categories: first those that had one of the wanted names, then those
// that were never read, then the others. It drops those that are not listed.
func (c *categoryNames) order(ids, wanted []string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()

	maps.DeleteFunc(c.byID, func(id string, _ categoryName) bool { return !slices.Contains(ids, id) })
	rank := func(id string) int {
		known, ok := c.byID[id]
		switch {
		case slices.Contains(wanted, known.name):
			return 0
		case !ok:
			return 1
		}

		return 2
	}
	sorted := slices.Clone(ids)
	slices.SortStableFunc(sorted, func(a, b string) int { return rank(a) - rank(b) })

	return sorted
}

// unfinishedError is the end of an attempt that read some categories and not all of
// them in time.
type unfinishedError struct {
	error
}

// Unwrap returns what ended the attempt.
func (e *unfinishedError) Unwrap() error { return e.error }

// fetchCatalog finds the categories by name and lists their tags. A category
// that does not exist is not an error.
func (t *tagger) fetchCatalog(ctx context.Context, _ struct{}) (*catalog, error) {
	var search *catalogSearch
	err := t.client.REST(ctx, func(ctx context.Context, c *rest.Client) error {
		m := tags.NewManager(c)
		search = &catalogSearch{tagger: t, manager: m, found: map[string][]string{}}
		ids, err := repeat(ctx, t, func() ([]string, error) { return m.ListCategories(ctx) })
		if err != nil {
			return fmt.Errorf("list tag categories: %w", err)
		}

		return search.run(ctx, t.known.order(ids, t.categories))
	})
	if err != nil && search != nil && search.read > 0 && search.late {
		return nil, &unfinishedError{error: err}
	}
	if err != nil {
		return nil, err
	}

	return &catalog{tags: search.found}, nil
}

// catalogSearch is one attempt to find the wanted categories.
type catalogSearch struct {
	*tagger

	manager *tags.Manager

	mu    sync.Mutex
	found map[string][]string
	read  int  // categories that were read
	late  bool // one could not be read in time
}

// run looks at categories, a few at a time, until all of ours are found.
func (s *catalogSearch) run(ctx context.Context, ids []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(categoriesAtOnce)
	for _, id := range ids {
		group.Go(func() error {
			if s.complete() {
				return nil
			}

			return s.visit(ctx, id)
		})
	}

	return group.Wait() //nolint:wrapcheck // names the category
}

func (s *catalogSearch) complete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return len(s.found) == len(s.categories)
}

// visit lists the tags of one category if it is one of ours.
func (s *catalogSearch) visit(ctx context.Context, id string) error {
	name, ok := s.known.get(id)
	if !ok {
		var err error
		if name, err = s.readName(ctx, id); err != nil {
			return err
		}
	}
	if !slices.Contains(s.categories, name) {
		return nil
	}
	ids, err := repeat(ctx, s.tagger, func() ([]string, error) { return s.manager.ListTagsForCategory(ctx, id) })
	if err != nil {
		return fmt.Errorf("list tags of category %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found[name] = ids

	return nil
}

// readName is empty for a category that was deleted since it was listed.
func (s *catalogSearch) readName(ctx context.Context, id string) (string, error) {
	category, err := repeat(ctx, s.tagger, func() (*tags.Category, error) { return s.manager.GetCategory(ctx, id) })
	if rest.IsStatusError(err, http.StatusNotFound) {
		return "", nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.late = s.late || timedOut(err) || errors.Is(ctx.Err(), context.DeadlineExceeded)

		return "", fmt.Errorf("get tag category %s: %w", id, err)
	}
	s.read++
	s.known.set(id, category.Name)

	return category.Name, nil
}
