package openstack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack/contract"
)

// The projects of the contract's layout.
const (
	contractProject = "contract"
	contractOther   = "contract-other"
)

// contractTarget is the simulated cloud as a [contract.Target], for one scenario.
type contractTarget struct {
	sim    *openstack.Cloud
	client *http.Client
	layout *contract.Cloud
	quotas openstack.Quotas
	// flavors are the names of the flavors of fixtures, by ID.
	flavors map[string]string
}

var _ contract.Target = (*contractTarget)(nil)

// newContractTarget starts the cloud of the recordings: a real one of the Zed release
// without a job board in Octavia, in which owners of networks do not see the ports of
// others. No read is stale, and nothing takes time.
func newContractTarget() (*contractTarget, error) {
	sim, err := openstack.Start(openstack.Options{
		StaleReads: new(openstack.StaleReads), Catalog: openstack.Catalog{OneURL: true},
	})
	if err != nil {
		return nil, err
	}
	sim.SetPortsOfOthers(false)
	sim.SetStuckParts(true)

	return &contractTarget{sim: sim, client: sim.HTTPClient(), flavors: map[string]string{}}, nil
}

// close ends the cloud.
func (t *contractTarget) close() error {
	t.client.CloseIdleConnections()

	return t.sim.Close()
}

// Begin implements [contract.Target].
func (t *contractTarget) Begin(context.Context, string) (*contract.Cloud, error) {
	t.layout = &contract.Cloud{
		Endpoints: map[string]string{}, Users: map[string]contract.User{}, Vars: map[string]string{},
	}
	for service, path := range map[string]string{
		"identity": "/identity", "compute": "/compute", "network": "/network", "load-balancer": "/load-balancer",
	} {
		t.layout.Endpoints[service] = t.sim.URL() + path
	}
	t.accounts()
	t.networks()
	t.nodes()

	return t.layout, nil
}

// accounts adds the projects, users and the application credential.
func (t *contractTarget) accounts() {
	v := t.layout.Vars
	v["project"], v["other_project"] = t.sim.AddProject(contractProject), t.sim.AddProject(contractOther)
	v["admin_project"] = t.sim.ProjectID(openstack.ProjectAdmin)
	t.sim.AddUser("contract", contractProject, openstack.RoleMember, openstack.RoleReader, openstack.RoleOctaviaMember)
	t.sim.AddUser("contract-reader", contractProject, openstack.RoleReader, openstack.RoleOctaviaObserver)
	t.sim.AddUser("contract-other", contractOther, openstack.RoleMember, openstack.RoleReader, openstack.RoleOctaviaMember)
	for key, name := range map[string]string{"ccm": "contract", "reader": "contract-reader", "other": "contract-other", "admin": openstack.UserAdmin} {
		project := map[string]string{"other": v["other_project"], "admin": v["admin_project"]}[key]
		if project == "" {
			project = v["project"]
		}
		t.layout.Users[key] = contract.User{Name: name, Password: openstack.Password(name), ProjectID: project}
		if key != "admin" {
			v[key+"_user"], v[key+"_user_id"], v[key+"_password"] = name, t.sim.UserID(name), openstack.Password(name)
		}
	}
	v["appcred_id"], v["appcred_secret"] = t.sim.AddApplicationCredential(openstack.ApplicationCredentialSpec{
		User: "contract", Name: "contract",
	})
	for _, user := range []string{"contract", "contract-reader", "contract-other"} {
		t.sim.SetDefaultProject(user, "")
	}
}

// networks adds the networks, their subnets and the router.
func (t *contractTarget) networks() {
	v := t.layout.Vars
	v["public"] = t.sim.AddNetwork(openstack.NetworkSpec{Name: "contract-public", External: true})
	v["public_subnet"] = t.sim.AddSubnet(openstack.SubnetSpec{
		Network: v["public"], Name: "contract-public-v4", CIDR: "198.51.100.0/24", Pools: []string{"198.51.100.10-198.51.100.15"},
	})
	v["private"] = t.sim.AddNetwork(openstack.NetworkSpec{Name: "contract-private", Project: contractProject})
	// The pool of the recordings begins at .20, a text that is part of the addresses of
	// some scenarios, so that it would not count as chosen by the cloud.
	v["subnet"] = t.sim.AddSubnet(openstack.SubnetSpec{
		Network: v["private"], Name: "contract-v4", CIDR: "10.50.0.0/24", Pools: []string{"10.50.0.30-10.50.0.250"},
	})
	v["subnet_v6"] = t.sim.AddSubnet(openstack.SubnetSpec{
		Network: v["private"], Name: "contract-v6", CIDR: "fd00:50::/64", SLAAC: true,
	})
	v["router"] = t.sim.AddRouter(openstack.RouterSpec{
		Name: "contract-router", Project: contractProject, External: v["public"], Subnets: []string{v["subnet"], v["subnet_v6"]},
	})
	v["isolated"] = t.sim.AddNetwork(openstack.NetworkSpec{Name: "contract-isolated", Project: contractProject})
	v["isolated_subnet"] = t.sim.AddSubnet(openstack.SubnetSpec{
		Network: v["isolated"], Name: "contract-isolated-v4", CIDR: "10.60.0.0/29",
	})
}

// nodes adds the servers and their ports.
func (t *contractTarget) nodes() {
	v := t.layout.Vars
	for i := range 3 {
		name, key := fmt.Sprintf("node-%d", i+1), fmt.Sprintf("node_%d", i+1)
		v[key+"_address"] = fmt.Sprintf("10.50.0.1%d", i+1)
		v[key] = t.sim.AddServer(openstack.ServerSpec{Name: name, User: "contract", Project: contractProject})
		v[key+"_port"] = t.sim.AddPort(openstack.PortSpec{
			Network: v["private"], Server: v[key], Name: name, IPs: []string{v[key+"_address"]},
		})
	}
	p, _ := t.sim.Port(v["node_1_port"])
	v["default_group"] = p.Groups[0]
	v["image"] = openstack.ImageID
	v["flavor"] = t.sim.AddFlavor(openstack.FlavorSpec{Name: "m1.small"})
}

// Fixture implements [contract.Target].
func (t *contractTarget) Fixture(ctx context.Context, f contract.Fixture) (map[string]any, error) {
	switch f.Kind {
	case "port":
		return t.port(f), nil
	case "server":
		return t.server(ctx, f)
	case "delete-server":
		t.sim.DeleteServer(word(f, "id"))
	case "flavor":
		return t.flavor(f), nil
	case "delete-flavor":
		t.sim.DeleteFlavor(t.flavors[word(f, "id")])
	case "lb-flavor":
		return map[string]any{"id": t.sim.AddLBFlavor(openstack.LBFlavor{Name: word(f, "name"), Provider: "amphora"})}, nil
	case "l7policy":
		out, err := t.call(ctx, f.As, http.MethodPost, "load-balancer", "/v2.0/lbaas/l7policies", map[string]any{"l7policy": f.Args})
		policy, _ := out["l7policy"].(map[string]any)

		return policy, err
	case "hold":
		t.sim.HoldPending("", word(f, "on") == "true")
	case "status":
		t.status(f)
	case "settle":
		return nil, t.settle(ctx, word(f, "id"))
	case "lb-quota":
		return t.quota(ctx, "load-balancer", "/v2.0/lbaas/quotas/", f)
	case "network-quota":
		return t.quota(ctx, "network", "/v2.0/quotas/", f)
	case "network-limits":
		t.quotas.Routes, t.quotas.AddressPairs = int(f.Args["routes"].(float64)), int(f.Args["address_pairs"].(float64))
		t.sim.SetQuotas(contractProject, t.quotas)
	case "revoke":
		return nil, t.revoke(ctx, word(f, "token"))
	default:
		return nil, fmt.Errorf("no fixture %s %v", f.Kind, f.Args)
	}

	return nil, nil
}

// word is an argument of a fixture, empty when it is absent.
func word(f contract.Fixture, key string) string {
	text, _ := f.Args[key].(string)

	return text
}

// port adds a port.
func (t *contractTarget) port(f contract.Fixture) map[string]any {
	spec := openstack.PortSpec{Network: word(f, "network_id"), Name: word(f, "name"), Project: contractProject}
	if word(f, "project_id") == t.layout.Vars["admin_project"] {
		spec.Project = openstack.ProjectAdmin
	}
	if wanted, _ := f.Args["fixed_ips"].([]any); len(wanted) > 0 {
		spec.IPs = []string{}
		for _, ip := range wanted {
			if text, ok := ip.(map[string]any)["ip_address"].(string); ok {
				spec.IPs = append(spec.IPs, text)
			}
		}
	}
	id := t.sim.AddPort(spec)
	p, _ := t.sim.Port(id)

	return map[string]any{"id": id, "security_groups": p.Groups}
}

// server adds a server on the private network of the user's project.
func (t *contractTarget) server(ctx context.Context, f contract.Fixture) (map[string]any, error) {
	spec := openstack.ServerSpec{
		Name: word(f, "name"), User: "contract", Project: contractProject, Flavor: t.flavors[word(f, "flavor_id")],
		Networks: []openstack.ServerNetwork{{Name: "contract-private"}},
	}
	if f.As == "other" {
		spec.User, spec.Project = "contract-other", contractOther
		network := t.sim.AddNetwork(openstack.NetworkSpec{Name: "contract-other", Project: contractOther})
		t.sim.AddSubnet(openstack.SubnetSpec{Network: network, Name: "contract-other", CIDR: "10.70.0.0/24"})
		spec.Networks[0].Name = "contract-other"
	}
	if metadata, ok := f.Args["metadata"].(map[string]any); ok {
		spec.Metadata = map[string]string{}
		for key, value := range metadata {
			spec.Metadata[key] = fmt.Sprint(value)
		}
	}

	id := t.sim.AddServer(spec)
	if word(f, "status") != "SHUTOFF" {
		return map[string]any{"id": id}, nil
	}
	_, err := t.call(ctx, "admin", http.MethodPost, "compute", "/v2.1/servers/"+id+"/action", map[string]any{"os-stop": nil})

	return map[string]any{"id": id}, err
}

// flavor adds a flavor of Nova.
func (t *contractTarget) flavor(f contract.Fixture) map[string]any {
	id := t.sim.AddFlavor(openstack.FlavorSpec{
		Name: word(f, "name"), VCPUs: 1, RAM: 512, Disk: 1, Private: word(f, "is_public") == "false",
	})
	t.flavors[id] = word(f, "name")

	return map[string]any{"id": id}
}

// status sets the statuses of a load balancer or of a part of one.
func (t *contractTarget) status(f contract.Fixture) {
	if status := word(f, "provisioning_status"); status != "" {
		t.sim.SetProvisioningStatus(word(f, "id"), status)
	}
	if status := word(f, "operating_status"); status != "" {
		t.sim.SetOperatingStatus(word(f, "id"), status)
	}
}

// settle makes the parts of a load balancer ACTIVE that stayed PENDING_CREATE.
func (t *contractTarget) settle(ctx context.Context, lb string) error {
	status, err := t.call(ctx, "ccm", http.MethodGet, "load-balancer", "/v2.0/lbaas/loadbalancers/"+lb+"/status", nil)
	if err != nil {
		return err
	}
	var visit func(value any)
	visit = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, v := range value {
				visit(v)
			}
		case map[string]any:
			if value["provisioning_status"] == "PENDING_CREATE" {
				t.sim.SetProvisioningStatus(value["id"].(string), "ACTIVE")
			}
			for _, v := range value {
				visit(v)
			}
		}
	}
	visit(status)

	return nil
}

// quota sets a quota of the project.
func (t *contractTarget) quota(ctx context.Context, service, path string, f contract.Fixture) (map[string]any, error) {
	body := map[string]any{"quota": map[string]any{word(f, "resource"): f.Args["limit"]}}

	return t.call(ctx, "admin", http.MethodPut, service, path+t.layout.Vars["project"], body)
}

// revoke revokes a token.
func (t *contractTarget) revoke(ctx context.Context, token string) error {
	_, _, err := t.send(ctx, http.MethodDelete, t.layout.Endpoints["identity"]+"/v3/auth/tokens", nil, map[string]string{
		"X-Auth-Token": token, "X-Subject-Token": token,
	})

	return err
}

// call sends a request as a user and returns the response.
func (t *contractTarget) call(ctx context.Context, as, method, service, path string, body any) (map[string]any, error) {
	_, login, err := t.send(ctx, http.MethodPost, t.layout.Endpoints["identity"]+"/v3/auth/tokens", contract.PasswordLogin(t.layout.Users[as]), nil)
	if err != nil {
		return nil, err
	}
	out, _, err := t.send(ctx, method, t.layout.Endpoints[service]+path, body, map[string]string{"X-Auth-Token": login.Get("X-Subject-Token")})

	return out, err
}

// send sends a request, whose refusal is an error.
func (t *contractTarget) send(ctx context.Context, method, url string, body any, header map[string]string) (map[string]any, http.Header, error) {
	var data bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&data).Encode(body); err != nil {
			return nil, nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, url, &data)
	if err != nil {
		return nil, nil, err
	}
	for key, value := range header {
		request.Header.Set(key, value)
	}
	response, err := t.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return nil, nil, fmt.Errorf("%s %s: status %d: %s", method, url, response.StatusCode, raw)
	}
	var out map[string]any
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &out)
	}

	return out, response.Header, err
}
