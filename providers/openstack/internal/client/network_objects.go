package client

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// collection is a collection of objects of Neutron, whose calls have the same form.
type collection[T any] struct {
	// key is the name of an object in requests and responses.
	key string
	// of returns the ID and the project of an object.
	of func(*T) (id, project string)
}

// The collections in use.
var (
	ports              = collection[Port]{"port", func(p *Port) (string, string) { return p.ID, p.ProjectID }}
	networks           = collection[NetworkInfo]{"network", func(n *NetworkInfo) (string, string) { return n.ID, n.ProjectID }}
	subnets            = collection[Subnet]{"subnet", func(n *Subnet) (string, string) { return n.ID, n.ProjectID }}
	routers            = collection[Router]{"router", func(r *Router) (string, string) { return r.ID, r.ProjectID }}
	floatingIPs        = collection[FloatingIP]{"floatingip", func(f *FloatingIP) (string, string) { return f.ID, f.ProjectID }}
	securityGroups     = collection[SecurityGroup]{"security_group", func(g *SecurityGroup) (string, string) { return g.ID, g.ProjectID }}
	securityGroupRules = collection[SecurityGroupRule]{"security_group_rule", func(r *SecurityGroupRule) (string, string) { return r.ID, r.ProjectID }}
)

// path is that of the collection below the base of the client.
func (c collection[T]) path() string { return strings.ReplaceAll(c.key, "_", "-") + "s" }

func (c collection[T]) id(object *T) string {
	id, _ := c.of(object)

	return id
}

// networkQuery selects objects of a collection.
type networkQuery[T any] struct {
	filters url.Values
	// fields are requested, by default all of the type.
	fields []string
	// anyProject selects all objects that the project can see, not only its own.
	anyProject bool
	// wanted reports whether an object fits the filters. It is nil for all.
	wanted func(*T) bool
}

// list returns the objects that a query selects.
func (c collection[T]) list(ctx context.Context, s *NetworkService, q networkQuery[T]) ([]*T, error) {
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	query, project := url.Values{"fields": q.fields}, ""
	if q.fields == nil {
		query["fields"] = fieldsOf(reflect.TypeFor[T]())
	}
	if !q.anyProject {
		if project, err = s.session.projectID(ctx); err != nil {
			return nil, err
		}
		query.Set("project_id", project)
	}
	maps.Copy(query, q.filters)

	return listing[T]{
		service: s.service, client: client, path: c.path(), key: c.key + "s", query: query, limit: pageSize, marker: c.id,
		wanted: func(row *T) bool {
			id, owner := c.of(row)

			return id != "" && (q.anyProject || owner == project) && (q.wanted == nil || q.wanted(row))
		},
	}.all(ctx)
}

// by returns those that have one of several values, in one call for each 50. An empty value is
// an error: the service would take it for no filter.
func (c collection[T]) by(
	ctx context.Context, s *NetworkService, q networkQuery[T], filter string, values []string, has func(row *T, value string) bool,
) ([]*T, error) {
	if slices.Contains(values, "") {
		return nil, apierr.Mark(apierr.ErrInvalid, fmt.Errorf("list %ss: %s is empty", c.key, filter))
	}
	var all []*T
	filters := url.Values{}
	maps.Copy(filters, q.filters)
	q.filters = filters
	for chunk := range slices.Chunk(values, maxIDs) {
		filters[filter] = chunk
		q.wanted = func(row *T) bool {
			return slices.ContainsFunc(chunk, func(value string) bool { return has(row, value) })
		}
		found, err := c.list(ctx, s, q)
		all = append(all, found...)
		if err != nil {
			return all, err
		}
	}

	return all, nil
}

// get returns an object, which may belong to another project.
func (c collection[T]) get(ctx context.Context, s *NetworkService, id string) (*T, error) {
	if err := checkID(c.key, id); err != nil {
		return nil, err
	}
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	object := new(T)
	err = readStream(ctx, client, client.ServiceURL(c.path(), id), func(d *json.Decoder) error { return readObject(d, fields{c.key: object}) })
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", c.key, err)
	}
	if !strings.EqualFold(c.id(object), id) {
		return nil, badResponse(s.name, http.MethodGet, fmt.Errorf("response has another %s than %s", c.key, id))
	}

	return object, nil
}

// create makes an object.
func (c collection[T]) create(ctx context.Context, s *NetworkService, request any) (*T, error) {
	return c.write(ctx, s, "create", write{method: http.MethodPost, path: []string{c.path()}, request: request}, "")
}

// update changes an object, or a part of it by an action. With a revision, the call fails with
// an ErrConflict if the object was changed since.
func (c collection[T]) update(ctx context.Context, s *NetworkService, id string, request any, revision *int, action ...string) (*T, error) {
	if err := checkID(c.key, id); err != nil {
		return nil, fmt.Errorf("update %s: %w", c.key, err)
	}
	w := write{method: http.MethodPut, path: append([]string{c.path(), id}, action...), request: request}
	if revision != nil {
		w.headers = map[string]string{"If-Match": "revision_number=" + strconv.Itoa(*revision)}
	}

	return c.write(ctx, s, "update", w, id)
}

func (c collection[T]) write(ctx context.Context, s *NetworkService, verb string, w write, id string) (*T, error) {
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	written, err := sendObject(ctx, s.service, client, w, c.key, id, c.id)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", verb, c.key, err)
	}

	return written, nil
}

// delete deletes an object, or a part of it. One that does not exist is no error.
func (c collection[T]) delete(ctx context.Context, s *NetworkService, id string, part ...string) error {
	if err := checkID(c.key, id); err != nil {
		return fmt.Errorf("delete %s: %w", c.key, err)
	}
	client, err := s.opened(ctx)
	if err != nil {
		return err
	}
	if err := s.remove(ctx, client, "", append([]string{c.path(), id}, part...)...); err != nil {
		return fmt.Errorf("delete %s: %w", c.key, err)
	}

	return nil
}
