package client

import (
	"context"
	"encoding/json"
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
	// request is the body in JSON.
	request any
	// receive decodes the body of the response, which is ignored without it.
	receive func(*json.Decoder) error
}

// send sends a write.
func (s *service) send(ctx context.Context, client *gophercloud.ServiceClient, w write) error {
	options := &gophercloud.RequestOpts{
		OkCodes:     []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent},
		MoreHeaders: w.headers, JSONBody: w.request, KeepResponseBody: w.receive != nil,
	}
	target := client.ServiceURL(w.path...)
	if w.query != "" {
		target += "?" + w.query
	}
	res, err := client.Request(ctx, w.method, target, options)
	if err == nil && w.receive != nil {
		err = receive(res, w.receive)
	}

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
	object := new(T)
	w.request = map[string]any{key: w.request}
	w.receive = func(d *json.Decoder) error { return readObject(d, fields{key: object}) }
	if err := s.send(ctx, client, w); err != nil {
		return nil, err
	}
	if idOf(object) == "" {
		return nil, badResponse(s.name, w.method, fmt.Errorf("response has no %s", key))
	}
	if id != "" && !strings.EqualFold(idOf(object), id) {
		return nil, badResponse(s.name, w.method, fmt.Errorf("response has another %s than %s", key, id))
	}

	return object, nil
}
