package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// lbPointer is a pointer to a type of object of Octavia.
type lbPointer[T any] interface {
	*T
	object() *LBObject
}

// lbQuery describes a list of Octavia.
type lbQuery[T any] struct {
	path, key string
	// filters have one value per key: Octavia fails with more.
	filters url.Values
	// fields are requested, by default all of the type. The ID and the project are among
	// them always.
	fields []string
	limit  int
	// wanted reports whether a row fits the filters.
	wanted func(*T) bool
}

// eachLBObject calls a function with each object of the project in a list.
func eachLBObject[T any, P lbPointer[T]](ctx context.Context, s *LoadBalancerService, q lbQuery[T], fn func(*T)) error {
	project, err := s.session.projectID(ctx)
	if err != nil {
		return err
	}
	client, err := s.opened(ctx)
	if err != nil {
		return err
	}
	query := url.Values{"project_id": {project}, "fields": q.fields}
	if q.fields == nil {
		query["fields"] = fieldsOf(reflect.TypeFor[T]())
	}
	maps.Copy(query, q.filters)

	return listing[T]{
		service: s.service, client: client, path: q.path, key: q.key, query: query, limit: q.limit,
		marker: func(row *T) string { return P(row).object().ID },
		wanted: func(row *T) bool {
			o := P(row).object()

			return o.ID != "" && o.ProjectID == project && (q.wanted == nil || q.wanted(row))
		},
	}.each(ctx, fn)
}

// listLBObjects returns the objects of a list. If a page fails it returns those before,
// along with the error.
func listLBObjects[T any, P lbPointer[T]](ctx context.Context, s *LoadBalancerService, q lbQuery[T]) ([]*T, error) {
	var all []*T
	err := eachLBObject[T, P](ctx, s, q, func(row *T) { all = append(all, row) })

	return all, err
}

// fieldsOf returns the names in JSON of the fields of a type, so that responses have no
// others. Those that a version of the API does not have are ignored by it.
func fieldsOf(t reflect.Type) []string {
	var names []string
	for _, field := range reflect.VisibleFields(t) {
		if tag, ok := field.Tag.Lookup("json"); ok {
			name, _, _ := strings.Cut(tag, ",")
			names = append(names, name)
		}
	}

	return names
}

// getLBObject returns one object, which must be of the project.
func getLBObject[T any, P lbPointer[T]](ctx context.Context, s *LoadBalancerService, key string, path ...string) (*T, error) {
	id := path[len(path)-1]
	project, err := s.session.projectID(ctx)
	if err != nil {
		return nil, err
	}
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	response := map[string]*T{}
	if err := readJSON(ctx, client, client.ServiceURL(path...), &response, nil); err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	row := response[key]
	switch {
	case row == nil || !strings.EqualFold(P(row).object().ID, id):
		return nil, badResponse(s.name, http.MethodGet, fmt.Errorf("response has another %s than %s", key, id))
	case P(row).object().ProjectID != project:
		return nil, fmt.Errorf("get %s %s: %w", key, id, ErrOtherProject)
	}

	return row, nil
}

// createLBObject makes an object and returns it as the service has stored it.
func createLBObject[T any, P lbPointer[T]](ctx context.Context, s *LoadBalancerService, key string, request any, path ...string) (*T, error) {
	w := write{method: http.MethodPost, request: request, path: path}
	made, err := writeLBObject[T, P](ctx, s, w, key, "")
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", key, err)
	}

	return made, nil
}

// updateLBObject changes an object, whose ID is at the end of the path.
func updateLBObject[T any, P lbPointer[T]](ctx context.Context, s *LoadBalancerService, key string, request any, path ...string) (*T, error) {
	id := path[len(path)-1]
	if err := checkID(key, id); err != nil {
		return nil, fmt.Errorf("update %s: %w", key, err)
	}
	w := write{method: http.MethodPut, request: request, path: path}
	changed, err := writeLBObject[T, P](ctx, s, w, key, id)
	if err != nil {
		return nil, fmt.Errorf("update %s: %w", key, err)
	}

	return changed, nil
}

func writeLBObject[T any, P lbPointer[T]](ctx context.Context, s *LoadBalancerService, w write, key, id string) (*T, error) {
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}

	return sendObject(ctx, s.service, client, w, key, id, func(row *T) string { return P(row).object().ID })
}

// deleteLBObject deletes an object, whose ID is at the end of the path.
func (s *LoadBalancerService) deleteLBObject(ctx context.Context, key, query string, path ...string) error {
	if err := checkID(key, path[len(path)-1]); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	client, err := s.opened(ctx)
	if err != nil {
		return err
	}
	if err := s.remove(ctx, client, query, path...); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}

	return nil
}

// checkFilter returns an error for a text that Octavia would take for a list of tags.
func checkFilter(tags ...string) error {
	for _, tag := range tags {
		if tag == "" || strings.Contains(tag, ",") {
			return apierr.Mark(apierr.ErrInvalid, errors.New("lists cannot be filtered by a tag that is empty or has a comma"))
		}
	}

	return nil
}
