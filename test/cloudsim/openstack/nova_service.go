package openstack

import (
	"net/http"
	"regexp"
)

// novaService is Nova v2.1, for what nodes need: servers, their actions, and
// flavors. Servers are made by tests, see [Cloud.AddServer].
func (c *Cloud) novaService() *service {
	return &service{
		name: "nova", kind: "compute", path: "/compute", version: "/v2.1",
		routes: []route{
			{method: "GET", path: "/", op: "ListVersions", handle: novaVersions, open: true},
			{method: "GET", path: novaChoices, op: "ListVersionChoices", handle: listVersionChoices, open: true},
			{method: "GET", path: "/v2.1", op: "ShowVersion", handle: novaVersion, open: true},
			{method: "GET", path: "/v2.1/servers", op: "ListServers", handle: listServers},
			{method: "GET", path: "/v2.1/servers/detail", op: "ListServersDetail", handle: listServers},
			{method: "GET", path: "/v2.1/servers/{id}", op: "ShowServer", handle: showServer},
			{method: "PUT", path: "/v2.1/servers/{id}", op: "UpdateServer", handle: updateServer, reader: true},
			{method: "DELETE", path: "/v2.1/servers/{id}", op: "DeleteServer", handle: deleteServer, reader: true},
			{method: "POST", path: "/v2.1/servers/{id}/action", op: "RunServerAction", handle: runServerAction, reader: true},
			{method: "GET", path: "/v2.1/servers/{id}/tags", op: "ListServerTags", handle: listServerTags},
			{method: "GET", path: "/v2.1/servers/{id}/os-interface", op: "ListServerInterfaces", handle: listServerInterfaces},
			{method: "GET", path: "/v2.1/servers/{id}/os-instance-actions", op: "ListServerActions", handle: listServerActions},
			{method: "GET", path: "/v2.1/flavors", op: "ListFlavors", handle: listFlavors},
			{method: "POST", path: "/v2.1/flavors", op: "CreateFlavor", handle: createFlavor, reader: true},
			{method: "GET", path: "/v2.1/flavors/detail", op: "ListFlavorsDetail", handle: listFlavors},
			{method: "GET", path: "/v2.1/flavors/{id}", op: "ShowFlavor", handle: showFlavor},
		},
		rewrite: novaPath,
		prepare: novaPrepare,
		header:  novaHeader,
		render:  renderNova, errorType: "application/json; charset=UTF-8",
		denied: novaDenied,
		missing: &apiError{
			status: http.StatusNotFound,
			raw:    []byte(`{"message": "The resource could not be found.<br /><br />\n\n\n", "code": "404 Not Found", "title": "Not Found"}`),
		},
	}
}

// novaChoices is the route of paths with a version that does not exist.
const novaChoices = "/choices"

// novaVersioned matches the paths below a version, which may have the ID of a
// project in them.
var novaVersioned = regexp.MustCompile(`^/v2(\.1)?(/[0-9a-f]{32})?(/.*)?$`)

// novaPath takes the ID of the project out of a path, since Nova serves both forms,
// and leads paths of v2 to v2.1 without microversions (nova:
// api/openstack/compute/routes.py, etc/nova/api-paste.ini). A slash at the end leads
// nowhere but to the version (tried with Zed).
func novaPath(t *target) {
	found := novaVersioned.FindStringSubmatch(t.rest)
	if found == nil {
		if t.rest != "/" {
			t.project, t.rest = t.rest, novaChoices
		}

		return
	}
	t.legacy, t.project, t.rest = found[1] == "", found[2], "/v2.1"+found[3]
	if t.slash && found[3] != "" {
		t.rest += "/"
	}
}

// novaRules are the policy rules of operations (nova: policies/servers.py and
// policies/instance_actions.py).
var novaRules = map[string]string{
	"ListServers": "servers:index", "ListServersDetail": "servers:detail", "ShowServer": "servers:show",
	"UpdateServer": "servers:update", "DeleteServer": "servers:delete", "RunServerAction": "servers:stop",
	"ListServerTags":       "os-server-tags:index",
	"ListServerInterfaces": "os-attach-interfaces:list", "ListServerActions": "os-instance-actions:list",
	"CreateFlavor": "os-flavor-manage:create", "ListFlavors": "flavors", "ListFlavorsDetail": "flavors",
	"ShowFlavor": "flavors",
}

func novaDenied(k *call) *apiError { return novaForbidden(novaRules[k.route.op]) }

func novaForbidden(rule string) *apiError {
	return fail(http.StatusForbidden, "", "Policy doesn't allow os_compute_api:%s to be performed.", rule)
}

// badQuery is the response to a parameter that the schema of Nova refuses.
func badQuery(key, value, reason string) *apiError {
	return fail(http.StatusBadRequest, "", "Invalid input for query parameters %s. Value: %s. %s", key, value, reason)
}

// internalFault is the response to an error that Nova does not expect (nova:
// api/openstack/wsgi.py, expected_errors).
func internalFault(class string) *apiError {
	return fail(http.StatusInternalServerError, "", "Unexpected API Error. Please report this at "+
		"http://bugs.launchpad.net/nova/ and attach the Nova API log if possible.\n<class '%s'>", class)
}
