package inventory

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

var _ Client = (*session.Session)(nil)

// newSession is a session as the product makes it.
func newSession(t *testing.T, v *cloudsim.VCenter) *session.Session {
	t.Helper()
	host, port, err := net.SplitHostPort(v.Address())
	ok(t, err)
	number, err := strconv.Atoi(port)
	ok(t, err)
	s, err := session.New(
		session.Endpoint{Name: "vc", Server: host, Port: number, CAFile: v.CAFile()},
		[]session.Source{session.NewInFile(session.Credentials{User: v.User(), Password: config.Secret(v.Password())})},
		session.Options{},
	)
	ok(t, err)

	return s
}

// closing counts the calls of SOAP since it was enabled.
type closing struct {
	*session.Session

	counting atomic.Bool
	calls    atomic.Int32
}

func (c *closing) SOAP(ctx context.Context, fn func(context.Context, *vim25.Client) error) error {
	if c.counting.Load() {
		c.calls.Add(1)
	}

	return c.Session.SOAP(ctx, fn)
}

// The objects of a session that is closed are gone: removing them is not tried
// again, for which Close of the provider would wait.
func TestRunEndsAfterItsSession(t *testing.T) {
	t.Parallel()
	v := simulateTLS(t, cloudsim.VCenterSpec{})
	s := &closing{Session: newSession(t, v)}
	i, stop := run(t, s, Config{})
	waitSynced(t, i)
	ok(t, s.Close(t.Context()))
	s.counting.Store(true)
	stop()
	if n := s.calls.Load(); n > 10 { // the feed may have tried to go on
		t.Errorf("%d calls with a closed session, want few", n)
	}
}

func errorText(err error) string {
	if err == nil {
		return "no error"
	}

	return err.Error()
}

// FW-NODE-6: whatever failed, it means that nothing is known of the VM; a login
// that was rejected can still be distinguished from an outage.
func TestErrorsHaveAMeaning(t *testing.T) {
	t.Parallel()
	v := simulateTLS(t, cloudsim.VCenterSpec{})
	v.SetPassword("another")
	s := newSession(t, v)
	v.SetPassword("rotated")
	i, _ := run(t, s, Config{})
	eventually(t, func() string {
		if i.Status().Err == nil {
			return "no failure yet"
		}

		return ""
	})
	_, findErr := i.Find(byID(uuid))
	_, confirmErr := i.Confirm(t.Context(), byID(uuid))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for what, err := range map[string]error{"Find": findErr, "Confirm": confirmErr, "WaitSynced": i.WaitSynced(ctx)} {
		if !errors.Is(err, apierr.ErrDenied) {
			t.Errorf("%s = %v, want denied", what, err)
		}
	}
	if got := apierr.Code(findErr); got != apierr.CodeDenied {
		t.Errorf("code of Find = %s, want %s", got, apierr.CodeDenied)
	}
	ok(t, s.Close(t.Context()))
}

// A datacenter that was deleted a moment ago is no proof that the VM is.
func TestNotFoundFaultIsNoResult(t *testing.T) {
	t.Parallel()
	v, i := confirming(t, "north", "south")
	v.Inject("FindAllByUuid", simserver.Always(), cloudsim.Fault(&types.ManagedObjectNotFound{}))
	_, err := i.Confirm(t.Context(), byID("unknown"))
	if diff := cmp.Diff(apierr.CodeUnavailable, apierr.Code(err)); diff != "" {
		t.Errorf("code of %v (-want +got):\n%s", err, diff)
	}
}
