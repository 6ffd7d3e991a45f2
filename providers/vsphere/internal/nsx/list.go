package nsx

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// listPage is how many rows of a list are requested at once, which is what a manager returns by
	// default.
	listPage = 1000
	// searchPage is that of a search: a row can be a pool with thousands of members, and a page is in
	// memory as a whole.
	searchPage = 100
	// minPage is the smallest number that is requested.
	minPage = 10
)

// List reads all objects of a collection. They are sorted by ID: without an order,
// managers return rows twice and leave out others, see
// https://github.com/vmware/terraform-provider-nsxt/issues/1193.
func (c *Client) List(ctx context.Context, path string) ([]Object, error) {
	var all []Object
	r := request{method: http.MethodGet, path: path, query: url.Values{"sort_by": {"id"}}}
	err := c.rows(ctx, r, listPage, func(row json.RawMessage) error {
		var o Object
		if err := json.Unmarshal(row, &o); err != nil {
			return apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("list %s: %w", path, err))
		}
		all = append(all, o)

		return nil
	})

	return all, err
}

// Search calls each for the objects that match a query, see [Quote], until it returns an error. A
// search shows a change some time later, and objects that are being deleted; it matches too much,
// without case and in parts of a value. The number of calls does not depend on other objects.
func (c *Client) Search(ctx context.Context, query string, each func(json.RawMessage) error) error {
	r := request{method: http.MethodGet, path: "/search/query", query: url.Values{"query": {query}, "sort_by": {"unique_id"}}}
	r.query.Set("page_size", strconv.Itoa(searchPage))

	return c.rows(ctx, r, searchPage, each)
}

// reserved are the characters with a meaning in queries:
// https://developer.broadcom.com/xapis/nsx-t-data-center-rest-api/latest/method_QuerySearch.html.
const reserved = `()[]+-=&|><!{}^~*?:/\"`

// Quote returns a value as it is in a query.
func Quote(value string) string {
	var quoted strings.Builder
	for _, char := range value {
		if strings.ContainsRune(reserved, char) || char == ' ' {
			quoted.WriteByte('\\')
		}
		quoted.WriteRune(char)
	}

	return quoted.String()
}

// rows calls each for the rows of all pages. It ends where a page has no cursor: the number of
// rows that the first page names changes with the objects. A page that the manager finds too
// large is read as two.
func (c *Client) rows(ctx context.Context, r request, size int, each func(json.RawMessage) error) error {
	for {
		var page struct {
			Results visitor `json:"results"`
			Cursor  string  `json:"cursor"`
		}
		page.Results.each = each
		err := c.call(ctx, r, &page)
		if errors.Is(err, errPageSize) && size/2 >= minPage {
			size /= 2
			r.query.Set("page_size", strconv.Itoa(size))

			continue
		}
		if err = cmp.Or(err, page.Results.err); err != nil || page.Cursor == "" {
			return err
		}
		r.query.Set("cursor", page.Cursor)
	}
}

// visitor calls a function for each row of a page until there is an error. The rows of a search can
// be megabytes, and are never in memory a second time.
type visitor struct {
	each func(json.RawMessage) error
	err  error
}

// UnmarshalJSON reads the rows.
func (v *visitor) UnmarshalJSON(rows []byte) error {
	d := json.NewDecoder(bytes.NewReader(rows))
	begin, err := d.Token()
	if err != nil || begin == nil { // null
		return err
	}
	if begin != json.Delim('[') {
		return errors.New("the results are not a list")
	}
	for d.More() && v.err == nil {
		var row json.RawMessage
		if err := d.Decode(&row); err != nil {
			return err
		}
		v.err = v.each(row)
	}

	return nil
}
