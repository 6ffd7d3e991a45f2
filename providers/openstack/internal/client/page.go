package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// listing is a list that is read in pages. Pages are found by the ID of the last row on the
// endpoint of the catalog, with the filters kept. Links to next pages are not followed:
// Octavia leaves the filters out of them, and behind a proxy they often lead to another
// scheme, where the token would be readable. They only show that there is a next page.
type listing[T any] struct {
	service *service
	client  *gophercloud.ServiceClient
	// path is that of the collection below the client's base. Key is its name in the
	// response.
	path, key string
	// query has the filters, without limit and marker.
	query url.Values
	// limit is how many rows a page has at most; the service may have a lower one. Zero
	// requests none: then only the link shows that there is a next page.
	limit int
	// marker returns the ID of a row if a page can begin after it, else nothing.
	marker func(*T) string
	// wanted reports whether a row fits the filters: services ignore what they do not
	// know. Other rows are left out.
	wanted func(*T) bool
}

// page is what a page has besides its rows.
type page struct {
	rows   int
	next   bool
	marker string
}

// all returns all rows. If a page fails it returns those before, along with the error.
func (l listing[T]) all(ctx context.Context) ([]*T, error) {
	var rows []*T
	err := l.each(ctx, func(row *T) { rows = append(rows, row) })

	return rows, err
}

// each calls a function with each row, while the response is read: it must be quick. If a
// page fails, the function was called with the rows before.
func (l listing[T]) each(ctx context.Context, fn func(*T)) error {
	foreign := 0
	collect := func(row *T) {
		if l.wanted(row) {
			fn(row)
		} else {
			foreign++
		}
	}
	marker := ""
	seen := map[string]bool{}
	for {
		p, err := l.read(ctx, marker, collect)
		if err != nil {
			return fmt.Errorf("list %s: %w", l.key, err)
		}
		// More rows than requested are all of them, from a service that ignores the limit.
		if p.rows == 0 || !p.next && (l.limit == 0 || p.rows != l.limit) {
			break
		}
		if p.marker == "" {
			return l.incomplete("no row of a page is one that the next page can begin after")
		}
		if seen[p.marker] {
			return l.incomplete("the same page came twice")
		}
		seen[p.marker], marker = true, p.marker
	}
	if foreign > 0 {
		klog.FromContext(ctx).V(4).Info("Left out rows that do not fit the filters", "service", l.service.name, "list", l.key, "rows", foreign)
	}

	return nil
}

func (l listing[T]) incomplete(reason string) error {
	return apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("list %s of %s: %s", l.key, l.service.name, reason))
}

// read reads the page that begins after a marker.
func (l listing[T]) read(ctx context.Context, marker string, each func(*T)) (page, error) {
	query := url.Values{}
	maps.Copy(query, l.query)
	if l.limit > 0 {
		query.Set("limit", strconv.Itoa(l.limit))
	}
	if marker != "" {
		query.Set("marker", marker)
	}
	target := l.client.ServiceURL(l.path)
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	res, err := l.client.Request(ctx, http.MethodGet, target, &gophercloud.RequestOpts{KeepResponseBody: true})
	if err != nil {
		return page{}, l.refused(finish(l.service.name, http.MethodGet, err), marker)
	}
	defer res.Body.Close() //nolint:errcheck // read only
	var p page
	err = decodePage(res.Body, l.key, &p, func(row *T) {
		p.rows++
		if id := l.marker(row); id != "" {
			p.marker = id
		}
		each(row)
	})

	return p, finish(l.service.name, http.MethodGet, err)
}

// refused returns the error of a page that a service has refused. A list that does not
// exist proves nothing about its rows, and the row that a page begins after may be deleted
// by now.
func (l listing[T]) refused(err error, marker string) error {
	if errors.Is(err, apierr.ErrNotFound) || marker != "" && errors.Is(err, apierr.ErrInvalid) {
		return apierr.Mark(apierr.ErrUnavailable, errors.New(err.Error()))
	}

	return err
}

// decodePage decodes a page row by row: a page of many large rows is never in memory as a
// whole.
func decodePage[T any](from io.Reader, key string, p *page, each func(*T)) error {
	d := json.NewDecoder(from)
	found := false
	err := readObject(d, fields{
		key: func() error {
			found = true

			return decodeRows(d, each)
		},
		key + "_links": func() (err error) {
			p.next, err = decodeLinks(d)

			return err
		},
	})
	if err == nil && !found {
		err = fmt.Errorf("no %s", key)
	}

	return err
}

func decodeRows[T any](d *json.Decoder, each func(*T)) error {
	return readList(d, func() error {
		row := new(T)
		if err := d.Decode(row); err != nil {
			return err
		}
		each(row)

		return nil
	})
}

// decodeLinks reports whether there is a link to a next page.
func decodeLinks(d *json.Decoder) (bool, error) {
	var links []struct {
		Rel string `json:"rel"`
	}
	if err := d.Decode(&links); err != nil {
		return false, err
	}
	for _, link := range links {
		if link.Rel == "next" {
			return true, nil
		}
	}

	return false, nil
}
