package loadbalancers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
)

// namesAge is how old a list of names may be.
const namesAge = 5 * time.Minute

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

// find returns the only object with a name.
func (n *names) find(ctx context.Context, list, what, name string, is func(*policy.Object) bool) (*policy.Object, error) {
	found, err := n.named(ctx, list, name, is)
	switch {
	case err != nil:
		return nil, fmt.Errorf("look for %s named %s: %w", what, name, err)
	case len(found) == 0:
		return nil, apierr.Mark(apierr.ErrInvalid, fmt.Errorf("%s named %s not found", what, name))
	case len(found) > 1:
		return nil, apierr.Mark(apierr.ErrInvalid, fmt.Errorf("%s named %s is not unique: %s, %s", what, name, found[0].Path, found[1].Path))
	}

	return found[0], nil
}

// named returns all objects with a name. If there is none, the list is read again.
func (n *names) named(ctx context.Context, list, name string, is func(*policy.Object) bool) (found []*policy.Object, err error) {
	for _, age := range []time.Duration{namesAge, 0} {
		all, err := n.lists.GetWithin(ctx, list, age)
		if err != nil {
			return nil, err
		}
		if found = lists.Filter(all, func(o *policy.Object) bool { return o.DisplayName == name && is(o) }); len(found) > 0 {
			break
		}
	}

	return found, nil
}

// configured returns the IDs of the pools of all classes, of all pools with a name.
func (n *names) configured(ctx context.Context) ([]string, error) {
	ids := sets.New[string]()
	for _, class := range n.classes {
		for _, ref := range []request.Ref{class.IPPool, class.IPPoolIPv6} {
			if ref.ID != "" || ref.IsZero() {
				ids.Insert(ref.ID)

				continue
			}
			found, err := n.named(ctx, policy.IPPoolsPath, ref.Name, func(*policy.Object) bool { return true })
			if err != nil {
				return nil, err
			}
			for _, pool := range found {
				ids.Insert(pool.ID)
			}
		}
	}

	return sets.List(ids.Delete("")), nil
}
