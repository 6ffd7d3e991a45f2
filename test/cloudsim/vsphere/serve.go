package vsphere

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	vapi "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// maxBody bounds a request; filters over thousands of objects stay far below.
const maxBody = 64 << 20

// routes connects the paths of a vCenter with vcsim.
func (v *VCenter) routes() {
	v.service.RegisterSDK(v.registry, vim25.Path+"/vimService")
	v.mux = v.service.ServeMux
	v.mux.HandleFunc(vim25.Path+"/vimServiceVersions.xml", v.service.ServiceVersions)
	patterns, handler := vapi.New(v.service.Listen, v.registry)
	for _, pattern := range patterns {
		v.service.Handle(pattern, handler)
	}
	v.tags = newTagStore(handler)
	v.sessions.rest = restSessions(handler)
	v.registry.SessionManager().ValidLogin = v.sessions.validLogin
	v.routeSSO()
}

// ServeHTTP handles the calls of clients: it names and counts them, lets the
// rules have their way, and leaves the work to vcsim.
func (v *VCenter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)

		return
	}
	restPath := restPathOf(r)
	r, _ = legacyCall(r, body)
	call, known := identify(r, body)
	if restPath != "" && known {
		known = v.countRESTPath(restPath)
	}
	v.Serve(w, r, call, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !known {
			http.NotFound(w, r)

			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if limit := v.idleLimit(); limit > 0 {
			idle, cancel := context.WithTimeout(r.Context(), limit)
			defer cancel()
			r = r.WithContext(idle)
		}
		response := v.apply(r, call, restPath)
		if r.Context().Err() != nil {
			panic(http.ErrAbortHandler) // the client is gone
		}
		simserver.Replay(w, response)
	}))
}

// apply runs one call, alone unless it is a long poll that waits. Of a REST call
// it sees the path it was made to.
func (v *VCenter) apply(r *http.Request, call simserver.Call, restPath string) *httptest.ResponseRecorder {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calling = r.Context()
	v.sessions.expire()
	if call.Group != groupSOAP {
		v.sessions.share(r)
	}
	if restPath != "" {
		return v.serveREST(r, call, restPath)
	}
	response := httptest.NewRecorder()
	if v.refuseVersion(response, r, call) {
		return response
	}
	v.mux.ServeHTTP(response, r)
	v.feed.finishTasks()
	v.sessions.after(call, response)

	return response
}

// identify names a call. Paths that no client of ours needs are unknown: some of
// vcsim's REST handlers call back over the network and would wait for themselves.
func identify(r *http.Request, body []byte) (simserver.Call, bool) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	switch {
	case path == vim25.Path || path == vim25.Path+"/vimService":
		method := soapMethod(body)

		return simserver.Call{Op: method, Group: groupSOAP, Poll: isPoll(method)}, true
	case path == vim25.Path+"/vimServiceVersions.xml":
		return simserver.Call{Op: "ServiceVersions", Group: groupSOAP}, true
	case strings.HasPrefix(path, ssoPrefix) || path == lookupPath:
		return simserver.Call{Op: ssoOperation(r, body), Group: groupSSO}, true
	case strings.HasPrefix(path, restPrefix):
		if call, ok := restCall(r.Method, strings.TrimPrefix(path, restPrefix), r.URL.Query().Get("~action")); ok {
			return call, true
		}
	}

	return simserver.Call{Op: r.Method + " " + path}, false
}
