package openstack

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// link is a link in a response.
type link struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
}

// standardPage is the page size of Nova (conf/api.py, max_limit) and Octavia
// (common/config.py, pagination_max_limit in its packaged form).
const standardPage = 1000

// afterMarker returns the items behind the one that a marker names. It reports false
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

	return rest, []link{k.novaNext(collection, rest[limit-1]["id"].(string))}, nil
}

// novaNext is the link to a next page: the parameters that the call has, sorted, one
// value each, and the marker last unless the request had one (nova:
// api/openstack/common.py, ViewBuilder._get_next_link).
func (k *call) novaNext(collection, marker string) link {
	keys := sortedKeys(k.query)
	if !k.query.Has("marker") {
		keys = append(keys, "marker")
	}
	var parameters []string
	for _, key := range keys {
		value := marker
		switch {
		case key == "marker":
		case !k.knowsParameter(key):
			continue
		default:
			value = slices.Max(k.query[key])
		}
		parameters = append(parameters, url.QueryEscape(key)+"="+url.QueryEscape(value))
	}

	return link{"next", k.novaBase() + collection + "?" + strings.Join(parameters, "&")}
}

// neutronPage cuts a list as Neutron does (neutron: api/api_common.py,
// get_pagination_links; compared with Zed): there is no limit unless the request, or
// the cloud, has one; without, a marker is ignored and there are no links. A full page
// has a next link even when nothing follows, and the first page a previous one. Items
// are in order of the ID, or as sort_key has them.
func (k *call) neutronPage(items []object) ([]object, []link, error) {
	limit, err := k.neutronLimit()
	if err != nil || limit == 0 {
		return items, nil, err
	}
	reverse := strings.EqualFold(k.query.Get("page_reverse"), "true")
	rest := slices.Clone(items)
	if reverse {
		slices.Reverse(rest)
	}
	rest, ok := afterMarker(rest, k.query.Get("marker"))
	if !ok {
		return nil, nil, k.noMarker()
	}
	rest = rest[:min(limit, len(rest))]
	if reverse {
		slices.Reverse(rest)
	}
	links := []link{}
	if len(rest) == limit || reverse {
		links = append(links, link{"next", k.neutronLink(rest, false)})
	}
	if len(rest) == limit || !reverse {
		links = append(links, link{"previous", k.neutronLink(rest, true)})
	}

	return rest, links, nil
}

// markerNames are the names of what a marker stands for, by collection.
var markerNames = map[string]struct{ kind, text string }{
	"networks":             {"NetworkNotFound", "Network %s could not be found."},
	"subnets":              {"SubnetNotFound", "Subnet %s could not be found."},
	"ports":                {"PortNotFound", "Port %s could not be found."},
	"routers":              {"RouterNotFound", "Router %s could not be found"},
	"floatingips":          {"FloatingIPNotFound", "Floating IP %s could not be found"},
	"security-groups":      {"SecurityGroupNotFound", "Security group %s does not exist"},
	"security-group-rules": {"SecurityGroupRuleNotFound", "Security group rule %s does not exist"},
}

// noMarker is the response about a marker that does not exist: it is looked up as
// any resource is.
func (k *call) noMarker() error {
	marker := k.query.Get("marker")
	name, ok := markerNames[path.Base(k.target.rest)]
	if !ok {
		return fail(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")
	}

	return fail(http.StatusNotFound, name.kind, name.text, marker)
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

// neutronLink is a link to the next or the previous page, with the other parameters
// as they were. Next to an empty page it has no marker.
func (k *call) neutronLink(rows []object, reverse bool) string {
	var query []string
	for part := range strings.SplitSeq(k.request.URL.RawQuery, "&") {
		name, _, _ := strings.Cut(part, "=")
		if part != "" && name != "marker" && name != "page_reverse" {
			query = append(query, part)
		}
	}
	edge := len(rows) - 1
	if reverse {
		edge = 0
	}
	if len(rows) > 0 {
		query = append(query, "marker="+rows[edge]["id"].(string))
	}
	if reverse {
		query = append(query, "page_reverse=True")
	}

	return k.url() + "?" + strings.Join(query, "&")
}

// octaviaPage cuts a list as Octavia does (octavia: api/common/pagination.py;
// compared with Zed): limit is lowered to the page size, and the links have none of
// the filters and fields of the request, only limit, sort and marker. A full page has
// a next one even when nothing follows. No limit, which is what any below 1 means,
// fails when there is a row: the link is made by comparing with it.
func (k *call) octaviaPage(items []object) ([]object, []link, error) {
	limit, err := k.octaviaLimit()
	if err != nil {
		return nil, nil, err
	}
	marker := k.query.Get("marker")
	rest, ok := afterMarker(items, marker)
	if !ok {
		return nil, nil, fail(http.StatusBadRequest, "", "Supplied pagination marker '%s' is not valid.", marker)
	}
	if marker != "" && k.query.Get("page_reverse") == "True" {
		rest = items[:len(items)-len(rest)-1] // from the start, not up to the marker
	}
	links := []link{}
	if len(rest) == 0 {
		return rest, links, nil
	}
	if limit == 0 {
		return nil, nil, fail(http.StatusInternalServerError, "", "'>=' not supported between instances of 'int' and 'NoneType'")
	}
	rest = rest[:min(limit, len(rest))]
	if marker != "" {
		links = append(links, link{"previous", k.octaviaLink(limit, rest[0]) + "&page_reverse=True"})
	}
	if len(rest) >= limit {
		links = append(links, link{"next", k.octaviaLink(limit, rest[len(rest)-1])})
	}

	return rest, links, nil
}

// octaviaLimit returns the limit of a request, 0 for none.
func (k *call) octaviaLimit() (int, error) {
	size := cmp.Or(k.cloud.opts.PageSize, standardPage)
	text := k.query.Get("limit")
	switch text {
	case "":
		return size, nil
	case "infinite":
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil { // refused before the service's own error handling
		message := "Supplied pagination limit '" + text + "' is not valid."
		body, err := json.Marshal(object{"code": http.StatusBadRequest, "title": "Bad Request", "description": message})

		return 0, errors.Join(err, &apiError{status: http.StatusBadRequest, message: message, raw: body})
	}
	if n < 1 {
		return 0, nil
	}

	return min(n, size), nil
}

func (k *call) octaviaLink(limit int, edge object) string {
	parts := []string{"limit=" + strconv.Itoa(limit)}
	for _, key := range []string{"sort", "sort_key"} {
		if value := k.query.Get(key); value != "" {
			parts = append(parts, key+"="+url.QueryEscape(value))
		}
	}

	return k.url() + "?" + strings.Join(append(parts, "marker="+edge["id"].(string)), "&")
}

func cloneQuery(query url.Values) url.Values {
	out := make(url.Values, len(query))
	for key, values := range query {
		out[key] = slices.Clone(values)
	}

	return out
}
