package vsphere

import (
	"fmt"
	"net/http"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// maxRESTSessions is how many REST sessions a user may have before vCenter 8.0
// U3, see
// https://blogs.vmware.com/performance/2022/07/endpoint-limits-for-concurrent-rest-requests-from-vcenter-apis.html.
const maxRESTSessions = 550

// restEndpoint is the service behind the REST API. In a vCenter it is a process
// of its own, the vAPI endpoint of the page at [maxRESTSessions]: it starts later
// than the one behind the SOAP API and, before 8.0 U3, holds its sessions itself,
// each until it is idle for too long:
// https://developer.vmware.com/apis/vsphere-automation/latest/cis. It is guarded by
// VCenter.mu.
type restEndpoint struct {
	down   bool
	absent map[string]bool // paths that are not served
	calls  map[string]int  // by path
}

// RESTDown stops the service behind the REST API: its calls get the status 503
// until RESTUp, as they do while a vCenter starts. Its sessions are lost; those
// of the SOAP API are not.
func (v *VCenter) RESTDown() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.restEndpoint.down = true
	clear(v.sessions.rest)
	clear(v.sessions.borrows)
}

// RESTUp ends RESTDown.
func (v *VCenter) RESTUp() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.restEndpoint.down = false
}

// refuseREST responds to a REST call that the endpoint does not accept. It is
// called with mu held and reports whether it did.
func (v *VCenter) refuseREST(w http.ResponseWriter, call simserver.Call) bool {
	switch {
	case v.restEndpoint.down:
		w.WriteHeader(http.StatusServiceUnavailable)

		return true
	case call.Op == "RESTLogin" && v.sessions.countREST() >= maxRESTSessions:
		// The response that https://github.com/vmware-tanzu/tanzu-cli/issues/749
		// shows.
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, `{"type":"com.vmware.vapi.std.errors.service_unavailable","value":{"messages":[{`+
			`"id":"com.vmware.vapi.endpoint.failedToLoginMaxUserSessionCountReached",`+
			`"default_message":"User session count is limited to %d. Existing session count is %[1]d for user %s",`+
			`"args":[]}]}}`, maxRESTSessions, v.directory.user) // a client that is gone misses it

		return true
	}

	return false
}

// countREST returns how many sessions the REST endpoint itself holds.
func (s *sessions) countREST() int { return len(s.rest) - len(s.borrows) }
