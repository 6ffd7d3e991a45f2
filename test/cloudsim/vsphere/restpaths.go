package vsphere

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// The two paths of the REST API. Since 7.0 U2 a vCenter serves the same at both
// of them: https://kb.vmware.com/s/article/83022.
const (
	// RESTPath is the newer one: bare values, identifiers that are elements of the
	// path, and the query parameter action.
	RESTPath = "/api"
	// LegacyRESTPath is the deprecated one, which vCenters before 7.0 U2 have alone.
	LegacyRESTPath = "/rest"
)

// SetRESTPaths leaves the vCenter with the REST API at these paths alone; it
// begins with [RESTPath] and [LegacyRESTPath]. Calls to another path get the status
// 404. A session is valid at both.
func (v *VCenter) SetRESTPaths(paths ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.restEndpoint.absent = make(map[string]bool)
	for _, path := range []string{RESTPath, LegacyRESTPath} {
		v.restEndpoint.absent[path] = !slices.Contains(paths, path)
	}
}

// RESTCalls returns how many calls a path of the REST API was responsible for.
func (v *VCenter) RESTCalls(path string) int {
	v.mu.Lock()
	defer v.mu.Unlock()

	return v.restEndpoint.calls[path]
}

// countRESTPath notes which path a call is for. It reports whether the vCenter
// serves that path.
func (v *VCenter) countRESTPath(path string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.restEndpoint.calls == nil {
		v.restEndpoint.calls = make(map[string]int)
	}
	v.restEndpoint.calls[path]++

	return !v.restEndpoint.absent[path]
}

// legacyCall makes a call to [LegacyRESTPath], which vcsim serves, from one to
// [RESTPath]. It reports whether it was one. The paths are those of
// https://developer.broadcom.com/xapis/vsphere-automation-api/latest/cis-tagging.
func legacyCall(r *http.Request, body []byte) (*http.Request, bool) {
	path, ok := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/"), RESTPath+"/")
	path = strings.TrimPrefix(path, "cis/")
	if !ok || path != sessionPath && !strings.HasPrefix(path, tagsPath) {
		return r, false
	}
	parts := strings.Split(path, "/")
	if len(parts) > 2 {
		parts[2] = "id:" + parts[2]
	}
	legacy := r.Clone(r.Context())
	query := legacy.URL.Query()
	if action := query.Get("action"); action != "" {
		query.Del("action")
		query.Set("~action", action)
		if action == "list-tags-for-category" {
			parts = append(parts[:2], "id:"+categoryOf(body))
		}
	}
	legacy.URL.RawQuery = query.Encode()
	legacy.URL.Path, legacy.URL.RawPath = restPrefix+strings.Join(parts, "/"), ""

	return legacy, true
}

// categoryOf is the category that the body of list-tags-for-category names.
func categoryOf(body []byte) string {
	var named struct {
		ID string `json:"category_id"`
	}
	_ = json.Unmarshal(body, &named) // no category has an empty ID

	return named.ID
}

// bare converts a response of [LegacyRESTPath] to one of [RESTPath].
func bare(r *http.Request, call simserver.Call, legacy *httptest.ResponseRecorder) *httptest.ResponseRecorder {
	if legacy.Code != http.StatusOK {
		return legacy
	}
	out := httptest.NewRecorder()
	var wrapped struct {
		Value json.RawMessage `json:"value"`
	}
	_ = json.Unmarshal(legacy.Body.Bytes(), &wrapped) // vcsim writes nothing else
	switch {
	case call.Op == "RESTLogin" || strings.HasPrefix(call.Op, "Create"):
		out.Code = http.StatusCreated
	case r.Method == http.MethodDelete || len(wrapped.Value) == 0:
		out.Code = http.StatusNoContent

		return out
	}
	out.Header().Set("Content-Type", "application/json")
	out.Body = bytes.NewBuffer(wrapped.Value)

	return out
}

// restPathOf is the path of the REST API that a call is for, or empty.
func restPathOf(r *http.Request) string {
	for _, path := range []string{RESTPath, LegacyRESTPath} {
		if strings.HasPrefix(r.URL.Path, path+"/") {
			return path
		}
	}

	return ""
}

// serveREST runs one call of the REST API, which was made to the given path. It is
// called with mu held.
func (v *VCenter) serveREST(r *http.Request, call simserver.Call, path string) *httptest.ResponseRecorder {
	response := httptest.NewRecorder()
	if v.refuseREST(response, call) || v.refuseTags(response, call) {
		return response
	}
	v.mux.ServeHTTP(response, r)
	v.hideTags(call, response)
	if path == RESTPath {
		response = bare(r, call, response)
	}

	return response
}
