package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// VS-SESSION-8: what faults mean, as they come over the wire; a proxy, a network error
// or a missing permission never means "does not exist".
func TestMeaningOfFaults(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	b.endpoint.RoundTrips = 1
	s := b.open(t, session.Options{})
	ctx := bounded(t)
	must(t, errors.Join(s.SOAP(ctx, find), s.REST(ctx, list)))
	cases := []struct {
		name   string
		effect simserver.Fault
		want   error
		code   string
	}{
		{"NoPermission", vsphere.Fault(&types.NoPermission{}), apierr.ErrDenied, apierr.CodeDenied},
		{"InvalidLogin", vsphere.Fault(&types.InvalidLogin{}), apierr.ErrDenied, apierr.CodeDenied},
		{"RestrictedByAdministrator", vsphere.Fault(&types.RestrictedByAdministrator{}), apierr.ErrDenied, apierr.CodeDenied},
		{"ManagedObjectNotFound", vsphere.Fault(&types.ManagedObjectNotFound{}), apierr.ErrNotFound, apierr.CodeNotFound},
		{"NotFound", vsphere.Fault(&types.NotFound{}), apierr.ErrNotFound, apierr.CodeNotFound},
		{"InvalidArgument", vsphere.Fault(&types.InvalidArgument{}), apierr.ErrInvalid, apierr.CodeInvalid},
		{"InvalidProperty", vsphere.Fault(&types.InvalidProperty{}), apierr.ErrInvalid, apierr.CodeInvalid},
		{"NotSupported", vsphere.Fault(&types.NotSupported{}), apierr.ErrInvalid, apierr.CodeInvalid},
		{"InvalidState", vsphere.Fault(&types.InvalidState{}), apierr.ErrConflict, apierr.CodeConflict},
		{"TaskInProgress", vsphere.Fault(&types.TaskInProgress{}), apierr.ErrConflict, apierr.CodeConflict},
		{"SystemError", vsphere.Fault(&types.SystemError{}), apierr.ErrUnavailable, apierr.CodeUnavailable},
		{"HostNotConnected", vsphere.Fault(&types.HostNotConnected{}), apierr.ErrUnavailable, apierr.CodeUnavailable},
		{"RequestCanceled", vsphere.Fault(&types.RequestCanceled{}), apierr.ErrUnavailable, apierr.CodeUnavailable},
		{"Unknown fault", vsphere.Fault(&types.RuntimeFault{}), nil, apierr.CodeError},
		{"401", simserver.Status(http.StatusUnauthorized), apierr.ErrDenied, apierr.CodeDenied},
		{"403", simserver.Status(http.StatusForbidden), apierr.ErrDenied, apierr.CodeDenied},
		{"404", simserver.Status(http.StatusNotFound), apierr.ErrUnavailable, apierr.CodeUnavailable},
		{"429", simserver.Status(http.StatusTooManyRequests), apierr.ErrThrottled, apierr.CodeThrottled},
		{"500", simserver.Status(http.StatusInternalServerError), apierr.ErrUnavailable, apierr.CodeUnavailable},
		{"502", simserver.Status(http.StatusBadGateway), apierr.ErrUnavailable, apierr.CodeUnavailable},
		{"Dropped", simserver.Drop(), apierr.ErrUnavailable, apierr.CodeUnavailable},
		{"Cut", truncate, apierr.ErrUnavailable, apierr.CodeUnavailable},
		{"Page of a proxy", page, apierr.ErrUnavailable, apierr.CodeUnavailable},
	}
	for _, tc := range cases {
		rule := b.Inject("FindByUuid", simserver.Always(), tc.effect)
		err := s.SOAP(ctx, find)
		rule.Remove()
		if tc.want != nil && !errors.Is(err, tc.want) || apierr.Code(err) != tc.code {
			t.Errorf("%s: SOAP() = %v, a %s, want %v", tc.name, err, apierr.Code(err), tc.code)
		}
	}
	if n := b.Count("Login"); n != 1 {
		t.Errorf("%d logins, want 1: none of these is the end of a session", n)
	}
}

// page is a response that is not of the API.
func page(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	_, _ = io.WriteString(w, "<!DOCTYPE html><title>Login<br>")
}

// VS-SESSION-8: what the statuses of the REST API mean.
func TestMeaningOfStatuses(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	s := b.open(t, session.Options{})
	ctx := bounded(t)
	must(t, s.REST(ctx, list))
	for status, want := range map[int]string{
		http.StatusForbidden:           apierr.CodeDenied,
		http.StatusNotFound:            apierr.CodeNotFound,
		http.StatusConflict:            apierr.CodeConflict,
		http.StatusTooManyRequests:     apierr.CodeThrottled,
		http.StatusInternalServerError: apierr.CodeUnavailable,
		http.StatusServiceUnavailable:  apierr.CodeUnavailable,
	} {
		rule := b.Inject(vsphere.GroupTags, simserver.Always(), simserver.Status(status))
		err := s.REST(ctx, func(ctx context.Context, c *rest.Client) error {
			return fmt.Errorf("list categories: %w", list(ctx, c)) // wrapped, as callers do
		})
		rule.Remove()
		if got := apierr.Code(err); got != want {
			t.Errorf("%d: REST() = %v, a %s, want %s", status, err, got, want)
		}
	}
	rule := b.Inject(vsphere.GroupTags, simserver.Always(), simserver.Drop())
	if err := s.REST(ctx, list); !errors.Is(err, apierr.ErrUnavailable) {
		t.Errorf("dropped: REST() = %v, want %v", err, apierr.ErrUnavailable)
	}
	rule.Remove()
	if n := b.Count("RESTLogin"); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}
