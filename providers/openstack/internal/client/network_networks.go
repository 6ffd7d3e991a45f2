package client

import (
	"context"
	"net/url"
	"slices"
	"strconv"
)

// NetworksByID returns networks by their IDs, also shared ones of other projects. Those
// that do not exist or cannot be seen are left out.
func (s *NetworkService) NetworksByID(ctx context.Context, ids []string) ([]*NetworkInfo, error) {
	return networks.by(ctx, s, networkQuery[NetworkInfo]{anyProject: true}, "id", ids, func(n *NetworkInfo, id string) bool { return n.ID == id })
}

// ExternalNetworks returns the networks that floating IPs come from, of all projects. The
// service filters by what it does not show of networks of other projects. A row that shows
// it, or that must, proves whether the filter was in effect.
func (s *NetworkService) ExternalNetworks(ctx context.Context) ([]*NetworkInfo, error) {
	project, err := s.session.projectID(ctx)
	if err != nil {
		return nil, err
	}
	filtered := true
	found, err := networks.list(ctx, s, networkQuery[NetworkInfo]{
		filters: url.Values{"router:external": {strconv.FormatBool(true)}}, anyProject: true,
		wanted: func(n *NetworkInfo) bool {
			external := n.External != nil && *n.External || n.External == nil && n.ProjectID != project
			filtered = filtered && external

			return external
		},
	})
	if !filtered {
		found = slices.DeleteFunc(found, func(n *NetworkInfo) bool { return n.External == nil })
	}

	return found, err
}
