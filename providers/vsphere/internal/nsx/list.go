package nsx

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
)

const (
	// defaultPage is the number of rows that a manager returns if no number is asked for.
	defaultPage = 1000
	// minPage is the smallest number that is asked for.
	minPage = 10
)

// List reads all objects of a collection. They are sorted by ID: without an order,
// managers return rows twice and leave out others, see
// https://github.com/vmware/terraform-provider-nsxt/issues/1193.
func (c *Client) List(ctx context.Context, path string) ([]Object, error) {
	return c.rows(ctx, request{method: http.MethodGet, path: path, query: url.Values{"sort_by": {"id"}}})
}

// rows reads all pages. It ends where a page has no cursor: the number of rows that the
// first page names changes with the objects. A page that the manager finds too large is
// read as two.
func (c *Client) rows(ctx context.Context, r request) ([]Object, error) {
	var all []Object
	for size := defaultPage; ; {
		var page struct {
			Results []Object `json:"results"`
			Cursor  string   `json:"cursor"`
		}
		err := c.call(ctx, r, &page)
		if errors.Is(err, errPageSize) && size/2 >= minPage {
			size /= 2
			r.query.Set("page_size", strconv.Itoa(size))

			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, page.Results...)
		if page.Cursor == "" {
			return all, nil
		}
		r.query.Set("cursor", page.Cursor)
	}
}
