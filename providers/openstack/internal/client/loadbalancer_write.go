package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// write is a request that changes something. It is sent once, unless it was certainly not
// carried out: see [MayBeApplied].
type write struct {
	method  string
	path    []string // below the base of the client
	query   string
	headers map[string]string
	// request and response are bodies in JSON. Without a response, the body is ignored.
	request, response any
}

// send sends a write.
func (s *service) send(ctx context.Context, client *gophercloud.ServiceClient, w write) error {
	options := &gophercloud.RequestOpts{
		OkCodes:     []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent},
		MoreHeaders: w.headers, JSONBody: w.request, JSONResponse: w.response,
	}
	target := client.ServiceURL(w.path...)
	if w.query != "" {
		target += "?" + w.query
	}
	_, err := client.Request(ctx, w.method, target, options) //nolint:bodyclose // closed by the SDK

	return finish(s.name, w.method, err)
}

// remove deletes an object. One that the service says does not exist is no error.
func (s *service) remove(ctx context.Context, client *gophercloud.ServiceClient, query string, path ...string) error {
	err := s.send(ctx, client, write{method: http.MethodDelete, path: path, query: query})
	if errors.Is(err, apierr.ErrNotFound) {
		return nil
	}

	return err
}

// sendObject sends a write of one object, which is below a key in request and response. The
// ID is that of an object that is changed; it is empty for a new one.
func sendObject[T any](ctx context.Context, s *service, client *gophercloud.ServiceClient, w write, key, id string, idOf func(*T) string) (*T, error) {
	response := map[string]*T{}
	w.request, w.response = map[string]any{key: w.request}, &response
	if err := s.send(ctx, client, w); err != nil {
		return nil, err
	}
	object := response[key]
	if object == nil || idOf(object) == "" {
		return nil, badResponse(s.name, w.method, fmt.Errorf("response has no %s", key))
	}
	if id != "" && !strings.EqualFold(idOf(object), id) {
		return nil, badResponse(s.name, w.method, fmt.Errorf("response has another %s than %s", key, id))
	}

	return object, nil
}
