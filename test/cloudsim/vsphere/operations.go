package vsphere

import (
	"net/http"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// The groups of operations, for [simserver.Interceptor.Inject].
const (
	groupSOAP = "soap"
	groupSSO  = "sso"
	groupREST = "rest"
	groupTags = "tags"
)

// GroupTags names all calls of the tag service at once, GroupSOAP all SOAP
// calls, GroupREST the REST session calls, GroupSSO the calls of STS and lookup
// service.
const (
	GroupTags = groupTags
	GroupSOAP = groupSOAP
	GroupREST = groupREST
	GroupSSO  = groupSSO
)

const (
	restPrefix  = "/rest/com/vmware/cis/"
	sessionPath = "session"
	tagsPath    = "tagging/"
)

var plurals = map[string]string{"category": "Categories", "tag": "Tags"}

// isPoll reports whether a SOAP method waits for changes.
func isPoll(method string) bool { return method == "WaitForUpdatesEx" }

// restCall names a REST call from its method, its path below restPrefix and its
// action:
//
//	POST   session                                          RESTLogin
//	GET    session, POST session?~action=get                RESTSession
//	DELETE session                                          RESTLogout
//	GET    tagging/tag                                      ListTags
//	GET    tagging/tag/id:…                                 GetTag
//	POST   tagging/tag/id:…?~action=list-tags-for-category  ListTagsForCategory
//	POST   tagging/tag-association?~action=list-attached-tags-on-objects
//	                                                        ListAttachedTagsOnObjects
func restCall(method, path, action string) (simserver.Call, bool) {
	if path == sessionPath {
		op, ok := sessionOperation(method, action)

		return simserver.Call{Op: op, Group: groupREST}, ok
	}
	kind, isTags := strings.CutPrefix(path, tagsPath)
	if !isTags {
		return simserver.Call{}, false
	}
	kind, _, one := strings.Cut(kind, "/")
	switch {
	case kind != "category" && kind != "tag" && kind != "tag-association":
		return simserver.Call{}, false
	case action == "attach" || action == "detach":
		return simserver.Call{Op: camel(action) + "Tag", Group: groupTags}, true
	case action != "":
		return simserver.Call{Op: camel(action), Group: groupTags}, true
	}
	verb, ok := verbs(one)[method]
	noun := camel(kind)
	if verb == "List" {
		noun = plurals[kind]
	}

	return simserver.Call{Op: verb + noun, Group: groupTags}, ok && noun != ""
}

func sessionOperation(method, action string) (string, bool) {
	switch {
	case method == http.MethodPost && action == "":
		return "RESTLogin", true
	case method == http.MethodPost, method == http.MethodGet:
		return "RESTSession", true
	case method == http.MethodDelete:
		return "RESTLogout", true
	}

	return "", false
}

// verbs returns what the HTTP methods mean for one object, or for all of them.
func verbs(one bool) map[string]string {
	if one {
		return map[string]string{http.MethodGet: "Get", http.MethodPatch: "Update", http.MethodDelete: "Delete"}
	}

	return map[string]string{http.MethodGet: "List", http.MethodPost: "Create"}
}

// camel turns list-attached-tags into ListAttachedTags.
func camel(words string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(words, "-") {
		if word != "" {
			out.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}

	return out.String()
}
