package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack/contract"
)

// errStatus is a response with a status other than the expected ones.
var errStatus = errors.New("unexpected status")

// object is a decoded JSON object.
type object = map[string]any

// api sends the requests that bring the services into a state.
type api struct {
	endpoints map[string]string
	users     map[string]contract.User
	tokens    map[string]string
	client    *http.Client
}

func newAPI(endpoints map[string]string) *api {
	return &api{
		endpoints: endpoints, users: map[string]contract.User{}, tokens: map[string]string{},
		client: &http.Client{Timeout: time.Minute},
	}
}

// call sends a request as a user and decodes the response. A status of 400 and
// above is an error, but for those in accept.
func (a *api) call(ctx context.Context, as, method, service, path string, body any, accept ...int) (object, error) {
	token, err := a.token(ctx, as)
	if err != nil {
		return nil, err
	}
	out, _, err := a.send(ctx, token, method, a.endpoints[service]+path, body, accept...)

	return out, err
}

// get reads a list or an object as a user.
func (a *api) get(ctx context.Context, as, service, path string) (object, error) {
	return a.call(ctx, as, http.MethodGet, service, path, nil)
}

// send sends one request.
func (a *api) send(ctx context.Context, token, method, url string, body any, accept ...int) (object, http.Header, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("X-Auth-Token", token)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // the body is read to its end
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		if slices.Contains(accept, resp.StatusCode) {
			return object{}, resp.Header, nil
		}

		return nil, nil, fmt.Errorf("%s %s: %w: %d %s", method, url, errStatus, resp.StatusCode, text)
	}
	out := object{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out); err != nil {
			return nil, nil, fmt.Errorf("%s %s: %w", method, url, err)
		}
	}

	return out, resp.Header, nil
}

// token returns the token of a user.
func (a *api) token(ctx context.Context, as string) (string, error) {
	if t := a.tokens[as]; t != "" {
		return t, nil
	}
	u, ok := a.users[as]
	if !ok {
		return "", fmt.Errorf("no user %q", as)
	}
	_, header, err := a.send(ctx, "", http.MethodPost, a.endpoints["identity"]+"/v3/auth/tokens", contract.PasswordLogin(u))
	if err != nil {
		return "", err
	}
	a.tokens[as] = header.Get("X-Subject-Token")

	return a.tokens[as], nil
}

// list returns the objects of a list.
func (a *api) list(ctx context.Context, as, service, path, key string) ([]object, error) {
	body, err := a.get(ctx, as, service, path)
	if err != nil {
		return nil, err
	}
	rows, _ := body[key].([]any)
	out := make([]object, 0, len(rows))
	for _, row := range rows {
		if o, ok := row.(object); ok {
			out = append(out, o)
		}
	}

	return out, nil
}

// ensure returns the first object of a list, or creates it.
func (a *api) ensure(ctx context.Context, as string, r resource, query string, body object) (object, error) {
	found, err := a.list(ctx, as, r.service, r.path+"?"+query, r.many)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		return found[0], nil
	}

	return a.create(ctx, as, r, body)
}

// create creates an object and returns it without its envelope.
func (a *api) create(ctx context.Context, as string, r resource, body object) (object, error) {
	out, err := a.call(ctx, as, http.MethodPost, r.service, r.path, object{r.one: body})
	if err != nil {
		return nil, err
	}
	o, ok := out[r.one].(object)
	if !ok {
		return nil, fmt.Errorf("create %s: no %s in the response", r.path, r.one)
	}

	return o, nil
}

// resource is a collection of an API.
type resource struct {
	service, path, one, many string
}

// The collections that the layout and the fixtures use.
var (
	projects      = resource{"identity", "/v3/projects", "project", "projects"}
	users         = resource{"identity", "/v3/users", "user", "users"}
	networks      = resource{"network", "/v2.0/networks", "network", "networks"}
	subnets       = resource{"network", "/v2.0/subnets", "subnet", "subnets"}
	routers       = resource{"network", "/v2.0/routers", "router", "routers"}
	ports         = resource{"network", "/v2.0/ports", "port", "ports"}
	floatingIPs   = resource{"network", "/v2.0/floatingips", "floatingip", "floatingips"}
	groups        = resource{"network", "/v2.0/security-groups", "security_group", "security_groups"}
	servers       = resource{"compute", "/v2.1/servers", "server", "servers"}
	flavors       = resource{"compute", "/v2.1/flavors", "flavor", "flavors"}
	loadBalancers = resource{"load-balancer", "/v2.0/lbaas/loadbalancers", "loadbalancer", "loadbalancers"}
	l7policies    = resource{"load-balancer", "/v2.0/lbaas/l7policies", "l7policy", "l7policies"}
	lbFlavors     = resource{"load-balancer", "/v2.0/lbaas/flavors", "flavor", "flavors"}
	lbProfiles    = resource{"load-balancer", "/v2.0/lbaas/flavorprofiles", "flavorprofile", "flavorprofiles"}
)

// id is the ID of an object.
func id(o object) string {
	s, _ := o["id"].(string)

	return s
}

// str is a text field of an object.
func str(o object, key string) string {
	s, _ := o[key].(string)

	return s
}

// poll calls f until it reports done.
func poll(ctx context.Context, what string, f func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for {
		done, err := f()
		if err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-time.After(400 * time.Millisecond):
		}
	}
}
