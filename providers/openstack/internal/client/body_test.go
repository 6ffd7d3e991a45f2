package client_test

import (
	"net/http"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// A response without Content-Type, which some proxies remove, is one if its body is the
// expected object.
func TestResponseWithoutContentType(t *testing.T) {
	t.Parallel()
	const names = `{"extensions": [{"alias": "extraroute"}]}`
	cases := map[string]struct {
		reason, body string
		want         error
	}{
		"Object":  {"what is expected", names, nil},
		"Blanks":  {"before the object", " \r\n\t" + names, nil},
		"Other":   {"another object", `{"other": []}`, apierr.ErrUnavailable},
		"Cut":     {"a part of it", names[:20], apierr.ErrUnavailable},
		"Array":   {"no object", `[]`, apierr.ErrUnavailable},
		"Page":    {"a page of a proxy", "<html></html>", apierr.ErrUnavailable},
		"Nothing": {"blanks alone", "  \n", apierr.ErrUnavailable},
	}
	for name, tc := range cases {
		for _, known := range []bool{true, false} { // the length of the body
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, openstack.Options{})
				f.serve("neutron", func(w http.ResponseWriter, _ *http.Request) bool {
					w.Header()["Content-Type"] = nil
					w.WriteHeader(http.StatusOK)
					if flusher, ok := w.(http.Flusher); ok && !known {
						flusher.Flush()
					}
					_, _ = w.Write([]byte(tc.body)) // a client that is gone misses it

					return true
				})
				got, err := f.open(t, nil).Network().Extensions(bounded(t))
				if tc.want == nil {
					must(t, err)
					if !got[client.ExtensionExtraRoute] {
						t.Errorf("%s: %v", tc.reason, got)
					}
				} else {
					must(t, is(err, tc.want))
				}
			})
		}
	}
}
