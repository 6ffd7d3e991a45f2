package nsx

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// TestErrors: an error means what its status and its code say, and a page of a proxy says
// nothing about an object.
func TestErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		status, code int
		means        error
		temporary    bool
	}{
		"stale":                        {http.StatusPreconditionFailed, 0, ErrStale, false},
		"stale, as a conflict":         {http.StatusConflict, 0, ErrStale, false},
		"stale, as 500087":             {http.StatusBadRequest, 500087, ErrStale, false},
		"stale, as 500232":             {http.StatusBadRequest, 500232, ErrStale, false},
		"stale, as 100148":             {http.StatusBadRequest, 100148, ErrStale, false},
		"stale, as not found":          {http.StatusNotFound, 500090, ErrStale, false},
		"exists":                       {http.StatusBadRequest, 500127, ErrExists, false},
		"being deleted":                {http.StatusBadRequest, 500045, ErrDeleting, false},
		"in use":                       {http.StatusBadRequest, 500030, ErrInUse, false},
		"not found":                    {http.StatusNotFound, 600, apierr.ErrNotFound, false},
		"not found by a proxy":         {http.StatusNotFound, 0, apierr.ErrUnavailable, false},
		"index rebuilt":                {http.StatusBadRequest, 60508, apierr.ErrUnavailable, false},
		"search too slow":              {http.StatusBadRequest, 60514, apierr.ErrUnavailable, false},
		"index out of sync":            {http.StatusBadRequest, 60515, apierr.ErrUnavailable, false},
		"page too large":               {http.StatusServiceUnavailable, 60576, errPageSize, false},
		"page too large, as a request": {http.StatusBadRequest, 255, errPageSize, false},
		"login":                        {http.StatusUnauthorized, 0, ErrLogin, false},
		"login, as forbidden":          {http.StatusForbidden, 403, ErrLogin, false},
		"login by certificate":         {http.StatusInternalServerError, 99, ErrLogin, false},
		"XSRF token":                   {http.StatusForbidden, 98, apierr.ErrDenied, false},
		"no right, or protected":       {http.StatusForbidden, 289, apierr.ErrDenied, false},
		"license":                      {http.StatusForbidden, 505, ErrLicense, false},
		"throttled":                    {http.StatusTooManyRequests, 0, apierr.ErrThrottled, true},
		"overloaded":                   {http.StatusServiceUnavailable, 0, apierr.ErrUnavailable, true},
		"transaction aborted":          {http.StatusInternalServerError, 607, apierr.ErrUnavailable, true},
		"service does not respond":     {http.StatusInternalServerError, 98, apierr.ErrUnavailable, true},
		"internal":                     {http.StatusInternalServerError, 1, apierr.ErrUnavailable, false},
		"gateway":                      {http.StatusBadGateway, 0, apierr.ErrUnavailable, true},
		"redirect":                     {http.StatusTemporaryRedirect, 0, apierr.ErrUnavailable, false},
		"invalid":                      {http.StatusBadRequest, 220, apierr.ErrInvalid, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := "<html>"
			if tc.code != 0 {
				body = fmt.Sprintf(`{"httpStatus":"X","error_code":%d,"error_message":"text","related_errors":[{"error_message":"more"}]}`, tc.code)
			}
			e := responseError(request{method: http.MethodPut, path: "/infra/lb-pools/p"}, tc.status, []byte(body))
			if !errors.Is(e, tc.means) || e.isTemporary() != tc.temporary {
				t.Errorf("%v means %v and is temporary: %t; want %v, %t", e, e.means, e.isTemporary(), tc.means, tc.temporary)
			}
			if want := fmt.Sprintf("NSX-T: PUT /infra/lb-pools/p: %d error code %d: text; more", tc.status, tc.code); tc.code != 0 && e.Error() != want {
				t.Errorf("text %q, want %q", e, want)
			}
		})
	}
}

// TestNoResponse: a call without a response says nothing, and one that the caller has
// ended is the caller's.
func TestNoResponse(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r := request{method: http.MethodGet, path: "/infra/lb-pools"}
	if err := noResponse(t.Context(), r, context.DeadlineExceeded); !errors.Is(err, apierr.ErrUnavailable) || err.isTemporary() {
		t.Errorf("no response: %v", err)
	}
	if err := noResponse(ended, r, errors.New("closed")); errors.Is(err, apierr.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
