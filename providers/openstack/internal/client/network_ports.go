package client

import (
	"context"
	"net/url"
	"slices"
)

// PortsByID returns ports of the project by their IDs, such as those of a trunk. Those that
// do not exist or belong to another project are left out. It makes one call for each 50 IDs.
func (s *NetworkService) PortsByID(ctx context.Context, ids []string) ([]*Port, error) {
	project, err := s.session.projectID(ctx)
	if err != nil {
		return nil, err
	}
	var all []*Port
	for chunk := range slices.Chunk(ids, maxIDs) {
		query := url.Values{"project_id": {project}, "id": chunk, "fields": portFields}
		found, err := s.ports(ctx, query, func(p *Port) bool {
			return p.ProjectID == project && slices.Contains(chunk, p.ID)
		})
		all = append(all, found...)
		if err != nil {
			return all, err
		}
	}

	return all, nil
}

// ServerPorts returns the ports of servers of the project, also those that belong to another
// one: an operator can make a port for a server, and the owner of the network may read it
// (neutron: conf/policies/port.py, get_port). It makes one call for each 50 IDs.
func (s *NetworkService) ServerPorts(ctx context.Context, ids []string) ([]*Port, error) {
	var all []*Port
	for chunk := range slices.Chunk(ids, maxIDs) {
		query := url.Values{"device_id": chunk, "fields": portFields}
		found, err := s.ports(ctx, query, func(p *Port) bool { return slices.Contains(chunk, p.DeviceID) })
		all = append(all, found...)
		if err != nil {
			return all, err
		}
	}

	return all, nil
}
