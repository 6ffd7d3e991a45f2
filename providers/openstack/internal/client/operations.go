package client

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/uuid"
)

// otherResource is counted for paths that are not in the table.
const otherResource = "other"

// resources are the names in metrics of the resources of a path, below the version of the
// API. A star is an ID. The names are those of the upstream controller manager.
var resources = map[Service]map[string]string{
	Identity: {
		"auth/tokens": "token", "auth/catalog": "catalog",
	},
	Compute: {
		"servers/detail": "server", "servers/*": "server", "flavors/*": "flavor",
		"servers/*/os-instance-actions": "server_action",
	},
	Network: {
		"ports": "port", "ports/*": "port", "ports/*/tags/*": "port_tag", "ports/*/tags": "port_tag",
		"routers/*": "router", "routers": "router",
		"routers/*/add_extraroutes": "router", "routers/*/remove_extraroutes": "router",
		"networks": "network", "networks/*": "network", "extensions": "network_extension",
		"subnets": "subnet", "subnets/*": "subnet",
		"floatingips": "floating_ip", "floatingips/*": "floating_ip",
		"security-groups": "security_group", "security-groups/*": "security_group",
		"security-group-rules": "security_group_rule", "security-group-rules/*": "security_group_rule",
	},
	LoadBalancer: {
		"loadbalancers": "loadbalancer", "loadbalancers/*": "loadbalancer", "loadbalancers/*/status": "loadbalancer_status",
		"listeners": "loadbalancer_listener", "listeners/*": "loadbalancer_listener",
		"pools": "loadbalancer_pool", "pools/*": "loadbalancer_pool",
		"pools/*/members": "loadbalancer_member", "pools/*/members/*": "loadbalancer_member",
		"healthmonitors": "loadbalancer_healthmonitor", "healthmonitors/*": "loadbalancer_healthmonitor",
		"l7policies": "loadbalancer_l7policy", "providers": "loadbalancer_provider",
	},
	KeyManager: {
		"secrets/*": "secret", "containers/*": "container",
	},
}

// single are paths that end with a word and are one object.
var single = map[string]bool{"auth/tokens": true, "auth/catalog": true, "loadbalancers/*/status": true}

// versionSegment is the version in a path.
var versionSegment = regexp.MustCompile(`^v[0-9]+(\.[0-9]+)?$`)

// operationOf returns the name of a request in metrics. The path is that below the base
// of the endpoint.
func operationOf(service Service, method, path string) string {
	pattern := patternOf(service, path)
	if pattern == "" {
		return "version_list"
	}
	resource := resources[service][pattern]
	if resource == "" {
		resource = otherResource
	}
	if resource == "loadbalancer_member" && method == http.MethodPut && !strings.HasSuffix(pattern, "*") {
		return "loadbalancer_members_update"
	}

	return resource + "_" + verbOf(method, strings.HasSuffix(pattern, "*") || single[pattern])
}

func verbOf(method string, one bool) string {
	switch method {
	case http.MethodGet, http.MethodHead:
		if one {
			return "get"
		}

		return "list"
	case http.MethodPost:
		return "create"
	case http.MethodDelete:
		return "delete"
	default:
		return "update"
	}
}

// patternOf returns the pattern of a path, which is empty for a version document.
func patternOf(service Service, path string) string {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for i, s := range segments {
		if versionSegment.MatchString(s) {
			segments = segments[i+1:]

			break
		}
	}
	if len(segments) > 0 && (segments[0] == "lbaas" || service == Compute && uuid.IsID(segments[0])) {
		segments = segments[1:]
	}
	if len(segments) == 0 || segments[0] == "" {
		return ""
	}
	for i := 1; i < len(segments); i += 2 {
		if service != Identity && segments[i] != "detail" {
			segments[i] = "*"
		}
	}

	return strings.Join(segments, "/")
}
