package nsx_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestSearch: a value is found whatever its characters mean in a query, and found by no other one. All pages are read.
func TestSearch(t *testing.T) {
	t.Parallel()
	simulate(t, nsxt.Spec{PageSize: 7}, password("secret"), func(f fixture) {
		const reserved = `()[]+-=&|><!{}^~*?:/\"` + "`"
		values := []string{reserved, "an OR b", "AND", "x", "axb", "aab", "ab", "A.b"}
		for _, char := range reserved + " " {
			values = append(values, "a"+string(char)+"b")
		}
		for i, value := range values {
			r := route("10.0.0.0/24")
			r["tags"] = []any{map[string]any{"scope": "cluster", "tag": value}}
			f.put(fmt.Sprintf("%s/%d", collection, i), r)
		}
		time.Sleep(time.Minute)
		for _, value := range values {
			var found []string
			must(f, f.client.Search(f.Context(), "resource_type:StaticRoutes AND tags.scope:cluster AND tags.tag:"+nsx.Quote(value), func(row json.RawMessage) error {
				var fields struct{ Tags []nsx.Tag }
				err := json.Unmarshal(row, &fields)
				found = append(found, fields.Tags[0].Tag)

				return err
			}))
			if !slices.Contains(found, value) {
				f.Errorf("%q is not found, but %q", value, found)
			}
			// A search finds whole words, without case.
			unwanted := func(other string) bool { return !strings.Contains(strings.ToLower(other), strings.ToLower(value)) }
			if i := slices.IndexFunc(found, unwanted); i >= 0 {
				f.Errorf("%q is found by %q", found[i], value)
			}
		}
		rows, full := 0, errors.New("enough")
		must(f, f.client.Search(f.Context(), "resource_type:StaticRoutes", func(json.RawMessage) error {
			rows++

			return nil
		}))
		if rows != len(values) {
			f.Errorf("%d rows of all pages, want %d", rows, len(values))
		}
		if err := f.client.Search(f.Context(), "resource_type:StaticRoutes", func(json.RawMessage) error { return full }); !errors.Is(err, full) {
			f.Errorf("the search went on: %v", err)
		}
	})
}

// TestPages: a page without a list has no rows, another value instead of one is an error.
func TestPages(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]int{
		`{"results":[{"id":"a"},{"id":"b"}]}`: 2,
		`{"result_count":0}`:                  0,
		`{"results":null}`:                    0,
		`{"results":{"id":"a"}}`:              -1,
		`{"results":"a"}`:                     -1,
		`{"results":[{"id":"a"}`:              -1,
		`{"results":[{"id":"a"},"b"]}`:        -1,
	} {
		simulate(t, nsxt.Spec{}, password("secret"), func(f fixture) {
			f.cloud.Interceptor().Inject("ListStaticRoutes", simserver.Always(), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				fmt.Fprint(w, page)
			})
			got, err := f.client.List(f.Context(), collection)
			if (err != nil) != (want < 0) || err != nil && !errors.Is(err, apierr.ErrUnavailable) || err == nil && len(got) != want {
				f.Errorf("%s: %d rows, %v", page, len(got), err)
			}
		})
	}
}
