package vsphere

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
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

// SetTagHidden makes a vCenter behave as if the account had no permission on a
// tag, or on a whole category if tag is empty: lists leave it out, and reading it is
// refused. https://developer.broadcom.com/xapis/vsphere-automation-api/latest/cis-tagging
func (v *VCenter) SetTagHidden(category, tag string, hidden bool) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	id := v.tags.category(category)
	if tag != "" {
		found := v.tags.find(category, tag)
		if found == nil {
			return fmt.Errorf("hide tag: no tag %q in category %q", tag, category)
		}
		id = found.ID
	}
	if v.policy.hiddenTags == nil {
		v.policy.hiddenTags = make(map[string]bool)
	}
	v.policy.hiddenTags[id] = hidden

	return nil
}

// refuseTags responds to a call of the tag service that is one too many or about
// something that the account may not read. It is called with mu held and reports
// whether it did.
func (v *VCenter) refuseTags(w http.ResponseWriter, r *http.Request, call simserver.Call) bool {
	switch {
	case call.Group != groupTags:
		return false
	case !v.tagRate.allow(v.sessions.now()):
		w.WriteHeader(http.StatusServiceUnavailable)

		return true
	case v.policy.hiddenTags[strings.TrimPrefix(path.Base(r.URL.Path), "id:")]:
		w.WriteHeader(http.StatusForbidden)

		return true
	}

	return false
}

// hideTags removes from a response of the tag service what the account may not
// read. It is called with mu held.
func (v *VCenter) hideTags(call simserver.Call, response *httptest.ResponseRecorder) {
	if call.Group != groupTags || response.Code != http.StatusOK || len(v.policy.hidden)+len(v.policy.hiddenTags) == 0 {
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
	switch element := element.(type) {
	case string:
		return v.policy.hiddenTags[element]
	case map[string]any:
		id, _ := element["id"].(string)
		kind, _ := element["type"].(string)
		tag, _ := element["tag_id"].(string)

		return v.policy.hiddenTags[tag] || v.policy.hidden[types.ManagedObjectReference{Type: kind, Value: id}] || v.hides(element["object_id"])
	}

	return false
}
