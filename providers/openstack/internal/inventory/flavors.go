package inventory

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/topology"
)

// flavors finds out the instance types of servers.
type flavors struct {
	// examples has a server of each flavor whose name is no label value.
	examples *sync.Map
	// ids has the IDs of those flavors by their names, types what IDs become.
	ids, types *cache.Cache[string, string]
}

func newFlavors(compute Compute, clock clock.PassiveClock) flavors {
	f := flavors{examples: &sync.Map{}}
	options := cache.Options{TTL: flavorAge, Clock: clock}
	f.ids = cache.New(func(ctx context.Context, name string) (string, error) {
		server, _ := f.examples.Load(name)

		return compute.ServerFlavorID(ctx, server.(string))
	}, options)
	f.types = cache.New(func(ctx context.Context, id string) (string, error) { return typeOf(ctx, compute, id) }, options)

	return f
}

// errNoFlavor means that Nova has not returned what flavor a server has.
var errNoFlavor = apierr.Mark(apierr.ErrUnavailable, errors.New("the server has no flavor"))

// InstanceType returns the name of the flavor of a server, or its ID if the name is no
// valid label value. Names with blanks or colons are common.
func (i *Inventory) InstanceType(ctx context.Context, server *Server) (string, error) {
	f := i.flavors
	switch {
	case server.FlavorName != "" && topology.Valid(server.FlavorName):
		return server.FlavorName, nil
	case server.FlavorName != "":
		f.examples.Store(server.FlavorName, server.ID)
		id, err := f.ids.Get(ctx, server.FlavorName)
		if err != nil {
			return "", fmt.Errorf("read flavor ID of server %s: %w", server.ID, err)
		}

		return id, nil
	case server.FlavorID != "":
		name, err := f.types.Get(ctx, server.FlavorID)
		if err != nil {
			return "", fmt.Errorf("read flavor %s: %w", server.FlavorID, err)
		}

		return name, nil
	}

	return "", fmt.Errorf("server %s: %w", server.ID, errNoFlavor)
}

// typeOf returns what a flavor is called: its name, or its ID if it was deleted, is not
// visible, or has a name that is no label value.
func typeOf(ctx context.Context, compute Compute, id string) (string, error) {
	flavor, err := compute.GetFlavor(ctx, id)
	switch {
	case apierr.Code(err) == apierr.CodeNotFound:
		return id, nil
	case err != nil:
		return "", err
	case flavor.Name == "" || !topology.Valid(flavor.Name):
		return id, nil
	}

	return flavor.Name, nil
}
