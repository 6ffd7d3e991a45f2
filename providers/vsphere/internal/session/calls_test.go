package session_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// VS-SESSION-5: a vCenter that never responds costs a call its deadline, and a
// caller no more than its own timeout.
func TestHang(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{CallTimeout: 3 * time.Second, Clock: b.clock})
	ctx := bounded(t)
	if err := errors.Join(s.SOAP(ctx, find), s.REST(ctx, list)); err != nil {
		t.Fatalf("call = %v", err)
	}
	b.Hang()
	for name, call := range map[string]func(context.Context) error{
		"SOAP": func(ctx context.Context) error { return s.SOAP(ctx, find) },
		"REST": func(ctx context.Context) error { return s.REST(ctx, list) },
	} {
		if err := call(ctx); !errors.Is(err, apierr.ErrUnavailable) || apierr.Code(err) != apierr.CodeTimeout {
			t.Errorf("%s() = %v, want a time-out that is %v", name, err, apierr.ErrUnavailable)
		}
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		if err := call(canceled); !errors.Is(err, context.Canceled) {
			t.Errorf("%s() = %v, want %v", name, err, context.Canceled)
		}
	}
	if err := b.Up(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.SOAP(ctx, find), s.REST(ctx, list)); err != nil {
		t.Errorf("call after the hang = %v", err)
	}
}

// VS-SESSION-6: soap-roundtrip-count is how often a read is sent.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	create := func(ctx context.Context, c *vim25.Client) error {
		_, err := methods.CreateContainerView(ctx, c, &types.CreateContainerView{
			This: *c.ServiceContent.ViewManager, Container: c.ServiceContent.RootFolder, Type: []string{"VirtualMachine"},
		})

		return err
	}
	cases := map[string]struct {
		reason string
		count  int
		op     string
		call   func(context.Context, *vim25.Client) error
		effect simserver.Fault
		broken int
		sent   int
		want   error
	}{
		"Default":      {"0 means 3", 0, "FindByUuid", find, simserver.Drop(), 2, 3, nil},
		"Exhausted":    {"3 times is enough", 3, "FindByUuid", find, simserver.Drop(), 3, 3, apierr.ErrUnavailable},
		"One":          {"1 is no retry", 1, "FindByUuid", find, simserver.Drop(), 1, 1, apierr.ErrUnavailable},
		"Five":         {"as often as configured", 5, "FindByUuid", find, simserver.Drop(), 4, 5, nil},
		"ResponseLost": {"a read may be sent twice", 2, "FindByUuid", find, simserver.DropResponse(), 1, 2, nil},
		"Starting":     {"a proxy in front of a vCenter that starts", 2, "FindByUuid", find, simserver.Status(http.StatusServiceUnavailable), 1, 2, nil},
		"NotFound":     {"the 404 of a proxy is not that of a VM", 2, "FindByUuid", find, simserver.Status(http.StatusNotFound), 1, 1, apierr.ErrUnavailable},
		"Fault":        {"a fault is a response", 3, "FindByUuid", find, vsphere.Fault(&types.NoPermission{}), 1, 1, apierr.ErrDenied},
		"Write":        {"a write is sent once", 3, "CreateContainerView", create, simserver.DropResponse(), 1, 1, apierr.ErrUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, vsphere.VCenterSpec{})
			b.endpoint.RoundTrips = tc.count
			s := b.open(t, session.Options{})
			b.Inject(tc.op, simserver.First(tc.broken), tc.effect)
			err := s.SOAP(bounded(t), tc.call)
			if diff := cmp.Diff(tc.want, err, equateErrors); diff != "" {
				t.Errorf("%s\nSOAP(): -want error, +got error:\n%s", tc.reason, diff)
			}
			if n := b.Count(tc.op); n != tc.sent {
				t.Errorf("%s\n%s was sent %d times, want %d", tc.reason, tc.op, n, tc.sent)
			}
		})
	}
}

// truncate applies a call and closes the connection in the middle of the response, after
// its header.
func truncate(w http.ResponseWriter, r *http.Request, apply http.Handler) {
	response := httptest.NewRecorder()
	apply.ServeHTTP(response, r)
	maps.Copy(w.Header(), response.Header())
	w.WriteHeader(response.Code)
	_, _ = w.Write(response.Body.Bytes()[:response.Body.Len()*4/5])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
