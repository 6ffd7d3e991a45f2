package inventory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// ErrNoTag means that the tags could be read and none of them is the wanted one.
var ErrNoTag = errors.New("no such tag")

// Chain is a way from a VM up to the root folder, with the nearest object first.
type Chain struct {
	Refs []Ref
	// Complete is false if the chain ends before the root folder: at an object that
	// the account may not read, or that the change feed has not reported yet.
	Complete bool
}

// Chains lists the ways from a VM up to the root folder in the order in which
// zones are looked for: its host and what that belongs to, its resource pool and
// what that belongs to, and the VM itself in its vApps and folders. A way of which
// nothing is known is left out.
func (i *Inventory) Chains(vm *VM) []Chain { return i.store.chains(vm) }

// incompleteChainError is the result of a search for a tag that could be on an
// object that cannot be read.
type incompleteChainError struct {
	last Ref // of the chain
}

func (e *incompleteChainError) Error() string {
	return fmt.Sprintf("%s %s or an object above it cannot be read and can have the tag that counts: check the permissions of the account",
		e.last.Type, e.last.Value)
}

// Zones returns the zone and the region of a VM: the names of the tags of the two
// configured categories, each on the nearest object of the first chain that has
// one. The name for a category that is not configured is empty. When a category
// has no tag on any chain the error is [ErrNoTag]; any other error means that
// the tags could not be read. A tag on a later chain does not count if one on an
// earlier chain cannot be ruled out: labels are written once and never corrected.
func (i *Inventory) Zones(ctx context.Context, vm *VM) (zone, region string, err error) {
	if i.cfg.ZoneCategory == "" && i.cfg.RegionCategory == "" {
		return "", "", nil
	}
	if vm.Pool == (Ref{}) {
		klog.FromContext(ctx).Info("VM has no resource pool that could be read, looking for its zone without", "vm", vm.Name, "ref", vm.Ref.Value)
	}
	chains := i.Chains(vm)
	zone, zoneErr := i.tagOf(ctx, "zone", i.cfg.ZoneCategory, vm, chains)
	region, regionErr := i.tagOf(ctx, "region", i.cfg.RegionCategory, vm, chains)
	if err := worst(zoneErr, regionErr); err != nil {
		return "", "", fmt.Errorf("find zone of VM %s in vCenter %s: %w", vm.Ref.Value, i.cfg.Name, err)
	}

	return zone, region, nil
}

// worst is the first error other than that there is no tag, so that a
// failure is never taken for a missing tag.
func worst(errs ...error) error {
	for _, err := range errs {
		if err != nil && !errors.Is(err, ErrNoTag) {
			return err
		}
	}

	return errors.Join(errs...)
}

// tagOf returns the name of the nearest tag of a category.
func (i *Inventory) tagOf(ctx context.Context, kind, category string, vm *VM, chains []Chain) (string, error) {
	if category == "" {
		return "", nil
	}
	object, ids, err := i.tags.nearest(ctx, category, chains, i.cfg.TagTTL)
	if apierr.Has[*incompleteChainError](err) {
		return "", fmt.Errorf("vSphere %s category %s: %w", kind, category, err)
	}
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("vSphere %s category %s does not match any tags for mo %s: %w", kind, category, vm.Ref.Value, ErrNoTag)
	}
	names, err := i.tags.namesOf(ctx, ids)
	if err != nil {
		return "", err
	}
	if len(names) > 1 {
		klog.FromContext(ctx).Info("Object has several tags of one category, the first one counts",
			"category", category, "object", object, "tags", names)
	}

	return names[0], nil
}

// nearest finds the tags of a category on the chains. None means that there is
// none by a catalog that is at most maxAge old: a new tag must not stay
// unnoticed for as long as a name is kept.
func (t *tagger) nearest(ctx context.Context, category string, chains []Chain, maxAge time.Duration) (Ref, []string, error) {
	var known *catalog
	var incomplete error
	for _, age := range []time.Duration{math.MaxInt64, maxAge} {
		newer, err := t.catalogs.GetWithin(ctx, struct{}{}, age)
		if err != nil {
			return Ref{}, nil, err
		}
		if newer == known {
			break
		}
		known = newer
		attached, err := t.attached.Get(ctx, known)
		if err != nil {
			return Ref{}, nil, err
		}
		var object Ref
		var ids []string
		if object, ids, incomplete = attached.nearest(category, chains); len(ids) > 0 {
			return object, ids, nil
		}
	}

	return Ref{}, nil, incomplete
}
