package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack/contract"
)

// live is the [contract.Target] of the real services.
type live struct {
	api *api
	// dir is the directory of the services, ctl the program that controls them.
	dir, ctl string
	// suffix is a part of the names of projects and users.
	suffix string
	// restore is the configuration of Neutron before a fixture changed it.
	restore []byte
	// held reports whether the worker of Octavia is paused.
	held bool
	// flavors are those that fixtures have created.
	flavors []resource
	cloud   *contract.Cloud
}

var _ contract.Target = (*live)(nil)

// environment describes the services, as their directory has it.
type environment struct {
	Endpoints map[string]string `json:"endpoints"`
	Image     string            `json:"image"`
	Flavor    string            `json:"flavor"`
}

// clouds is a clouds.yaml.
type clouds struct {
	Clouds map[string]struct {
		Auth struct {
			Password string `json:"password"`
		} `json:"auth"`
	} `json:"clouds"`
}

// newLive reads the directory of the services and creates the layout.
func newLive(ctx context.Context, dir, ctl, suffix string) (*live, error) {
	var env environment
	data, err := os.ReadFile(filepath.Join(dir, "env.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &env); err != nil {
		return nil, fmt.Errorf("parse env.json: %w", err)
	}
	var c clouds
	if data, err = os.ReadFile(filepath.Join(dir, "clouds.yaml")); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("parse clouds.yaml: %w", err)
	}
	l := &live{
		dir: dir, ctl: ctl, suffix: suffix,
		api: newAPI(map[string]string{
			"identity": env.Endpoints["keystone"], "compute": env.Endpoints["nova"],
			"network": env.Endpoints["neutron"], "load-balancer": env.Endpoints["octavia"],
		}),
	}
	l.cloud = &contract.Cloud{Endpoints: l.api.endpoints, Users: l.api.users, Vars: map[string]string{"flavor": env.Flavor}}
	password := c.Clouds["admin"].Auth.Password
	steps := []func() error{
		func() error { return l.accounts(ctx, password) },
		func() error { return l.networks(ctx) },
		func() error { return l.nodes(ctx, env) },
		func() error { return l.credential(ctx) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}

	return l, nil
}

// accounts creates the projects, users and their roles.
func (l *live) accounts(ctx context.Context, password string) error {
	admin, err := l.adminProject(ctx, password)
	if err != nil {
		return err
	}
	l.api.users["admin"] = contract.User{Name: "admin", Password: password, ProjectID: admin}
	l.cloud.Vars["admin_project"] = admin
	projectIDs := map[string]string{}
	for _, name := range []string{"contract", "contract-other"} {
		p, err := l.api.ensure(ctx, "admin", projects, "name="+name+l.suffix, object{"name": name + l.suffix, "domain_id": "default"})
		if err != nil {
			return err
		}
		projectIDs[name] = id(p)
	}
	l.cloud.Vars["project"], l.cloud.Vars["other_project"] = projectIDs["contract"], projectIDs["contract-other"]
	for _, u := range []struct {
		key, name, project string
		roles              []string
	}{
		{"ccm", "contract", "contract", []string{"member", "load-balancer_member"}},
		{"reader", "contract-reader", "contract", []string{"reader", "load-balancer_observer"}},
		{"other", "contract-other", "contract-other", []string{"member", "load-balancer_member"}},
	} {
		u.name += l.suffix
		o, err := l.api.ensure(ctx, "admin", users, "name="+u.name, object{
			"name": u.name, "domain_id": "default", "password": password,
		})
		if err != nil {
			return err
		}
		if err := l.grant(ctx, projectIDs[u.project], id(o), u.roles); err != nil {
			return err
		}
		l.api.users[u.key] = contract.User{Name: u.name, Password: password, ProjectID: projectIDs[u.project]}
		l.cloud.Vars[u.key+"_user"], l.cloud.Vars[u.key+"_user_id"] = u.name, id(o)
		l.cloud.Vars[u.key+"_password"] = password
	}

	return nil
}

// adminProject logs in by the name of the project, whose ID is not known yet.
func (l *live) adminProject(ctx context.Context, password string) (string, error) {
	body := contract.PasswordLogin(contract.User{Name: "admin", Password: password})
	body["auth"].(object)["scope"] = object{"project": object{"name": "admin", "domain": object{"name": "Default"}}}
	out, _, err := l.api.send(ctx, "", http.MethodPost, l.api.endpoints["identity"]+"/v3/auth/tokens", body)
	if err != nil {
		return "", err
	}
	token, _ := out["token"].(object)
	project, _ := token["project"].(object)

	return id(project), nil
}

// grant gives a user roles in a project.
func (l *live) grant(ctx context.Context, project, user string, names []string) error {
	for _, name := range names {
		roles, err := l.api.list(ctx, "admin", "identity", "/v3/roles?name="+name, "roles")
		if err != nil {
			return err
		}
		if len(roles) == 0 {
			return fmt.Errorf("no role %q", name)
		}
		path := fmt.Sprintf("/v3/projects/%s/users/%s/roles/%s", project, user, id(roles[0]))
		if _, err := l.api.call(ctx, "admin", http.MethodPut, "identity", path, nil); err != nil {
			return err
		}
	}

	return nil
}

// networks creates the networks, subnets and the router of the layout.
func (l *live) networks(ctx context.Context) error {
	v := l.cloud.Vars
	for _, n := range []struct {
		key, as string
		r       resource
		body    object
	}{
		{"public", "admin", networks, object{"name": "contract-public", "router:external": true}},
		{"public_subnet", "admin", subnets, object{
			"name": "contract-public-v4", "network_id": "$public", "ip_version": 4, "cidr": "198.51.100.0/24",
			"enable_dhcp": false, "allocation_pools": []any{object{"start": "198.51.100.10", "end": "198.51.100.15"}},
		}},
		{"private", "ccm", networks, object{"name": "contract-private"}},
		{"subnet", "ccm", subnets, object{
			"name": "contract-v4", "network_id": "$private", "ip_version": 4, "cidr": "10.50.0.0/24",
			"allocation_pools": []any{object{"start": "10.50.0.20", "end": "10.50.0.250"}},
		}},
		{"subnet_v6", "ccm", subnets, object{
			"name": "contract-v6", "network_id": "$private", "ip_version": 6, "cidr": "fd00:50::/64",
			"ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac",
		}},
		{"isolated", "ccm", networks, object{"name": "contract-isolated"}},
		{"isolated_subnet", "ccm", subnets, object{
			"name": "contract-isolated-v4", "network_id": "$isolated", "ip_version": 4, "cidr": "10.60.0.0/29",
		}},
		{"router", "ccm", routers, object{"name": "contract-router"}},
	} {
		for key, value := range n.body {
			if s, ok := value.(string); ok && strings.HasPrefix(s, "$") {
				n.body[key] = v[s[1:]]
			}
		}
		if n.key == "router" {
			n.body["external_gateway_info"] = l.gateway()
		}
		o, err := l.api.ensure(ctx, n.as, n.r, "name="+str(n.body, "name"), n.body)
		if err != nil {
			return err
		}
		v[n.key] = id(o)
	}

	return l.interfaces(ctx)
}

// gateway is the way out of the router. The public network has as many addresses
// as one layout needs, so a second one at the same time has none.
func (l *live) gateway() object {
	if l.suffix != "" {
		return object{}
	}

	return object{"network_id": l.cloud.Vars["public"]}
}

// interfaces attaches the subnets of the private network to the router.
func (l *live) interfaces(ctx context.Context) error {
	for _, subnet := range []string{"subnet", "subnet_v6"} {
		query := fmt.Sprintf("%s?device_id=%s&fixed_ips=subnet_id=%s", ports.path, l.cloud.Vars["router"], l.cloud.Vars[subnet])
		found, err := l.api.list(ctx, "ccm", "network", query, "ports")
		if err != nil {
			return err
		}
		if len(found) > 0 {
			continue
		}
		path := routers.path + "/" + l.cloud.Vars["router"] + "/add_router_interface"
		if _, err := l.api.call(ctx, "ccm", http.MethodPut, "network", path, object{"subnet_id": l.cloud.Vars[subnet]}); err != nil {
			return err
		}
	}

	return nil
}

// nodes creates the servers of the layout and their ports.
func (l *live) nodes(ctx context.Context, env environment) error {
	v := l.cloud.Vars
	v["image"] = env.Image
	found, err := l.api.list(ctx, "ccm", "network", groups.path+"?name=default&project_id="+v["project"], groups.many)
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return errors.New("no group default")
	}
	v["default_group"] = id(found[0])
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		key := strings.ReplaceAll(name, "-", "_")
		v[key+"_address"] = "10.50.0.1" + name[5:]
		port, err := l.api.ensure(ctx, "ccm", ports, "name="+name, object{
			"name": name, "network_id": v["private"],
			"fixed_ips": []any{
				object{"subnet_id": v["subnet"], "ip_address": v[key+"_address"]}, object{"subnet_id": v["subnet_v6"]},
			},
		})
		if err != nil {
			return err
		}
		v[key+"_port"] = id(port)
		server, err := l.api.ensure(ctx, "ccm", servers, "name=^"+name+"%24", object{
			"name": name, "imageRef": env.Image, "flavorRef": env.Flavor, "networks": []any{object{"port": id(port)}},
		})
		if err != nil {
			return err
		}
		v[key] = id(server)
		if err := l.waitServer(ctx, id(server), "ACTIVE"); err != nil {
			return err
		}
	}

	return nil
}

// credential creates the application credential anew: its secret is shown once.
func (l *live) credential(ctx context.Context) error {
	path := "/v3/users/" + l.cloud.Vars["ccm_user_id"] + "/application_credentials"
	found, err := l.api.list(ctx, "ccm", "identity", path, "application_credentials")
	if err != nil {
		return err
	}
	for _, o := range found {
		if _, err := l.api.call(ctx, "ccm", http.MethodDelete, "identity", path+"/"+id(o), nil); err != nil {
			return err
		}
	}
	made, err := l.api.create(ctx, "ccm", resource{"identity", path, "application_credential", ""}, object{"name": "contract"})
	if err != nil {
		return err
	}
	l.cloud.Vars["appcred_id"], l.cloud.Vars["appcred_secret"] = id(made), str(made, "secret")

	return nil
}
