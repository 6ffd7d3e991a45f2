package nsxt

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// maxPageSize is the most rows of a page, and the default ([SDK]).
const maxPageSize = 1000

// pageRefusal refuses pages above a size.
type pageRefusal struct {
	above int
	err   *apiError
}

// RefusePages refuses pages of more rows than that, with the status 503 or 400 (nsx-operator
// services/common/store.go has both). 0 ends it.
func (c *Cloud) RefusePages(above, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pages = pageRefusal{above, newError(http.StatusServiceUnavailable, 60576)}
	if status == http.StatusBadRequest {
		c.pages.err = invalid("page_size is too large")
	}
}

// pageSize returns the number of rows of the page: the manager may return fewer than are
// asked for ([SDK]).
func (c *Cloud) pageSize(k *call) (int, error) {
	size := maxPageSize
	if text := k.query.Get("page_size"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > maxPageSize {
			return 0, invalid("page_size must be from 0 to %d", maxPageSize)
		}
		size = cmp.Or(n, maxPageSize)
	}
	if c.pages.above > 0 && size > c.pages.above {
		return 0, c.pages.err
	}

	return min(size, c.spec.PageSize), nil
}

// page returns the rows that a request asks for. Only the first page has the number of all
// ([SDK]).
func (c *Cloud) page(k *call, rows []Object) (any, error) {
	size, err := c.pageSize(k)
	if err != nil {
		return nil, err
	}
	by := sorting{k.query.Get("sort_by"), k.query.Get("sort_ascending") == "false"}
	result := Object{"sort_ascending": !by.descending}
	if k.query.Get("cursor") == "" {
		result["result_count"] = len(rows)
	}
	if by.key == "" {
		rows = c.inSomeOrder(rows)
	} else {
		result["sort_by"] = by.key
		slices.SortFunc(rows, by.compare)
	}
	first, err := by.position(rows, k.query.Get("cursor"))
	if err != nil {
		return nil, err
	}
	last := min(first+size, len(rows))
	if last < len(rows) {
		result["cursor"] = by.cursor(last, rows[last-1])
	}
	result["results"] = rows[first:last]

	return result, nil
}

// inSomeOrder returns rows in another order than the last call did: pages without sort_by
// lose and repeat rows ([terraform] 1193).
func (c *Cloud) inSomeOrder(rows []Object) []Object {
	if len(rows) == 0 {
		return rows
	}
	n := c.state.ids.Next("order") % len(rows)

	return slices.Concat(rows[n:], rows[:n])
}

// sorting is how rows are sorted: by a field, then by path.
type sorting struct {
	key        string
	descending bool
}

func (s sorting) compare(a, b Object) int {
	if s.descending {
		a, b = b, a
	}

	return cmp.Or(strings.Compare(a.text(s.key), b.text(s.key)), strings.Compare(a.text("path"), b.text("path")))
}

// cursor is where a page begins: after a row of a sorted list, or at a place of another.
type cursor struct {
	Offset    int
	Key, Path string // of the last row
}

func (s sorting) cursor(offset int, last Object) string {
	data, err := json.Marshal(cursor{offset, last.text(s.key), last.text("path")})
	if err != nil {
		panic(err) // it has only texts
	}

	return base64.RawURLEncoding.EncodeToString(data)
}

// position returns the index of the first row of a page. Rows of a sorted list that are
// deleted between two pages move no others.
func (s sorting) position(rows []Object, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	var p cursor
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil || p.Offset < 0 {
		return 0, invalid("the cursor is not valid")
	}
	if s.key == "" {
		return min(p.Offset, len(rows)), nil
	}
	last := Object{s.key: p.Key, "path": p.Path}
	i := slices.IndexFunc(rows, func(o Object) bool { return s.compare(o, last) > 0 })
	if i < 0 {
		i = len(rows)
	}

	return i, nil
}
