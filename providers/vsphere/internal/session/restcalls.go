package session

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/rest"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// send sends one call and counts it under the name of the request of the SDK.
func (t restTransport) send(req, meant *http.Request) (*http.Response, error) {
	done := t.count(serviceREST, restOperation(meant))
	res, err := t.base.RoundTrip(req)
	switch {
	case err != nil:
		done(classify(err))
	case res.StatusCode == http.StatusBadRequest:
		done(apierr.Mark(apierr.ErrInvalid, errors.New(res.Status)))
	case res.StatusCode > http.StatusBadRequest:
		done(apierr.Mark(meaningOfREST(res.StatusCode), errors.New(res.Status)))
	default:
		done(nil)
	}

	return res, err //nolint:wrapcheck // the SDK wraps it
}

// restOperation names a REST call without the ids in it, as in
// "GET cis/tagging/tag" or "POST cis/tagging/tag-association list-attached-tags",
// whichever path it is made at.
func restOperation(req *http.Request) string {
	path := req.URL.Path
	if path == newSession {
		path = legacySession
	}
	path = strings.TrimPrefix(strings.TrimPrefix(path, rest.Path), "/com/vmware")
	parts := slices.DeleteFunc(strings.Split(path, "/"), func(part string) bool {
		return part == "" || strings.Contains(part, ":")
	})
	name := req.Method + " " + strings.Join(parts, "/")
	if action := req.URL.Query().Get("~action"); action != "" {
		name += " " + action
	}

	return name
}
