package loadbalancers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
)

// namesAge is how old a list of names may be.
const namesAge = 5 * time.Minute

var errNoName = apierr.Mark(apierr.ErrInvalid, errors.New("not found"))

// names finds pools of addresses and application profiles by their display names.
type names struct {
	classes map[string]request.Class
	lists   *cache.Cache[string, []*policy.Object]
}

func newNames(api API, classes map[string]request.Class) *names {
	fetch := func(ctx context.Context, path string) ([]*policy.Object, error) {
		rows, err := api.List(ctx, path)
		if err != nil {
			return nil, err
		}
		var all []*policy.Object
		for _, row := range rows {
			o, _ := policy.Read("", row) // name and type are enough
			all = append(all, o)
		}

		return all, nil
	}

	return &names{classes, cache.New(fetch, cache.Options{TTL: namesAge, Timeout: readTimeout})}
}

// ipPool returns the ID of a pool of addresses.
func (n *names) ipPool(ctx context.Context, ref request.Ref) (string, error) {
	if ref.ID != "" || ref.IsZero() {
		return ref.ID, nil
	}
	o, err := n.find(ctx, policy.IPPoolsPath, "load balancer IP pool", ref.Name, func(*policy.Object) bool { return true })
	if err != nil {
		return "", err
	}

	return o.ID, nil
}

// profile returns the path of an application profile of a type. That a path is of the type
// is not checked, as NSX-T does so.
func (n *names) profile(ctx context.Context, ref request.Ref, resourceType string) (string, error) {
	if ref.ID != "" {
		return ref.ID, nil
	}
	o, err := n.find(ctx, policy.ProfilesPath, "load balancer application profile "+resourceType, ref.Name,
		func(o *policy.Object) bool { return o.ResourceType == resourceType })
	if err != nil {
		return "", err
	}

	return o.Path, nil
}

// find returns the only object with a name. If there is none, the list is read again.
func (n *names) find(ctx context.Context, list, what, name string, is func(*policy.Object) bool) (*policy.Object, error) {
	var found []*policy.Object
	for _, age := range []time.Duration{namesAge, 0} {
		all, err := n.lists.GetWithin(ctx, list, age)
		if err != nil {
			return nil, fmt.Errorf("look for %s named %s: %w", what, name, err)
		}
		found = slices.DeleteFunc(slices.Clone(all), func(o *policy.Object) bool { return o.DisplayName != name || !is(o) })
		if len(found) > 0 {
			break
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%s named %s %w", what, name, errNoName)
	case 1:
		return found[0], nil
	}

	return nil, apierr.Mark(apierr.ErrInvalid, fmt.Errorf("%s named %s is not unique: %s, %s", what, name, found[0].Path, found[1].Path))
}

// configured returns the IDs of the pools of all classes. A name that no pool has is left out:
// there is nothing in it.
func (n *names) configured(ctx context.Context) ([]string, error) {
	ids := sets.New[string]()
	for _, class := range slices.Collect(maps.Values(n.classes)) {
		for _, ref := range []request.Ref{class.IPPool, class.IPPoolIPv6} {
			id, err := n.ipPool(ctx, ref)
			if err != nil && !errors.Is(err, errNoName) {
				return nil, err
			}
			if id != "" {
				ids.Insert(id)
			}
		}
	}

	return sets.List(ids), nil
}
