package openstack

import "net/http"

// keystoneService is Keystone v3.
func (c *Cloud) keystoneService() *service {
	return &service{
		name: "keystone", kind: "identity", path: "/identity", version: "/v3", global: true,
		routes: []route{
			{method: "GET", path: "/", op: "ListVersions", handle: keystoneVersions, open: true},
			{method: "GET", path: "/v3", op: "ShowVersion", handle: keystoneVersion, open: true},
			{method: "POST", path: "/v3/auth/tokens", op: "CreateToken", handle: createToken, open: true, safe: true},
			{method: "GET", path: "/v3/auth/tokens", op: "ShowToken", handle: showToken, open: true},
			{method: "HEAD", path: "/v3/auth/tokens", op: "CheckToken", handle: showToken, open: true},
			{method: "DELETE", path: "/v3/auth/tokens", op: "RevokeToken", handle: revokeToken, open: true, safe: true},
			{method: "GET", path: "/v3/auth/catalog", op: "ShowCatalog", handle: showCatalog},
			{method: "GET", path: "/v3/auth/projects", op: "ListOwnProjects", handle: listOwnProjects},
			{method: "GET", path: "/v3/projects/{id}", op: "ShowProject", handle: showProject},
			{method: "GET", path: "/v3/users", op: "ListUsers", handle: listUsers},
			{method: "POST", path: "/v3/users/{id}/application_credentials", op: "CreateApplicationCredential", handle: createApplicationCredential, reader: true},
			{method: "GET", path: "/v3/users/{id}/application_credentials", op: "ListApplicationCredentials", handle: listApplicationCredentials},
		},
		render: renderKeystone,
		denied: func(k *call) *apiError {
			return disallowed("You are not authorized to perform the requested action: " + keystoneRule(k) + ".")
		},
		missing: &apiError{
			status: http.StatusNotFound, header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
			raw: []byte("<!doctype html>\n<html lang=en>\n<title>404 Not Found</title>\n<h1>Not Found</h1>\n" +
				"<p>The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.</p>\n"),
		},
		notAllowed: &apiError{
			status: http.StatusMethodNotAllowed, raw: []byte(`{"message": "The method is not allowed for the requested URL."}`),
		},
		header: func(_ *call, h http.Header) { h.Set("Vary", "X-Auth-Token") },
	}
}

// keystoneRule is the name of the policy rule that an operation needs.
func keystoneRule(k *call) string {
	switch k.route.op {
	case "ShowToken":
		return "identity:validate_token"
	case "CheckToken":
		return "identity:check_token"
	case "ShowProject":
		return "identity:get_project"
	case "ListUsers":
		return "identity:list_users"
	case "CreateApplicationCredential":
		return "identity:create_application_credential"
	case "ListApplicationCredentials":
		return "identity:list_application_credentials"
	case "RevokeToken":
		return "identity:revoke_token"
	}

	return "identity:create_token"
}
