package aws

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// Groups of operations in the interceptor's log.
const (
	groupEC2   = "ec2"
	groupSTS   = "sts"
	groupELB   = "elb"
	groupELBv2 = "elbv2"
	groupIMDS  = "imds"
)

// maxBody bounds a request; thousands of parameters stay far below.
const maxBody = 16 << 20

// operation does the work of one action, with mu held. What it returns is
// rendered as XML; an *apiError becomes the error response of the API.
type operation func(p params) (any, error)

// api is one of the services behind the endpoint.
type api struct {
	group      string // name in the interceptor's log
	prefix     string // of its operations in the interceptor's log
	version    string // identifies the API of a request
	namespace  string
	scope      string // service name in signatures
	query      bool   // AWS Query protocol, otherwise EC2 Query
	throttled  *apiError
	operations map[string]operation
}

func (c *Cloud) allAPIs() []*api {
	throttled := &apiError{http.StatusBadRequest, "Throttling", "Rate exceeded"}
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/elb-api-throttling.html
	exception := &apiError{http.StatusBadRequest, "ThrottlingException", "Rate exceeded"}

	return []*api{
		{
			group: groupEC2, version: "2016-11-15", scope: "ec2", namespace: "http://ec2.amazonaws.com/doc/2016-11-15/",
			throttled:  &apiError{http.StatusServiceUnavailable, "RequestLimitExceeded", "Request limit exceeded."},
			operations: c.ec2Operations(),
		},
		{
			group: groupSTS, version: "2011-06-15", scope: "sts", namespace: "https://sts.amazonaws.com/doc/2011-06-15/",
			query: true, throttled: throttled, operations: c.stsOperations(),
		},
		{
			group: groupELB, prefix: "elb.", version: "2012-06-01", scope: "elasticloadbalancing",
			namespace: "http://elasticloadbalancing.amazonaws.com/doc/2012-06-01/",
			query:     true, throttled: throttled, operations: c.elbOperations(),
		},
		{
			group: groupELBv2, prefix: "elbv2.", version: "2015-12-01", scope: "elasticloadbalancing",
			namespace: "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/",
			query:     true, throttled: exception, operations: c.elbv2Operations(),
		},
	}
}

// apiKey is the context key of the api that a request is for.
type apiKey struct{}

// ServeHTTP serves the calls of clients: it names and counts them, applies the
// rules of the interceptor, and responds.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, metadataRoot) {
		c.serveMetadata(w, r)

		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)

		return
	}
	form, err := parseForm(r, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)

		return
	}
	service := c.find(form.Get("Version"))
	if service == nil {
		c.interceptor.Serve(w, r, simserver.Call{Op: r.Method + " " + r.URL.Path}, http.NotFoundHandler())

		return
	}
	request := newRequest(r, service, form)
	c.requests.Add(request)
	r = r.WithContext(context.WithValue(r.Context(), apiKey{}, service))
	r.Form = form // for effects
	call := simserver.Call{Op: request.Op, Group: service.group}
	c.interceptor.Serve(w, r, call, c.timed(request, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner, err := c.run(r, body, service, request)
		if err != nil {
			service.renderError(w, err)

			return
		}
		service.render(w, form.Get("Action"), inner)
	})))
}

func parseForm(r *http.Request, body []byte) (url.Values, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	for key, values := range r.URL.Query() {
		form[key] = append(form[key], values...)
	}

	return form, nil
}

func (c *Cloud) find(version string) *api {
	for _, service := range c.apis {
		if service.version == version {
			return service
		}
	}

	return nil
}

// run authorizes, throttles and executes a call. It returns the encoded
// result, which nothing that happens later can change.
func (c *Cloud) run(r *http.Request, body []byte, service *api, request Request) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.operation++
	c.applyDue()
	action := request.Form.Get("Action")
	do := service.operations[action]
	if do == nil {
		return nil, &apiError{http.StatusBadRequest, "InvalidAction", "The action " + action + " is not valid for this web service."}
	}
	if action != unsignedAction {
		if err := c.authenticate(r, body, service); err != nil {
			return nil, err
		}
	}
	if c.throttled(service, request) {
		return nil, service.throttled
	}
	if err := c.authorize(service, action); err != nil {
		return nil, err
	}
	p := newParams(service, request.Form)
	p.header = r.Header
	if dry, err := p.bool("DryRun"); err != nil || (dry != nil && *dry) {
		return nil, errors.Join(err, fail("DryRunOperation", "Request would have succeeded, but DryRun flag is set."))
	}
	result, err := do(p)
	if err != nil {
		return nil, err
	}

	return fields(result)
}
