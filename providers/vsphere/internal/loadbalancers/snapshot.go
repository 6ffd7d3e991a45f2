package loadbalancers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
)

const (
	// searchAge is how old the result of a search may be.
	searchAge = 10 * time.Second
	// indexLag is how long a search may show what was before a change. There is no documented
	// limit; the index is usually some seconds behind.
	indexLag = 5 * time.Minute
	// readTimeout bounds a search, or the lists instead of it.
	readTimeout = 2 * time.Minute
)

// snapshot is what a search shows of a cluster, with the own writes that it may not show yet.
// It is safe for concurrent use.
type snapshot struct {
	api API
	// owner returns the owner of the objects of a cluster.
	owner func(cluster string) policy.Owner
	// pools returns the IDs of the pools in the cloud-config.
	pools func(context.Context) ([]string, error)
	lag   time.Duration
	// searched and listed are the results of searches and of lists.
	searched, listed *cache.Cache[string, *view]

	mu     sync.Mutex
	writes map[string]write
}

// view is what a search, or lists, have returned of a cluster.
type view struct {
	owner policy.Owner
	began time.Time
	// services has the objects of each Service, by namespace and name.
	services map[string][]*policy.Object
	// lbServices are those of the cluster.
	lbServices []*policy.Object
}

// write is an own write: the object as it was written, nil for a deleted one.
type write struct {
	object *policy.Object
	at     time.Time
}

// start sets how old a search may be.
func (s *snapshot) start(age time.Duration) {
	s.writes = map[string]write{}
	options := cache.Options{TTL: cmp.Or(age, searchAge), Timeout: readTimeout}
	s.searched, s.listed = cache.New(s.search, options), cache.New(s.list, options)
}

// of returns the objects of a Service by their paths, and the LBServices of its cluster, of the
// result of a search or of lists.
func (s *snapshot) of(ctx context.Context, names policy.Names, results *cache.Cache[string, *view]) (objects, lbServices map[string]*policy.Object, err error) {
	owner, service := names.Owner, names.String()
	found, err := results.Get(ctx, owner.Cluster)
	if err != nil {
		return nil, nil, fmt.Errorf("look for objects of the cluster: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	objects, lbServices = byPath(found.services[service]), byPath(found.lbServices)
	for path, w := range s.writes {
		switch {
		case found.began.Sub(w.at) > cmp.Or(s.lag, indexLag):
			delete(s.writes, path)
		case w.object == nil:
			delete(objects, path)
			delete(lbServices, path)
		case !owner.IsOf(w.object):
		case w.object.Kind == policy.LBServices:
			lbServices[path] = w.object
		case w.object.Service() == service:
			objects[path] = w.object
		}
	}

	return objects, lbServices, nil
}

// isShared reports whether virtual servers of other Services are known in the LBService that a
// Service uses.
func (s *snapshot) isShared(o *observed) bool {
	found, _, _ := s.searched.Peek(o.names.Owner.Cluster)
	s.mu.Lock()
	defer s.mu.Unlock()
	uses := func(object *policy.Object) bool {
		return object != nil && object.LBServicePath == o.lbService && object.Service() != o.names.String()
	}
	for path, w := range s.writes {
		if uses(w.object) && policy.KindOf(path) == policy.VirtualServers {
			return true
		}
	}
	if found == nil {
		return false
	}
	for _, objects := range found.services {
		if slices.ContainsFunc(objects, func(object *policy.Object) bool {
			_, written := s.writes[object.Path]

			return !written && uses(object)
		}) {
			return true
		}
	}

	return false
}

// all returns the namespaces and names of all Services that have objects, and the paths of the
// LBServices without virtual servers.
func (s *snapshot) all(ctx context.Context, owner policy.Owner) (services, unused []string, err error) {
	found, err := s.searched.GetWithin(ctx, owner.Cluster, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("look for objects of the cluster: %w", err)
	}
	used := sets.New[string]()
	for _, objects := range found.services {
		for _, o := range objects {
			used.Insert(o.LBServicePath)
		}
	}
	for _, o := range found.lbServices {
		if !used.Has(o.Path) {
			unused = append(unused, o.Path)
		}
	}

	return slices.Sorted(maps.Keys(found.services)), unused, nil
}

func byPath(objects []*policy.Object) map[string]*policy.Object {
	all := make(map[string]*policy.Object, len(objects))
	for _, o := range objects {
		all[o.Path] = o
	}

	return all
}

// store keeps what was written or read: nil for what does not exist.
func (s *snapshot) store(path string, object *policy.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var row *policy.Object
	if object != nil && !object.Deleting {
		row = object.Row()
	}
	s.writes[path] = write{row, time.Now()}
}

// search searches the objects of a cluster. If the search is refused, out of order or not
// permitted, all objects are listed instead.
func (s *snapshot) search(ctx context.Context, cluster string) (*view, error) {
	v := newView(s.owner(cluster))
	err := s.api.Search(ctx, query(v.owner), func(row json.RawMessage) error { return v.add(policy.ReadRow(row)) })
	if canList(err) {
		klog.FromContext(ctx).V(2).Info("Listing objects, as they cannot be searched", "error", err)

		return s.list(ctx, cluster)
	}
	if err != nil {
		return nil, err
	}

	return v, nil
}

// canList reports whether lists may succeed where a search failed: the manager responded, and
// neither to too many calls nor to a login.
func canList(err error) bool {
	e, ok := errors.AsType[*nsx.Error](err)

	return ok && e.Status != 0 && e.Status != http.StatusTooManyRequests && !errors.Is(err, nsx.ErrLogin)
}

func newView(owner policy.Owner) *view {
	return &view{owner: owner, began: time.Now(), services: map[string][]*policy.Object{}}
}

// add adds an object, or returns why it was not read, if it is one of the cluster.
func (v *view) add(o *policy.Object, err error) error {
	switch {
	case !v.owner.IsOf(o) || o.Deleting || !strings.HasPrefix(o.Path, "/infra/"): // not of a project
		return nil
	case err != nil:
		return err
	case o.Kind == policy.LBServices:
		v.lbServices = append(v.lbServices, o)
	case o.Service() != "":
		v.services[o.Service()] = append(v.services[o.Service()], o)
	}

	return nil
}

// query returns the query for the objects of a cluster. It also matches others.
func query(owner policy.Owner) string {
	types := lists.Map(policy.ResourceTypes(), func(name string) string { return "resource_type:" + name })

	return fmt.Sprintf("(%s) AND marked_for_delete:false AND tags.scope:%s AND tags.tag:%s AND tags.tag:%s",
		strings.Join(types, " OR "), policy.ScopeCluster, nsx.Quote(owner.Cluster), nsx.Quote(owner.Name()))
}

// list lists the objects of all collections that can have some of a cluster.
func (s *snapshot) list(ctx context.Context, cluster string) (*view, error) {
	v := newView(s.owner(cluster))
	for _, kind := range []policy.Kind{policy.LBServices, policy.VirtualServers, policy.Pools, policy.Monitors, policy.Groups} {
		err := s.addAll(ctx, v, policy.CollectionPath(kind, ""))
		if kind == policy.Groups && errors.Is(err, apierr.ErrDenied) {
			continue // without the right to list groups there are none
		}
		if err != nil {
			return nil, err
		}
	}
	named, err := s.pools(ctx)
	if err != nil {
		return nil, err
	}
	pools := sets.New(named...)
	for _, objects := range v.services {
		for _, o := range objects {
			pools.Insert(o.Tag(policy.ScopeIPPool))
		}
	}
	for _, pool := range sets.List(pools.Delete("")) {
		if err := s.addAll(ctx, v, policy.CollectionPath(policy.Allocations, pool)); err != nil && !errors.Is(err, apierr.ErrNotFound) {
			return nil, err
		}
	}

	return v, nil
}

// addAll adds the objects of a collection.
func (s *snapshot) addAll(ctx context.Context, v *view, collection string) error {
	rows, err := s.api.List(ctx, collection)
	for _, row := range rows {
		err = errors.Join(err, v.add(policy.Read("", row)))
	}

	return err
}
