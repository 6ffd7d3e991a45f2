package client

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// catalogTypes are the types that a service may have in the catalog:
// https://service-types.openstack.org/.
var catalogTypes = map[Service][]string{
	Compute:      {"compute"},
	Network:      {"network", "networking"},
	LoadBalancer: {"load-balancer"},
	KeyManager:   {"key-manager"},
}

// pinnedServices are those whose endpoints are taken from the catalog.
var pinnedServices = []Service{Compute, Network, LoadBalancer, KeyManager}

// versionSuffixes are removed from the end of an endpoint, which may have them or not.
var versionSuffixes = map[Service]string{Network: "/v2.0", LoadBalancer: "/v2.0", KeyManager: "/v1"}

// endpointType returns the interface in the catalog for a setting.
func endpointType(setting string) (string, error) {
	name := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(setting)), "url")
	switch name {
	case "":
		return "public", nil
	case "public", "internal", "admin":
		return name, nil
	}

	return "", fmt.Errorf("endpoint type %q is none of public, internal, admin", setting)
}

// catalog is what a login returns about endpoints.
type catalog struct {
	entries              []tokens.CatalogEntry
	endpointType, region string
}

// find returns the endpoint of a service, without the version and with a slash at the
// end. The error is the reason why there is none.
func (c catalog) find(service Service) (*url.URL, error) {
	var known, others []string
	for _, entry := range c.entries {
		if !slices.Contains(catalogTypes[service], entry.Type) {
			continue
		}
		known = append(known, entry.Type)
		for _, e := range entry.Endpoints {
			switch {
			case e.Interface != c.endpointType:
				continue
			case c.region != "" && e.Region != c.region && e.RegionID != c.region:
				others = append(others, e.Region)

				continue
			}

			return parseEndpoint(service, e.URL)
		}
	}
	switch {
	case len(known) == 0:
		return nil, missing("the catalog has no service of type %s", service)
	case len(others) > 0:
		return nil, missing("the catalog has no %s endpoint of %s in region %q, only in %q", c.endpointType, service, c.region, others)
	default:
		return nil, missing("the catalog has no %s endpoint of %s", c.endpointType, service)
	}
}

// ErrNoEndpoint means that the catalog has no endpoint of a service. It is an ErrUnavailable:
// the catalog of a later login may have one.
var ErrNoEndpoint = apierr.Mark(apierr.ErrUnavailable, errors.New("no endpoint"))

func missing(format string, args ...any) error {
	return apierr.Mark(ErrNoEndpoint, fmt.Errorf(format, args...))
}

// parseEndpoint returns the URL of a catalog in one form.
func parseEndpoint(service Service, text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err == nil && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		err = errors.New("no URL with http or https")
	}
	if err != nil {
		return nil, missing("endpoint of %s in the catalog: %w", service, err)
	}
	path := strings.TrimRight(u.Path, "/")
	if suffix := versionSuffixes[service]; suffix != "" {
		path = strings.TrimRight(strings.TrimSuffix(path, suffix), "/")
	}

	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: path + "/"}, nil
}

// regions returns the regions of all endpoints that could be used, sorted.
func (c catalog) regions() []string {
	var all []string
	for _, entry := range c.entries {
		if !slices.Contains(catalogTypes[Compute], entry.Type) && !slices.Contains(catalogTypes[Network], entry.Type) {
			continue
		}
		for _, e := range entry.Endpoints {
			if e.Interface == c.endpointType {
				all = append(all, e.Region)
			}
		}
	}
	slices.Sort(all)

	return slices.Compact(all)
}
