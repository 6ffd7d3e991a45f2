package vsphere

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// maxTagCalls is how many operations of the tag service a vCenter accepts in one
// second: https://github.com/kubernetes-sigs/cluster-api-provider-vsphere/pull/1014.
const maxTagCalls = 360

// tagRate counts the operations of the tag service in one second. It is guarded
// by VCenter.mu.
type tagRate struct {
	since time.Time
	calls int
}

// allow counts an operation and reports whether there were not too many.
func (t *tagRate) allow(now time.Time) bool {
	if now.Sub(t.since) >= time.Second {
		*t = tagRate{since: now}
	}
	t.calls++

	return t.calls <= maxTagCalls
}

// refuseTags responds to a call of the tag service that is one too many. It is
// called with mu held and reports whether it did.
func (v *VCenter) refuseTags(w http.ResponseWriter, call simserver.Call) bool {
	if call.Group != groupTags || v.tagRate.allow(v.sessions.now()) {
		return false
	}
	w.WriteHeader(http.StatusServiceUnavailable)

	return true
}

// hideTags removes from a response of the tag service what the account may not
// read. It is called with mu held.
func (v *VCenter) hideTags(call simserver.Call, response *httptest.ResponseRecorder) {
	if call.Group != groupTags || response.Code != http.StatusOK || len(v.policy.hidden) == 0 {
		return
	}
	var body any
	if json.Unmarshal(response.Body.Bytes(), &body) != nil {
		return
	}
	rest, err := json.Marshal(v.prune(body))
	if err == nil {
		response.Body = bytes.NewBuffer(rest)
	}
}

func (v *VCenter) prune(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			value[name] = v.prune(inner)
		}
	case []any:
		kept := slices.DeleteFunc(value, v.hides)
		for i, inner := range kept {
			kept[i] = v.prune(inner)
		}

		return kept
	}

	return value
}

// hides reports whether an element of a list is, or is about, something that the
// account may not read.
func (v *VCenter) hides(element any) bool {
	object, ok := element.(map[string]any)
	if !ok {
		return false
	}
	id, _ := object["id"].(string)
	kind, _ := object["type"].(string)

	return v.policy.hidden[types.ManagedObjectReference{Type: kind, Value: id}] || v.hides(object["object_id"])
}
