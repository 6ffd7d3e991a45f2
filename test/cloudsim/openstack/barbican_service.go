package openstack

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// secret is a secret or a container of Barbican.
type secret struct {
	id, kind  string // secrets or containers
	projectID string
	name      string
	private   bool // Octavia cannot read it
}

// SecretSpec is a certificate in the key manager to add.
type SecretSpec struct {
	// Name is its name.
	Name string
	// Region is the region's name; default the first one.
	Region string
	// Project is the name of its project; default [ProjectCCM].
	Project string
	// Container makes it a container of secrets instead of one secret.
	Container bool
	// NotForOctavia is a secret that its project reads, and Octavia does not: the
	// caller may not grant access, or Octavia's user is in another domain (octavia:
	// api/v2/controllers/base.py, _validate_tls_refs).
	NotForOctavia bool
}

// AddSecret adds a secret or a container and returns the reference to it, a URL.
func (c *Cloud) AddSecret(spec SecretSpec) string {
	project := ProjectCCM
	if spec.Project != "" {
		project = spec.Project
	}
	var ref string
	c.inspect(func() {
		r := c.region(spec.Region)
		s := &secret{
			id: c.newID("secret"), kind: "secrets", name: spec.Name, projectID: c.keystone.project(project).id, private: spec.NotForOctavia,
		}
		if spec.Container {
			s.kind = "containers"
		}
		r.octavia.secrets.put(s.id, s)
		prefix := ""
		if r != c.regions[0] {
			prefix = "/" + r.name
		}
		ref = c.URL() + prefix + "/key-manager/v1/" + s.kind + "/" + s.id
	})

	return ref
}

// barbicanService is as much of Barbican v1 as it takes to look whether a certificate
// is there.
func (c *Cloud) barbicanService() *service {
	return &service{
		name: "barbican", kind: "key-manager", path: "/key-manager", version: "",
		routes: []route{
			{method: "GET", path: "/", op: "ListVersions", handle: barbicanVersions, open: true},
			{method: "GET", path: "/v1/secrets", op: "ListSecrets", handle: listSecrets("secrets")},
			{method: "GET", path: "/v1/secrets/{id}", op: "ShowSecret", handle: showSecret("secrets")},
			{method: "GET", path: "/v1/containers", op: "ListContainers", handle: listSecrets("containers")},
			{method: "GET", path: "/v1/containers/{id}", op: "ShowContainer", handle: showSecret("containers")},
		},
		render:  renderBarbican,
		denied:  func(*call) *apiError { return fail(http.StatusForbidden, "", "Secret retrieval attempt not allowed") },
		missing: fail(http.StatusNotFound, "", "Not Found. Sorry but your resource is in another castle."),
	}
}

// renderBarbican is the shape {"code": 404, "title": …, "description": …} (barbican:
// api/controllers/__init__.py, handle_exceptions).
func renderBarbican(e *apiError) any {
	return object{"code": e.status, "title": http.StatusText(e.status), "description": e.message}
}

func barbicanVersions(k *call) (response, error) {
	return reply(http.StatusMultipleChoices, object{"versions": object{"values": []object{{
		"id": "v1", "status": "stable", "links": []link{{"self", k.base() + "/v1/"}},
	}}}})
}

// canRead reports whether the caller may read a secret: Barbican has one of another
// project as 403 (barbican: common/policies/secrets.py).
func showSecret(kind string) handler {
	return func(k *call) (response, error) {
		s := k.region.octavia.secrets.get(k.path("id"))
		if s == nil || s.kind != kind {
			return response{}, fail(http.StatusNotFound, "", "Not Found. Sorry but your %s is in another castle.", strings.TrimSuffix(kind, "s"))
		}
		if !k.caller.canRead(s.projectID) {
			return response{}, fail(http.StatusForbidden, "", "%s retrieval attempt not allowed - please review your user/project privileges",
				map[string]string{"secrets": "Secret", "containers": "Container"}[kind])
		}

		return reply(http.StatusOK, s.document(k))
	}
}

func listSecrets(kind string) handler {
	return func(k *call) (response, error) {
		rows := []object{}
		for _, s := range k.region.octavia.secrets.all() {
			if s.kind == kind && s.projectID == k.caller.projectID {
				rows = append(rows, s.document(k))
			}
		}

		return reply(http.StatusOK, object{kind: rows, "total": len(rows)})
	}
}

func (s *secret) document(k *call) object {
	ref := k.base() + "/v1/" + s.kind + "/" + s.id
	if s.kind == "containers" {
		return object{"container_ref": ref, "name": s.name, "status": "ACTIVE", "type": "certificate", "secret_refs": []object{}, "consumers": []object{}}
	}

	return object{"secret_ref": ref, "name": s.name, "status": "ACTIVE", "secret_type": "opaque", "content_types": object{"default": "application/octet-stream"}}
}

// octaviaReads reports whether a reference is that of a certificate that Octavia can
// read on behalf of the caller. Only the end of the path counts, as in Barbican's
// client (python-barbicanclient: barbicanclient/base.py, validate_ref_and_return_uuid).
func (k *call) octaviaReads(ref string) bool {
	u, err := url.Parse(ref)
	if err != nil {
		return false
	}
	s := k.region.octavia.secrets.get(path.Base(u.Path))

	return s != nil && s.kind == path.Base(path.Dir(u.Path)) && !s.private && k.caller.canRead(s.projectID)
}
