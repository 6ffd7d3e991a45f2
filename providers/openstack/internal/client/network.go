package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// pageSize is how many rows are requested. Neutron has no limit of its own.
	pageSize = 1000
	// maxIDs is how many IDs one request has: many proxies take URLs of up to 4 KiB.
	maxIDs = 50
)

// The names of extensions of Neutron:
// https://docs.openstack.org/api-ref/network/v2/#extensions.
const (
	ExtensionExtraRoute       = "extraroute"
	ExtensionExtraRouteAtomic = "extraroute-atomic"
	ExtensionAddressPairs     = "allowed-address-pairs"
	ExtensionPortSecurity     = "port-security"
	ExtensionGroupFilter      = "port-security-groups-filtering"
	ExtensionRevisions        = "standard-attr-revisions"
	ExtensionRevisionIfMatch  = "revision-if-match"
	ExtensionTags             = "standard-attr-tag"
	ExtensionFilterValidation = "filter-validation"
)

// portFields are what lists of ports have. The others are only needed to change a port.
var (
	portFields     = []string{"id", "network_id", "project_id", "device_id", "device_owner", "status", "fixed_ips", "trunk_details"}
	portFieldsFull = append(slices.Clone(portFields), "mac_address", "port_security_enabled", "security_groups", "allowed_address_pairs", "tags", "revision_number")
)

// NetworkService calls Neutron.
type NetworkService struct{ *service }

// Available returns the reason if there is no endpoint.
func (s *NetworkService) Available(ctx context.Context) error {
	_, err := s.open(ctx)

	return err
}

// opened returns a client with the base of the API.
func (s *NetworkService) opened(ctx context.Context) (*gophercloud.ServiceClient, error) {
	client, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	copied := *client
	copied.ResourceBase = client.Endpoint + "v2.0/"

	return &copied, nil
}

// Extensions returns the names of all extensions.
func (s *NetworkService) Extensions(ctx context.Context) (map[string]bool, error) {
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	var body struct {
		Extensions []struct {
			Alias string `json:"alias"`
		} `json:"extensions"`
	}
	if err := readJSON(ctx, client, client.ServiceURL("extensions"), &body, nil); err != nil {
		return nil, fmt.Errorf("list extensions: %w", err)
	}
	if body.Extensions == nil {
		return nil, apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("list extensions: response has none"))
	}
	names := make(map[string]bool, len(body.Extensions))
	for _, e := range body.Extensions {
		names[e.Alias] = true
	}

	return names, nil
}

// ListPorts returns all ports of the project, without what only [NetworkService.PortsByDevice]
// has. If a page fails it returns what came before, along with the error.
func (s *NetworkService) ListPorts(ctx context.Context) ([]*Port, error) {
	project, err := s.session.projectID(ctx)
	if err != nil {
		return nil, err
	}
	query := url.Values{"project_id": {project}, "fields": portFields}

	return s.ports(ctx, query, func(p *Port) bool { return p.ProjectID == project })
}

// PortsByDevice returns the ports of servers in the project, with all fields. It makes one
// call for each 50 IDs.
func (s *NetworkService) PortsByDevice(ctx context.Context, ids []string) ([]*Port, error) {
	project, err := s.session.projectID(ctx)
	if err != nil {
		return nil, err
	}
	var all []*Port
	for chunk := range slices.Chunk(ids, maxIDs) {
		query := url.Values{"project_id": {project}, "device_id": chunk, "fields": portFieldsFull}
		found, err := s.ports(ctx, query, func(p *Port) bool {
			return p.ProjectID == project && slices.Contains(chunk, p.DeviceID)
		})
		all = append(all, found...)
		if err != nil {
			return all, err
		}
	}

	return all, nil
}

// RouterPorts returns the ports of a router, which may belong to another project.
func (s *NetworkService) RouterPorts(ctx context.Context, router string) ([]*Port, error) {
	if err := checkID("router", router); err != nil {
		return nil, err
	}
	query := url.Values{"device_id": {router}, "fields": portFields}

	return s.ports(ctx, query, func(p *Port) bool { return p.DeviceID == router })
}

// routerInterfaces are the owners of ports by which routers are in subnets (neutron-lib:
// constants.py, ROUTER_INTERFACE_OWNERS).
var routerInterfaces = []string{"network:router_interface", "network:ha_router_replicated_interface", "network:router_interface_distributed"}

// RouterPortsBySubnet returns the ports by which routers are in a subnet, as far as the
// project can see them: those of its routers, and of all routers if the network is its own.
func (s *NetworkService) RouterPortsBySubnet(ctx context.Context, subnet string) ([]*Port, error) {
	if err := checkID("subnet", subnet); err != nil {
		return nil, err
	}
	query := url.Values{"device_owner": routerInterfaces, "fixed_ips": {"subnet_id=" + subnet}, "fields": portFields}

	return s.ports(ctx, query, func(p *Port) bool {
		in := func(ip FixedIP) bool { return ip.SubnetID == subnet }

		return p.DeviceID != "" && slices.Contains(routerInterfaces, p.DeviceOwner) && slices.ContainsFunc(p.FixedIPs, in)
	})
}

// PortsByAddress returns the ports of the project with a fixed IP in some networks, with
// all fields.
func (s *NetworkService) PortsByAddress(ctx context.Context, address string, networks []string) ([]*Port, error) {
	project, err := s.session.projectID(ctx)
	if err != nil {
		return nil, err
	}
	var all []*Port
	for chunk := range slices.Chunk(networks, maxIDs) {
		query := url.Values{
			"project_id": {project}, "network_id": chunk, "fixed_ips": {"ip_address=" + address}, "fields": portFieldsFull,
		}
		found, err := s.ports(ctx, query, func(p *Port) bool {
			has := func(ip FixedIP) bool { return sameAddress(ip.Address, address) }

			return p.ProjectID == project && slices.Contains(chunk, p.NetworkID) && slices.ContainsFunc(p.FixedIPs, has)
		})
		all = append(all, found...)
		if err != nil {
			return all, err
		}
	}

	return all, nil
}

func (s *NetworkService) ports(ctx context.Context, query url.Values, wanted func(*Port) bool) ([]*Port, error) {
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}

	return listing[Port]{
		service: s.service, client: client, path: "ports", key: "ports", query: query, limit: pageSize,
		marker: func(p *Port) string { return p.ID }, wanted: wanted,
	}.all(ctx)
}

// NetworksByID returns networks by their IDs, also shared ones of other projects. Those
// that do not exist or cannot be seen are left out.
func (s *NetworkService) NetworksByID(ctx context.Context, ids []string) ([]*NetworkInfo, error) {
	var all []*NetworkInfo
	for chunk := range slices.Chunk(ids, maxIDs) {
		found, err := s.networks(ctx, url.Values{"id": chunk}, func(n *NetworkInfo) bool { return slices.Contains(chunk, n.ID) })
		all = append(all, found...)
		if err != nil {
			return all, err
		}
	}

	return all, nil
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
	found, err := s.networks(ctx, url.Values{"router:external": {strconv.FormatBool(true)}}, func(n *NetworkInfo) bool {
		external := n.External != nil && *n.External
		filtered = filtered && (external || n.External == nil && n.ProjectID != project)

		return external || n.External == nil && n.ProjectID != project
	})
	if !filtered {
		found = slices.DeleteFunc(found, func(n *NetworkInfo) bool { return n.External == nil })
	}

	return found, err
}

func (s *NetworkService) networks(ctx context.Context, query url.Values, wanted func(*NetworkInfo) bool) ([]*NetworkInfo, error) {
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	query["fields"] = []string{"id", "name", "project_id", "router:external", "subnets"}

	return listing[NetworkInfo]{
		service: s.service, client: client, path: "networks", key: "networks", query: query, limit: pageSize,
		marker: func(n *NetworkInfo) string { return n.ID }, wanted: wanted,
	}.all(ctx)
}

// ifMatch returns the headers of a change that must not overwrite another one.
func ifMatch(revision *int) map[string]string {
	if revision == nil {
		return nil
	}

	return map[string]string{"If-Match": "revision_number=" + strconv.Itoa(*revision)}
}

// put writes an object, or a part of it, and decodes the response.
func (s *NetworkService) put(ctx context.Context, body, into any, headers map[string]string, path ...string) error {
	client, err := s.opened(ctx)
	if err != nil {
		return err
	}
	res, err := client.Put(ctx, client.ServiceURL(path...), body, into, &gophercloud.RequestOpts{
		OkCodes: []int{http.StatusOK, http.StatusCreated}, MoreHeaders: headers,
	})
	if err == nil {
		err = res.Body.Close()
	}

	return finish(s.name, http.MethodPut, err)
}
