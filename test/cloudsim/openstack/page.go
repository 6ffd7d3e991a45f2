package openstack

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// link is a link in a response.
type link struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
}

// standardPage is the page size of Nova (conf/api.py, max_limit) and Octavia
// (common/config.py, pagination_max_limit in its packaged form).
const standardPage = 1000

// after returns the items behind the one that a marker names. It reports false
// when there is none with that ID.
func afterMarker(items []object, marker string) ([]object, bool) {
	if marker == "" {
		return items, true
	}
	i := slices.IndexFunc(items, func(o object) bool { return o["id"] == marker })

	return items[i+1:], i >= 0
}

// novaPage cuts a list as Nova does: limit is lowered to the page size without a
// word, and a full page has a next link with all parameters, even when nothing
// follows (nova: api/openstack/common.py, get_limit_and_marker,
// ViewBuilder._get_collection_links). Items are in order; markers are the
// caller's.
func (k *call) novaPage(items []object, collection string) ([]object, []link, error) {
	limit, err := k.novaLimit()
	if err != nil {
		return nil, nil, err
	}
	rest, ok := afterMarker(items, k.query.Get("marker"))
	if !ok {
		return nil, nil, fail(http.StatusBadRequest, "", "marker [%s] not found", k.query.Get("marker"))
	}
	if limit == 0 || len(rest) < limit {
		return rest[:min(limit, len(rest))], nil, nil
	}
	rest = rest[:limit]
	query := cloneQuery(k.query)
	query.Set("marker", rest[limit-1]["id"].(string))

	return rest, []link{{"next", k.novaBase() + collection + "?" + query.Encode()}}, nil
}

// neutronPage cuts a list as Neutron does: there is no limit unless the request,
// or the cloud, has one; links are there only with a limit, and a full page has a
// next one even when nothing follows (neutron: api/api_common.py,
// get_pagination_links). Items are in order of the ID, or as sort_key has them.
func (k *call) neutronPage(items []object) ([]object, []link, error) {
	limit, err := k.neutronLimit()
	if err != nil {
		return nil, nil, err
	}
	marker, reverse := k.query.Get("marker"), k.query.Get("page_reverse") == "True"
	if reverse {
		items = slices.Clone(items)
		slices.Reverse(items)
	}
	rest, ok := afterMarker(items, marker)
	if !ok {
		return nil, nil, fail(http.StatusNotFound, "MarkerNotFound", "Marker %s could not be found.", marker)
	}
	if limit > 0 && len(rest) > limit {
		rest = rest[:limit]
	}
	if reverse {
		slices.Reverse(rest)
	}
	if limit == 0 || len(rest) == 0 {
		return rest, nil, nil
	}
	var links []link
	if len(rest) >= limit || reverse {
		links = append(links, link{"next", k.neutronLink(rest[len(rest)-1], false)})
	}
	if len(rest) >= limit || !reverse {
		links = append(links, link{"previous", k.neutronLink(rest[0], true)})
	}

	return rest, links, nil
}

// neutronLimit returns the limit of a request, 0 for none (neutron:
// api/api_common.py, get_limit_and_marker and _get_pagination_max_limit).
func (k *call) neutronLimit() (int, error) {
	most := k.cloud.opts.PageSize
	text := k.query.Get("limit")
	if text == "" {
		return most, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fail(http.StatusBadRequest, "BadRequest", "Bad limit request: Limit must be an integer 0 or greater and not '%s'.", text)
	}
	if n == 0 || (most > 0 && n > most) {
		return most, nil
	}

	return n, nil
}

func (k *call) neutronLink(edge object, reverse bool) string {
	query := cloneQuery(k.query)
	query.Del("page_reverse")
	query.Set("marker", edge["id"].(string))
	if reverse {
		query.Set("page_reverse", "True")
	}

	return k.url() + "?" + query.Encode()
}

// octaviaPage cuts a list as Octavia does: limit is lowered to the page size, and
// the links have none of the filters and fields of the request, only limit, sort
// and marker (octavia: api/common/pagination.py, PaginationHelper._make_links). A
// full page has a next one even when nothing follows.
func (k *call) octaviaPage(items []object) ([]object, []link, error) {
	size := cmp.Or(k.cloud.opts.PageSize, standardPage)
	limit := size
	if text := k.query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, nil, fail(http.StatusBadRequest, "", "The value specified for \"limit\" is invalid: %s", text)
		}
		if n > 0 {
			limit = min(n, size)
		}
	}
	marker := k.query.Get("marker")
	rest, ok := afterMarker(items, marker)
	if !ok {
		return nil, nil, fail(http.StatusBadRequest, "", "Marker %s could not be found.", marker)
	}
	rest = rest[:min(limit, len(rest))]
	links := []link{}
	if len(rest) > 0 && marker != "" {
		links = append(links, link{"previous", k.octaviaLink(limit, rest[0])})
	}
	if len(rest) > 0 && len(rest) >= limit {
		links = append(links, link{"next", k.octaviaLink(limit, rest[len(rest)-1])})
	}

	return rest, links, nil
}

func (k *call) octaviaLink(limit int, edge object) string {
	query := "limit=" + strconv.Itoa(limit)
	for _, key := range []string{"sort", "sort_key"} {
		if value := k.query.Get(key); value != "" {
			query += "&" + key + "=" + url.QueryEscape(value)
		}
	}

	return k.url() + "?" + query + "&marker=" + edge["id"].(string)
}

func cloneQuery(query url.Values) url.Values {
	out := make(url.Values, len(query))
	for key, values := range query {
		out[key] = slices.Clone(values)
	}

	return out
}
