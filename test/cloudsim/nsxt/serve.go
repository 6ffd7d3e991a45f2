package nsxt

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// maxBody bounds a request.
const maxBody = 16 << 20

const (
	policyPath  = "/policy/api/v1"
	sessionPath = "/api/session/"
)

// The groups of operations that are not about one kind of object.
const (
	groupLogin    = "login"
	groupSearch   = "search"
	groupRealized = "realized-state"
)

// operation is what a request asks for.
type operation struct {
	name, group string
	open        bool // no login is needed
	handle      func(*call) (any, error)
}

// call is an API call as a handler gets it.
type call struct {
	cloud   *Cloud
	op      operation
	request *http.Request
	query   url.Values
	body    []byte
	header  http.Header // of the response
	user    string      // who the request says that it is from, for limits
	node    int         // the manager that gets it
	caller  caller

	kind *kind
	path string // of the object or collection
}

// ServeHTTP implements [http.Handler].
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)

		return
	}
	k := &call{cloud: c, request: r, query: r.URL.Query(), body: body, header: http.Header{}}
	c.resolve(k)
	refusal := c.enter(k)
	defer c.leave(k)
	c.requests.Add(k.logged())
	c.interceptor.Serve(w, r, simserver.Call{Op: k.op.name, Group: k.op.group}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refusal != nil {
			refusal.write(w)

			return
		}
		k.respond(w)
	}))
}

func (k *call) respond(w http.ResponseWriter) {
	encoded, err := k.cloud.run(k)
	if err != nil {
		asAPIError(err).write(w)

		return
	}
	maps.Copy(w.Header(), k.header)
	if encoded != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(encoded) // a client that is gone misses it
}

// run authorizes and executes a call. It returns the encoded body, nil for none.
func (c *Cloud) run(k *call) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applyDue()
	if c.now().Before(c.restarting) {
		return nil, newError(http.StatusServiceUnavailable, 101)
	}
	if k.op.handle == nil {
		return nil, notFound(k.request.URL.Path)
	}
	if err := c.authorize(k); err != nil {
		return nil, err
	}
	body, err := k.op.handle(k)
	if body == nil || err != nil {
		return nil, err
	}

	return json.Marshal(body)
}

// authorize finds out who calls, and whether the call is allowed.
func (c *Cloud) authorize(k *call) error {
	if k.op.open {
		return nil
	}
	var err error
	if k.caller, err = c.authenticate(k); err != nil {
		return err
	}
	if slices.Contains(c.denied, k.op.name) || slices.Contains(c.denied, k.op.group) {
		return &apiError{status: http.StatusForbidden, code: 401, module: moduleCommon, message: "The user has no right to do this."}
	}

	return nil
}

// resolve finds the operation of a request.
func (c *Cloud) resolve(k *call) {
	method, path := k.request.Method, k.request.URL.Path
	if c.spec.Token.Refresh != "" && path == c.spec.Token.Path && method == http.MethodPost {
		k.op = operation{"CreateToken", groupLogin, true, c.createToken}

		return
	}
	k.op.name = method + " " + path
	path, ok := strings.CutPrefix(path, c.spec.Prefix)
	if !ok {
		return
	}
	if policy, ok := strings.CutPrefix(path, policyPath); ok {
		c.resolvePolicy(k, policy)

		return
	}
	switch {
	case path == sessionPath+"create" && method == http.MethodPost:
		k.op = operation{"CreateSession", groupLogin, true, c.createSession}
	case path == sessionPath+"destroy" && method == http.MethodGet: // [API] DestroySession
		k.op = operation{"DestroySession", groupLogin, false, c.destroySession}
	}
}

// resolvePolicy finds the operation of a request to the policy API.
func (c *Cloud) resolvePolicy(k *call, path string) {
	method := k.request.Method
	if method == http.MethodGet {
		switch path {
		case "/search", "/search/query":
			k.op = operation{"Search", groupSearch, false, c.search}

			return
		case "/infra/realized-state/realized-entities":
			k.op = operation{"GetRealizedEntities", groupRealized, false, c.realizedEntities}

			return
		}
	}
	kind, whole := c.kindOf(path)
	if kind == nil {
		return
	}
	k.kind, k.path = kind, path
	verbs := map[string]operation{
		http.MethodGet:    {name: "Get", handle: c.get},
		http.MethodPut:    {name: "Put", handle: c.put},
		http.MethodPatch:  {name: "Patch", handle: c.patch},
		http.MethodDelete: {name: "Delete", handle: c.delete},
	}
	if whole {
		verbs = map[string]operation{http.MethodGet: {name: "List", handle: c.list}}
	}
	op, ok := verbs[method]
	if !ok || kind.readOnly && method != http.MethodGet {
		return
	}
	op.name += kind.name
	if whole {
		op.name += "s"
	}
	op.group = kind.collection()
	k.op = op
}
