package openstack

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// zedMinor is the version of Zed.
const zedMinor = 26

// octaviaMinor is the minor version of the API: 2.26, that of Zed, and 2.0 in profile
// Bare, unless the options have another one.
func (k *call) octaviaMinor() int { return k.cloud.opts.OctaviaMinor }

// octaviaVersions responds with all versions up to that of the cloud. They are in
// ascending order, which nothing promises, see [Cloud.SetVersionsUnordered] (octavia:
// api/root_controller.py).
func octaviaVersions(k *call) (response, error) {
	minor := k.octaviaMinor()
	versions := make([]object, 0, minor+1)
	for n := range minor + 1 {
		status := "SUPPORTED"
		if n == minor {
			status = "CURRENT"
		}
		versions = append(versions, object{
			"id": "v2." + strconv.Itoa(n), "status": status, "updated": "2022-08-29T00:00:00Z",
			"links": []link{{"self", k.base() + "/v2"}},
		})
	}
	if k.region.octavia.rules.unordered {
		slices.SortFunc(versions, func(a, b object) int { return strings.Compare(a["id"].(string), b["id"].(string)) })
	}

	return reply(http.StatusOK, object{"versions": versions})
}

// octaviaPath leads the paths of the resources of Octavia to those of the
// routes: v2 and v2.0, with and without lbaas (octavia: api/v2/controllers/__init__.py).
func octaviaPath(t *target) {
	below, ok := cutSegment(t.rest, "/v2.0")
	if !ok {
		below, ok = cutSegment(t.rest, "/v2")
	}
	if !ok {
		return
	}
	if rest, ok := cutSegment(below, "/lbaas"); ok {
		below = rest
	}
	t.rest = "/v2.0/lbaas" + below
}
