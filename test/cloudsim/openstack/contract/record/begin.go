package main

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack/contract"
)

// Begin implements [contract.Target]: what an earlier scenario left is deleted.
func (l *live) Begin(ctx context.Context, _ string) (*contract.Cloud, error) {
	l.api.tokens = map[string]string{}
	steps := []func(context.Context) error{
		l.release, l.resetLimits, l.resetQuotas, l.clearLoadBalancers, l.clearFlavors, l.clearServers,
		l.clearFloatingIPs, l.clearRouters, l.clearPorts, l.clearNetworks, l.clearGroups,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}

	return l.cloud, nil
}

// both calls f for the two projects.
func both(f func(as string) error) error {
	if err := f("ccm"); err != nil {
		return err
	}

	return f("other")
}

// resetQuotas sets the quotas of the project to the defaults.
func (l *live) resetQuotas(ctx context.Context) error {
	project := l.cloud.Vars["project"]
	for service, path := range map[string]string{"network": "/v2.0/quotas/", "load-balancer": "/v2.0/lbaas/quotas/"} {
		if _, err := l.api.call(ctx, "admin", http.MethodDelete, service, path+project, nil, http.StatusNotFound); err != nil {
			return err
		}
	}

	return nil
}

// stuck is how many polls a load balancer may be pending before it is deleted.
const stuck = 50

// clearLoadBalancers deletes all load balancers.
func (l *live) clearLoadBalancers(ctx context.Context) error {
	return both(func(as string) error {
		polls := 0

		return poll(ctx, "no load balancer", func() (bool, error) {
			polls++
			found, err := l.api.list(ctx, as, loadBalancers.service, loadBalancers.path, loadBalancers.many)
			if err != nil || len(found) == 0 {
				return err == nil, err
			}
			for _, o := range found {
				path := loadBalancers.path + "/" + id(o) + "?cascade=true"
				if strings.HasPrefix(str(o, "provisioning_status"), "PENDING_") {
					if polls%stuck != 0 {
						continue
					}
					// A request of the scenario ended the worker's task for good.
					if err := l.status(ctx, object{"kind": "loadbalancer", "id": id(o), "provisioning_status": "ERROR"}); err != nil {
						return false, err
					}
				}
				if _, err := l.api.call(ctx, as, http.MethodDelete, loadBalancers.service, path, nil,
					http.StatusConflict, http.StatusNotFound); err != nil {
					return false, err
				}
			}

			return false, nil
		})
	})
}

// clearFlavors deletes the flavors of fixtures, the last first.
func (l *live) clearFlavors(ctx context.Context) error {
	for _, f := range slices.Backward(l.flavors) {
		if _, err := l.api.call(ctx, "admin", http.MethodDelete, f.service, f.path, nil, http.StatusNotFound); err != nil {
			return err
		}
	}
	l.flavors = nil

	return nil
}

// clearServers deletes the servers but the nodes, and starts those.
func (l *live) clearServers(ctx context.Context) error {
	return both(func(as string) error {
		found, err := l.api.list(ctx, as, servers.service, servers.path+"/detail", servers.many)
		if err != nil {
			return err
		}
		for _, o := range found {
			if l.standard(id(o)) {
				err = l.setServer(ctx, id(o), "ACTIVE")
			} else {
				err = l.deleteServer(ctx, as, id(o))
			}
			if err != nil {
				return err
			}
		}

		return nil
	})
}

// standard reports whether an object is part of the layout.
func (l *live) standard(id string) bool {
	for _, v := range l.cloud.Vars {
		if v == id {
			return true
		}
	}

	return false
}

// clear deletes the objects of a list that are not part of the layout.
func (l *live) clear(ctx context.Context, as string, r resource, skip func(object) bool) error {
	found, err := l.api.list(ctx, as, r.service, r.path, r.many)
	if err != nil {
		return err
	}
	for _, o := range found {
		if l.standard(id(o)) || str(o, "project_id") != l.api.users[as].ProjectID || skip(o) {
			continue
		}
		if _, err := l.api.call(ctx, as, http.MethodDelete, r.service, r.path+"/"+id(o), nil, http.StatusNotFound); err != nil {
			return err
		}
	}

	return nil
}

func (l *live) clearFloatingIPs(ctx context.Context) error {
	return both(func(as string) error {
		return l.clear(ctx, as, floatingIPs, func(object) bool { return false })
	})
}

// clearRouters takes the routes away and deletes the routers of fixtures.
func (l *live) clearRouters(ctx context.Context) error {
	return both(func(as string) error {
		found, err := l.api.list(ctx, as, routers.service, routers.path, routers.many)
		if err != nil {
			return err
		}
		for _, o := range found {
			if routes, _ := o["routes"].([]any); len(routes) > 0 {
				body := object{"router": object{"routes": []any{}}}
				if _, err := l.api.call(ctx, as, http.MethodPut, "network", routers.path+"/"+id(o), body); err != nil {
					return err
				}
			}
			if l.standard(id(o)) {
				continue
			}
			if err := l.removeInterfaces(ctx, as, id(o)); err != nil {
				return err
			}
		}

		return l.clear(ctx, as, routers, func(object) bool { return false })
	})
}

// removeInterfaces takes the interfaces of a router away.
func (l *live) removeInterfaces(ctx context.Context, as, router string) error {
	found, err := l.api.list(ctx, as, ports.service, ports.path+"?device_id="+router, ports.many)
	if err != nil {
		return err
	}
	for _, p := range found {
		if str(p, "device_owner") != "network:router_interface" {
			continue
		}
		path := routers.path + "/" + router + "/remove_router_interface"
		if _, err := l.api.call(ctx, as, http.MethodPut, "network", path, object{"port_id": id(p)}); err != nil {
			return err
		}
	}

	return nil
}

// clearPorts deletes the ports of fixtures and restores those of the nodes.
func (l *live) clearPorts(ctx context.Context) error {
	for _, node := range []string{"node_1", "node_2", "node_3"} {
		path := ports.path + "/" + l.cloud.Vars[node+"_port"]
		// Groups and address pairs are refused without port security.
		for _, body := range []object{
			{"port_security_enabled": true},
			{
				"security_groups": []any{l.cloud.Vars["default_group"]}, "allowed_address_pairs": []any{}, "description": "",
				"name": strings.ReplaceAll(node, "_", "-"),
			},
		} {
			if _, err := l.api.call(ctx, "ccm", http.MethodPut, "network", path, object{"port": body}); err != nil {
				return err
			}
		}
		if _, err := l.api.call(ctx, "ccm", http.MethodDelete, "network", path+"/tags", nil); err != nil {
			return err
		}
	}

	return both(func(as string) error {
		return l.clear(ctx, as, ports, func(o object) bool {
			return slices.ContainsFunc([]string{"network:router", "network:floatingip", "compute:", "network:dhcp"}, func(p string) bool {
				return strings.HasPrefix(str(o, "device_owner"), p)
			})
		})
	})
}

func (l *live) clearNetworks(ctx context.Context) error {
	return both(func(as string) error {
		return l.clear(ctx, as, networks, func(object) bool { return false })
	})
}

func (l *live) clearGroups(ctx context.Context) error {
	return both(func(as string) error {
		return l.clear(ctx, as, groups, func(o object) bool { return str(o, "name") == "default" })
	})
}
