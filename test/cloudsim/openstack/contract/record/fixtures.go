package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack/contract"
)

// Fixture implements [contract.Target].
func (l *live) Fixture(ctx context.Context, f contract.Fixture) (map[string]any, error) {
	switch f.Kind {
	case "network":
		return l.api.create(ctx, f.As, networks, f.Args)
	case "subnet":
		return l.api.create(ctx, f.As, subnets, f.Args)
	case "router":
		return l.api.create(ctx, f.As, routers, f.Args)
	case "port":
		return l.api.create(ctx, f.As, ports, f.Args)
	case "interface":
		path := routers.path + "/" + str(f.Args, "router_id") + "/add_router_interface"

		return l.api.call(ctx, f.As, http.MethodPut, "network", path, object{"subnet_id": f.Args["subnet_id"]})
	case "l7policy":
		return l.l7policy(ctx, f)
	case "server":
		return l.server(ctx, f)
	case "delete-server":
		return nil, l.deleteServer(ctx, f.As, id(f.Args))
	case "flavor":
		return l.flavor(ctx, f)
	case "delete-flavor":
		return l.api.call(ctx, "admin", http.MethodDelete, "compute", flavors.path+"/"+id(f.Args), nil)
	case "hold":
		return nil, l.hold(ctx, str(f.Args, "on") == "true")
	case "status":
		return nil, l.status(ctx, f.Args)
	case "settle":
		return nil, l.settle(ctx, id(f.Args))
	case "lb-quota":
		return l.quota(ctx, "load-balancer", "/v2.0/lbaas/quotas/", f.Args)
	case "network-quota":
		return l.quota(ctx, "network", "/v2.0/quotas/", f.Args)
	case "network-limits":
		return nil, l.limits(ctx, f.Args)
	case "lb-flavor":
		return l.lbFlavor(ctx, f)
	case "revoke":
		return nil, l.revoke(ctx, str(f.Args, "token"))
	default:
		return nil, fmt.Errorf("no fixture %q", f.Kind)
	}
}

// control runs the program that controls the services.
func (l *live) control(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, l.ctl, args...) //nolint:gosec // the program is an argument of this command
	cmd.Env = append(os.Environ(), "OPENSTACK_DIR="+l.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("run %s %v: %w: %s", l.ctl, args, err, out)
	}

	return nil
}

// hold pauses or resumes the worker of Octavia.
func (l *live) hold(ctx context.Context, on bool) error {
	l.held = on
	if on {
		return l.control(ctx, "pause", "octavia-worker")
	}

	return l.control(ctx, "resume", "octavia-worker")
}

// release resumes what a scenario that failed has left paused.
func (l *live) release(ctx context.Context) error {
	if !l.held {
		return nil
	}

	return l.hold(ctx, false)
}

// word is what a status fixture may put into a statement.
var word = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// status writes states into the database of Octavia.
func (l *live) status(ctx context.Context, args object) error {
	table, ok := map[string]string{
		"loadbalancer": "load_balancer", "listener": "listener", "pool": "pool", "member": "member",
		"healthmonitor": "health_monitor",
	}[str(args, "kind")]
	if !ok {
		return fmt.Errorf("no status of kind %q", args["kind"])
	}
	for _, column := range []string{"provisioning_status", "operating_status"} {
		value := str(args, column)
		if value == "" {
			continue
		}
		if !word.MatchString(value) || !word.MatchString(id(args)) {
			return errors.New("status or id is not a word")
		}
		statement := fmt.Sprintf("update %s set %s='%s' where id='%s'", table, column, value, id(args))
		if err := l.control(ctx, "sql", "octavia", "-e", statement); err != nil {
			return err
		}
	}

	return nil
}

// settle ends what Octavia 11.0.0 leaves: without its job board, the worker drops
// the listeners of a create request (run_flow of controller_worker.py passes no
// keyword arguments on), so they and what is below them stay PENDING_CREATE.
func (l *live) settle(ctx context.Context, lb string) error {
	if !word.MatchString(lb) {
		return errors.New("id is not a word")
	}
	if err := poll(ctx, "load balancer", func() (bool, error) {
		out, err := l.api.get(ctx, "ccm", loadBalancers.service, loadBalancers.path+"/"+lb)
		o, _ := out["loadbalancer"].(object)

		return str(o, "provisioning_status") == "ACTIVE", err
	}); err != nil {
		return err
	}
	const below = "update %s o join pool p on o.pool_id=p.id set o.provisioning_status='ACTIVE' " +
		"where p.load_balancer_id='%s' and o.provisioning_status='PENDING_CREATE'"
	const direct = "update %s set provisioning_status='ACTIVE' " +
		"where load_balancer_id='%s' and provisioning_status='PENDING_CREATE'"
	statement := fmt.Sprintf(below+"; "+below+"; "+direct+"; "+direct, "member", lb, "health_monitor", lb, "listener", lb, "pool", lb)

	return l.control(ctx, "sql", "octavia", "-e", statement)
}

// quota sets one quota of the project.
func (l *live) quota(ctx context.Context, service, path string, args object) (object, error) {
	body := object{"quota": object{str(args, "resource"): args["limit"]}}

	return l.api.call(ctx, "admin", http.MethodPut, service, path+l.cloud.Vars["project"], body)
}

// l7policy creates a policy and waits for it.
func (l *live) l7policy(ctx context.Context, f contract.Fixture) (object, error) {
	o, err := l.api.create(ctx, f.As, l7policies, f.Args)
	if err != nil {
		return nil, err
	}

	return o, poll(ctx, "L7 policy", func() (bool, error) {
		body, err := l.api.get(ctx, f.As, l7policies.service, l7policies.path+"/"+id(o))
		if err != nil {
			return false, err
		}
		policy, _ := body["l7policy"].(object)

		return str(policy, "provisioning_status") == "ACTIVE", nil
	})
}

// server creates a server on the private network.
func (l *live) server(ctx context.Context, f contract.Fixture) (object, error) {
	flavor := str(f.Args, "flavor_id")
	if flavor == "" {
		flavor = l.cloud.Vars["flavor"]
	}
	network := l.cloud.Vars["private"]
	if f.As != "ccm" {
		own, err := l.api.ensure(ctx, f.As, networks, "name=contract-other", object{"name": "contract-other"})
		if err != nil {
			return nil, err
		}
		network = id(own)
		if _, err := l.api.ensure(ctx, f.As, subnets, "name=contract-other", object{
			"name": "contract-other", "network_id": network, "ip_version": 4, "cidr": "10.70.0.0/24",
		}); err != nil {
			return nil, err
		}
	}
	body := object{
		"name": f.Args["name"], "imageRef": l.cloud.Vars["image"], "flavorRef": flavor,
		"networks": []any{object{"uuid": network}},
	}
	if m := f.Args["metadata"]; m != nil {
		body["metadata"] = m
	}
	o, err := l.api.create(ctx, f.As, servers, body)
	if err != nil {
		return nil, err
	}
	if err := l.waitServer(ctx, id(o), "ACTIVE"); err != nil {
		return nil, err
	}
	if status := str(f.Args, "status"); status != "" {
		if err := l.setServer(ctx, id(o), status); err != nil {
			return nil, err
		}
	}
	out, err := l.api.get(ctx, "admin", "compute", servers.path+"/"+id(o))
	server, _ := out["server"].(object)

	return server, err
}

// waitServer waits for a status.
func (l *live) waitServer(ctx context.Context, server, status string) error {
	return poll(ctx, "server "+status, func() (bool, error) {
		out, err := l.api.get(ctx, "admin", "compute", servers.path+"/"+server)
		if err != nil {
			return false, err
		}
		o, _ := out["server"].(object)

		return str(o, "status") == status, nil
	})
}

// setServer starts or stops a server.
func (l *live) setServer(ctx context.Context, server, status string) error {
	action := map[string]string{"ACTIVE": "os-start", "SHUTOFF": "os-stop"}[status]
	path := servers.path + "/" + server + "/action"
	if _, err := l.api.call(ctx, "admin", http.MethodPost, "compute", path, object{action: nil}, http.StatusConflict); err != nil {
		return err
	}

	return l.waitServer(ctx, server, status)
}

// deleteServer deletes a server and waits until it is gone.
func (l *live) deleteServer(ctx context.Context, as, server string) error {
	path := servers.path + "/" + server
	if _, err := l.api.call(ctx, as, http.MethodDelete, "compute", path, nil, http.StatusNotFound); err != nil {
		return err
	}

	return poll(ctx, "server gone", func() (bool, error) {
		out, err := l.api.call(ctx, as, http.MethodGet, "compute", path, nil, http.StatusNotFound)

		return len(out) == 0, err
	})
}

// flavor creates a flavor of Nova.
func (l *live) flavor(ctx context.Context, f contract.Fixture) (object, error) {
	body := object{"name": f.Args["name"], "ram": 512, "vcpus": 1, "disk": 1, "os-flavor-access:is_public": f.Args["is_public"] != "false"}
	o, err := l.admin(ctx, flavors, body)
	if err != nil || f.Args["extra_specs"] == nil {
		return o, err
	}
	path := flavors.path + "/" + id(o) + "/os-extra_specs"
	_, err = l.api.call(ctx, "admin", http.MethodPost, "compute", path, object{"extra_specs": f.Args["extra_specs"]})

	return o, err
}

// admin creates a flavor as the operator and notes it for its deletion.
func (l *live) admin(ctx context.Context, r resource, body object) (object, error) {
	o, err := l.api.create(ctx, "admin", r, body)
	if err == nil {
		r.path += "/" + id(o)
		l.flavors = append(l.flavors, r)
	}

	return o, err
}

// lbFlavor creates a flavor of Octavia.
func (l *live) lbFlavor(ctx context.Context, f contract.Fixture) (object, error) {
	profile, err := l.admin(ctx, lbProfiles, object{
		"name": f.Args["name"], "provider_name": "amphora", "flavor_data": `{"loadbalancer_topology": "SINGLE"}`,
	})
	if err != nil {
		return nil, err
	}

	return l.admin(ctx, lbFlavors, object{"name": f.Args["name"], "flavor_profile_id": id(profile), "enabled": true})
}

// revoke revokes a token and empties the cache of validated tokens.
func (l *live) revoke(ctx context.Context, token string) error {
	admin, err := l.api.token(ctx, "admin")
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, l.api.endpoints["identity"]+"/v3/auth/tokens", nil)
	if err != nil {
		return err
	}
	req.Header.Set("X-Auth-Token", admin)
	req.Header.Set("X-Subject-Token", token)
	resp, err := l.api.client.Do(req)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("revoke token: %w: %d", errStatus, resp.StatusCode)
	}

	return flush(ctx)
}

// flush empties memcached at its usual port, where services keep validations.
func flush(ctx context.Context) error {
	d := net.Dialer{Timeout: 5 * time.Second}
	c, err := d.DialContext(ctx, "tcp", "127.0.0.1:11211")
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // nothing depends on it after the reply
	if _, err := c.Write([]byte("flush_all\r\n")); err != nil {
		return err
	}
	reply := make([]byte, 16)
	_, err = c.Read(reply)

	return err
}
