package snapshot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const (
	maxAge  = 30 * time.Second
	maxKeys = 200
)

var (
	errBroken     = errors.New("broken")
	errNoResponse = apierr.Mark(apierr.ErrUnavailable, errors.New("no response"))
)

// object is one of the fake cloud.
type object struct{ id, name, state string }

func keyOf(o *object) string  { return o.id }
func nameOf(o *object) string { return o.name }

// The operations of the fake cloud.
const (
	listPage  = "list"
	getKeys   = "get"
	getByName = "get by name"
)

// request is a call to the fake cloud.
type request struct {
	operation string
	keys      []string
}

// cloud is a fake cloud. Its list has pages.
type cloud struct {
	page int

	mu       sync.Mutex
	added    int
	objects  map[string]object
	unlisted map[string]bool
	requests []request
	// before is called before each request is processed, which fails if it does.
	before func(context.Context, request) error
}

func newCloud(page int) *cloud {
	return &cloud{page: page, objects: map[string]object{}, unlisted: map[string]bool{}}
}

// add makes n objects, and returns their keys. They are named after them.
func (c *cloud) add(n int) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := make([]string, n)
	for i := range keys {
		c.added++
		keys[i] = "o-" + strconv.Itoa(c.added)
		c.objects[keys[i]] = object{id: keys[i], name: "name-of-" + keys[i]}
	}

	return keys
}

// addUnlisted makes n objects that no list has.
func (c *cloud) addUnlisted(n int) []string {
	keys := c.add(n)
	for _, key := range keys {
		c.unlisted[key] = true
	}

	return keys
}

// put adds or changes an object.
func (c *cloud) put(o object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.objects[o.id] = o
}

func (c *cloud) remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.objects, key)
}

// begin counts a request and waits for before.
func (c *cloud) begin(ctx context.Context, operation string, keys []string) error {
	c.mu.Lock()
	r := request{operation, slices.Clone(keys)}
	c.requests = append(c.requests, r)
	before := c.before
	c.mu.Unlock()
	if before == nil {
		return nil
	}

	return before(ctx, r)
}

// inject has before called for each request from now on; nil ends that.
func (c *cloud) inject(before func(context.Context, request) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = before
}

func (c *cloud) find(wanted func(object) bool) []*object {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*object
	for _, key := range slices.Sorted(maps.Keys(c.objects)) {
		if o := c.objects[key]; wanted(o) {
			found = append(found, &o)
		}
	}

	return found
}

func (c *cloud) list(ctx context.Context) ([]*object, error) {
	all := c.find(func(o object) bool { return !c.unlisted[o.id] })
	for from := 0; from == 0 || from < len(all); from += c.page {
		if err := c.begin(ctx, listPage, nil); err != nil {
			return all[:from], fmt.Errorf("list: %w", err)
		}
	}

	return all, nil
}

func (c *cloud) get(ctx context.Context, keys []string) ([]*object, error) {
	if err := c.begin(ctx, getKeys, keys); err != nil {
		return nil, err
	}

	return c.find(func(o object) bool { return slices.Contains(keys, o.id) }), nil
}

func (c *cloud) getByName(ctx context.Context, names []string) ([]*object, error) {
	if err := c.begin(ctx, getByName, names); err != nil {
		return nil, err
	}

	return c.find(func(o object) bool { return slices.Contains(names, o.name) }), nil
}

// calls returns how many requests f makes.
func (c *cloud) calls(f func()) int {
	before := c.total()
	f()

	return c.total() - before
}

func (c *cloud) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()

	return len(c.requests)
}

// count returns how many requests of an operation there were.
func (c *cloud) count(operation string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, r := range c.requests {
		if r.operation == operation {
			n++
		}
	}

	return n
}

// open returns a Snapshot of the cloud.
func (c *cloud) open(change ...func(*Options)) *Snapshot[object] {
	options := Options{
		MaxAge: maxAge, MissingAge: maxAge, Window: 100 * time.Millisecond, Timeout: 2 * time.Minute,
		MaxKeys: maxKeys, MaxAliases: maxKeys,
	}
	for _, f := range change {
		f(&options)
	}

	return New(API[object]{List: c.list, Get: c.get, GetByAlias: c.getByName, Key: keyOf, Alias: nameOf}, options)
}

// takes returns what lets each request take some time and then fail with err.
func takes(d time.Duration, err error) func(context.Context, request) error {
	return func(ctx context.Context, _ request) error { return wait(ctx, d, err) }
}

func wait(ctx context.Context, d time.Duration, err error) error {
	select {
	case <-time.After(d):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pass looks up every key by a number of workers, as a loop over nodes does.
func pass(t *testing.T, s *Snapshot[object], workers int, keys []string) {
	t.Helper()
	next := make(chan string)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for key := range next {
				if found, err := s.Find(t.Context(), key); err != nil || found == nil || found.id != key {
					t.Errorf("find %s: %v, %v", key, found, err)
				}
			}
		})
	}
	for _, key := range keys {
		next <- key
	}
	close(next)
	all.Wait()
}

// get looks up keys of which so many exist.
func get(t *testing.T, s *Snapshot[object], keys []string, want int) {
	t.Helper()
	if found, err := s.Get(t.Context(), keys); err != nil || len(found) != want {
		t.Errorf("got %d objects of %d, %v", len(found), want, err)
	}
}
