package session_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// testTimeout bounds every wait of these tests; none of them waits that long.
const testTimeout = 5 * time.Minute

// starting keeps simulated vCenters from being made at the same time: the
// simulator counts their licenses in a variable of its package.
var starting sync.Mutex

// fixture is a simulated vCenter with what a login to it needs.
type fixture struct {
	*vsphere.VCenter

	endpoint session.Endpoint
	clock    *clocktesting.FakeClock
}

// newFixture starts a vCenter that is trusted by its CA file.
func newFixture(t *testing.T, spec vsphere.VCenterSpec) *fixture {
	t.Helper()

	return newFixtures(t, spec)[0]
}

// newLinkedFixtures starts vCenters that have one directory.
func newLinkedFixtures(t *testing.T, count int) []*fixture {
	t.Helper()

	return newFixtures(t, make([]vsphere.VCenterSpec, count)...)
}

// newFixtures starts vCenters with one directory and one clock.
func newFixtures(t *testing.T, specs ...vsphere.VCenterSpec) []*fixture {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Now())
	spec := vsphere.Spec{VCenters: specs, Clock: clock}
	var names []string
	for i := range specs {
		specs[i].Name = fmt.Sprintf("vc%d", i+1)
		names = append(names, specs[i].Name)
	}
	if len(names) > 1 {
		spec.Linked = [][]string{names}
	}
	starting.Lock()
	cloud, err := vsphere.Start(spec)
	starting.Unlock()
	if err != nil {
		t.Fatalf("Start() = %v", err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Errorf("Close() of the simulated cloud = %v", err)
		}
	})
	var fixtures []*fixture
	for _, vc := range cloud.VCenters() {
		host, port, err := net.SplitHostPort(vc.Address())
		if err != nil {
			t.Fatal(err)
		}
		number, err := strconv.Atoi(port)
		if err != nil {
			t.Fatal(err)
		}
		endpoint := session.Endpoint{Name: vc.Name(), Server: host, Port: number, CAFile: vc.CAFile()}
		fixtures = append(fixtures, &fixture{VCenter: vc, endpoint: endpoint, clock: clock})
	}

	return fixtures
}

// right are the credentials that work.
func (b *fixture) right() session.Credentials {
	return session.Credentials{User: b.User(), Password: config.Secret(b.Password())}
}

// open makes a session, which is closed with the test.
func (b *fixture) open(t *testing.T, options session.Options, sources ...session.Source) *session.Session {
	t.Helper()
	if len(sources) == 0 {
		sources = []session.Source{session.NewInFile(b.right())}
	}
	s, err := session.New(b.endpoint, sources, options)
	if err != nil {
		t.Fatalf("New() = %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		_ = s.Close(ctx) // tests that care close it themselves
	})

	return s
}

// notYoung are the options of a session in a process whose first login was a while ago.
func (b *fixture) notYoung(t *testing.T) session.Options {
	t.Helper()
	guard := login.NewGuard(login.DefaultLimits(), b.clock)
	done, err := guard.Reserve(t.Context(), login.Request{})
	must(t, err)
	done(login.Accepted, nil)
	b.clock.Step(login.DefaultLimits().Interval)

	return session.Options{Clock: b.clock, LoginGuard: guard}
}

// find is the smallest SOAP call that needs a session.
func find(ctx context.Context, c *vim25.Client) error {
	_, err := methods.FindByUuid(ctx, c, &types.FindByUuid{
		This: *c.ServiceContent.SearchIndex, Uuid: "00000000-0000-0000-0000-000000000000", VmSearch: true,
	})

	return err
}

// list is the smallest REST call that needs a session.
func list(ctx context.Context, c *rest.Client) error {
	var ids []string

	return c.Do(ctx, c.Resource("/com/vmware/cis/tagging/category").Request("GET"), &ids)
}

// ids are those of the live sessions, SOAP and REST.
func (b *fixture) ids() (soap, rest []string) {
	for _, s := range b.Sessions() {
		if s.REST {
			rest = append(rest, s.ID)
		} else {
			soap = append(soap, s.ID)
		}
	}

	return soap, rest
}

// bounded is the context of a test, with an end.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)

	return ctx
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("%s: never", what)
}

// shortTimeout is that of calls that must fail by it.
const shortTimeout = 200 * time.Millisecond

// unavailableMax is the longest delay after network errors.
const unavailableMax = 5 * time.Second
