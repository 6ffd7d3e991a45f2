package client

import (
	"context"
	"errors"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
)

// LoadBalancerService calls Octavia.
type LoadBalancerService struct{ *service }

// Available returns the reason if there is no endpoint.
func (s *LoadBalancerService) Available(ctx context.Context) error {
	_, err := s.open(ctx)

	return err
}

// opened returns a client with the base of the API.
func (s *LoadBalancerService) opened(ctx context.Context) (*gophercloud.ServiceClient, error) {
	client, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	copied := *client
	copied.ResourceBase = client.Endpoint + "v2.0/lbaas/"

	return &copied, nil
}

// Version returns the version of the API. It is read once; a failure is not kept, since
// an unknown version is not an old one. It is zero if a gateway hides the version document, for
// ten minutes: what the API has is to be seen from its responses then.
func (s *LoadBalancerService) Version(ctx context.Context) (features.Version, error) {
	client, err := s.open(ctx)
	if err != nil {
		return features.Version{}, err
	}
	all, err := s.document(ctx, client, client.Endpoint)
	if err != nil || len(all) == 0 {
		return features.Version{}, err
	}
	if v, ok := currentVersion(all); ok {
		return v, nil
	}

	return features.Version{}, apierr.Mark(apierr.ErrUnavailable, errors.New("load-balancer: version document has no version"))
}
