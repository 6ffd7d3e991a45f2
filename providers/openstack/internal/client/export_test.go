package client

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
)

// Do sends a request to a service, at a path below its endpoint.
func (c *Client) Do(ctx context.Context, name Service, method, path string) error {
	services := map[Service]*service{
		Compute: c.compute.service, Network: c.network.service, LoadBalancer: c.loadBalancers.service, KeyManager: c.keyManager.service,
	}
	s, err := services[name].open(ctx)
	if err != nil {
		return err
	}
	options := &gophercloud.RequestOpts{
		OkCodes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent}, KeepResponseBody: true,
	}
	if !isSafe(method) && method != http.MethodDelete {
		options.RawBody = strings.NewReader(`{"thing": {}}`)
	}
	res, err := s.Request(ctx, method, s.ServiceURL(path), options)
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}

	return finish(name, method, err)
}

// OperationOf returns the name of a request in metrics.
func OperationOf(service Service, method, path string) string {
	return operationOf(service, method, path)
}

// CurrentVersion returns the version that a version document recommends.
func CurrentVersion(document string) (features.Version, error) {
	all, err := parseVersions([]byte(document))
	if err != nil {
		return features.Version{}, err
	}
	v, _ := currentVersion(all)

	return v, nil
}

// Microversion returns the microversion in use. It is zero for a service without any, and if
// a proxy hides the version document.
func (s *ComputeService) Microversion(ctx context.Context) (features.Version, error) {
	_, v, err := s.versioned(ctx)

	return v.Version, err
}
