package loadbalancers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
)

// Prove reads what the settings of load balancers name. All that does not exist is in the error. A path
// that may not be read may still be used.
func Prove(ctx context.Context, settings request.Config, api API) error {
	names, paths, errs := newNames(api, settings.Classes), sets.New(settings.Tier1), []error{}
	if settings.LBServiceID != "" {
		paths.Insert(policy.CollectionPath(policy.LBServices, "") + "/" + settings.LBServiceID)
	}
	for _, class := range slices.SortedFunc(maps.Values(settings.Classes), func(a, b request.Class) int { return cmp.Compare(a.Name, b.Name) }) {
		errs = append(errs, names.prove(ctx, class, paths))
	}
	for _, path := range sets.List(paths.Delete("")) {
		_, err := api.Get(ctx, path)
		if errors.Is(err, apierr.ErrDenied) && !errors.Is(err, nsx.ErrLogin) {
			continue
		}
		errs = append(errs, err)
	}

	return errors.Join(errs...)
}

// prove finds what a class names, and adds the paths that it has.
func (n *names) prove(ctx context.Context, class request.Class, paths sets.Set[string]) error {
	var errs []error
	for _, ref := range []request.Ref{class.IPPool, class.IPPoolIPv6} {
		if ref.ID != "" {
			paths.Insert(policy.IPPoolsPath + "/" + ref.ID)
		}
		_, err := n.ipPool(ctx, ref)
		errs = append(errs, err)
	}
	_, tcp := n.profile(ctx, class.TCP, policy.TypeTCPProfile)
	_, udp := n.profile(ctx, class.UDP, policy.TypeUDPProfile)
	paths.Insert(class.TCP.ID, class.UDP.ID, class.PersistencePath)
	if err := errors.Join(append(errs, tcp, udp)...); err != nil {
		return fmt.Errorf("load balancer class %s: %w", class.Name, err)
	}

	return nil
}
