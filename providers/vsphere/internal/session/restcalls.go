package session

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/rest"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// restCounter counts the REST calls of one client.
type restCounter struct {
	base  http.RoundTripper
	count countFunc
}

// RoundTrip implements [http.RoundTripper].
func (c restCounter) RoundTrip(req *http.Request) (*http.Response, error) {
	done := c.count(serviceREST, restOperation(req))
	res, err := c.base.RoundTrip(req)
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

	return res, err
}

// restOperation names a REST call without the ids in it, as in
// "GET cis/tagging/tag" or "POST cis/tagging/tag-association list-attached-tags".
func restOperation(req *http.Request) string {
	path := strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, rest.Path), "/com/vmware")
	parts := slices.DeleteFunc(strings.Split(path, "/"), func(part string) bool {
		return part == "" || strings.Contains(part, ":")
	})
	name := req.Method + " " + strings.Join(parts, "/")
	if action := req.URL.Query().Get("~action"); action != "" {
		name += " " + action
	}

	return name
}
