package openstack

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
)

// CatalogStyle is the form of the URLs in the service catalog.
type CatalogStyle int

// The forms of the URLs.
const (
	// CatalogTypical has a version in the URLs of Nova and Keystone alone, as most
	// deployments have it (https://docs.openstack.org/nova/latest/install/controller-install-rdo.html,
	// https://docs.openstack.org/keystone/latest/install/keystone-install-rdo.html,
	// https://docs.openstack.org/neutron/latest/install/controller-install-rdo.html).
	CatalogTypical CatalogStyle = iota
	// CatalogVersioned has versions in all URLs.
	CatalogVersioned
	// CatalogUnversioned has none in any.
	CatalogUnversioned
	// CatalogProject is CatalogTypical with the ID of the project in the URL of
	// Nova: /v2.1/%(project_id)s.
	CatalogProject
)

// Catalog is the service catalog that tokens carry.
type Catalog struct {
	// Style is the form of the URLs.
	Style CatalogStyle
	// Without are the types of services that it leaves out, such as load-balancer.
	Without []string
	// NoRegion leaves out the names of regions.
	NoRegion bool
	// Interfaces are those of each service; default public, internal and admin.
	Interfaces []string
	// OneURL gives all interfaces the public URL, as small deployments do.
	OneURL bool
	// Reverse lists the regions in reverse order, as another Keystone node may.
	Reverse bool
}

// SetCatalog replaces the catalog of tokens that are made from now on.
func (c *Cloud) SetCatalog(catalog Catalog) { c.inspect(func() { c.catalog = catalog }) }

// AuthURL returns the versioned URL of Keystone.
func (c *Cloud) AuthURL() string { return c.URL() + "/identity/v3" }

// keystoneURL is the URL of Keystone for clients that reached the cloud by a host.
func (c *Cloud) keystoneURL(host string) string {
	return c.server.Scheme() + "://" + host + "/identity/v3"
}

// endpoint returns the URL of a service.
func (c *Cloud) endpoint(s *service, r *region, iface, projectID string) string {
	url := c.URL()
	if iface != "public" && !c.catalog.OneURL {
		url += "/" + iface
	}
	if !s.global && r != c.regions[0] {
		url += "/" + r.name
	}
	url += s.path
	style := c.catalog.Style
	if style == CatalogVersioned || (style != CatalogUnversioned && (s.kind == "compute" || s.kind == "identity")) {
		url += s.version
	}
	if style == CatalogProject && s.kind == "compute" && projectID != "" {
		url += "/" + projectID
	}

	return url
}

// entries returns the catalog for a project.
func (c *Cloud) entries(projectID string) []object {
	regions := slices.Clone(c.regions)
	if c.catalog.Reverse {
		slices.Reverse(regions)
	}
	ifaces := c.catalog.Interfaces
	if ifaces == nil {
		ifaces = []string{"public", "internal", "admin"}
	}
	entries := make([]object, 0, len(c.services))
	for _, s := range c.services {
		if slices.Contains(c.catalog.Without, s.kind) {
			continue
		}
		endpoints := []object{}
		for _, r := range regions {
			for _, iface := range ifaces {
				endpoints = append(endpoints, c.endpointEntry(s, r, iface, projectID))
			}
		}
		entries = append(entries, object{
			"id": stableID("service " + s.name), "type": s.kind, "name": s.name, "endpoints": endpoints,
		})
	}

	return entries
}

func (c *Cloud) endpointEntry(s *service, r *region, iface, projectID string) object {
	entry := object{
		"id": stableID("endpoint " + s.name + r.name + iface), "interface": iface,
		"region": r.name, "region_id": r.name, "url": c.endpoint(s, r, iface, projectID),
	}
	if c.catalog.NoRegion {
		entry["region"], entry["region_id"] = nil, nil
	}

	return entry
}

// clientTLS returns what clients of the cloud need to trust it, nil without TLS.
func (c *Cloud) clientTLS() *tls.Config {
	if !c.opts.TLS {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.server.CertificatePEM())

	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}
