package login_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

const leaseName = "multicloud-ccm-logins-test"

// cluster is a Kubernetes API with Leases, whose resource versions it checks.
type cluster struct {
	*kubetest.Clientset

	mu            sync.Mutex
	version       int
	reads, writes int
	// fail is the error of all calls, unless it is nil.
	fail error
}

func newCluster() *cluster {
	c := &cluster{Clientset: kubetest.NewClientset()}
	c.PrependReactor("*", "leases", c.react)

	return c
}

// react implements clienttesting.ReactionFunc.
func (c *cluster) react(action clienttesting.Action) (handled bool, object runtime.Object, err error) {
	write, isWrite := action.(clienttesting.CreateAction) // an update has the same methods
	c.mu.Lock()
	defer c.mu.Unlock()
	if isWrite {
		c.writes++
	} else {
		c.reads++
	}
	if c.fail != nil {
		return true, nil, c.fail
	}
	if !isWrite {
		return false, nil, nil
	}
	lease := write.GetObject().(*coordinationv1.Lease).DeepCopy()
	current, err := c.Tracker().Get(action.GetResource(), action.GetNamespace(), lease.Name)
	if action.GetVerb() == "update" {
		if err != nil {
			return true, nil, err
		}
		if have := current.(*coordinationv1.Lease).ResourceVersion; have != lease.ResourceVersion {
			return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), lease.Name, fmt.Errorf("version %s, not %s", have, lease.ResourceVersion))
		}
	}
	c.version++
	lease.ResourceVersion = strconv.Itoa(c.version)
	if action.GetVerb() == "update" {
		err = c.Tracker().Update(action.GetResource(), lease, action.GetNamespace())
	} else {
		err = c.Tracker().Create(action.GetResource(), lease, action.GetNamespace())
	}
	if err != nil {
		return true, nil, err
	}

	return true, lease, nil
}

// setFailure makes all calls fail, or none.
func (c *cluster) setFailure(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

// calls returns the numbers of reads and writes so far.
func (c *cluster) calls() (reads, writes int) {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.reads, c.writes
}

// annotation returns what is stored.
func (c *cluster) annotation(t *testing.T) string {
	t.Helper()
	lease, err := c.CoordinationV1().Leases(login.LeaseNamespace).Get(t.Context(), leaseName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	return lease.Annotations[login.LeaseAnnotation]
}

// put stores an annotation, before any process has written one.
func (c *cluster) put(t *testing.T, text string) {
	t.Helper()
	_, err := c.CoordinationV1().Leases(login.LeaseNamespace).Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: login.LeaseNamespace, Name: leaseName,
		Annotations: map[string]string{login.LeaseAnnotation: text, "example.com/other": "kept"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// store returns the store of a process.
func (c *cluster) store() login.Store { return salted{c.lease()} }

// lease returns the store of a process, with a random salt.
func (c *cluster) lease() *login.LeaseStore {
	return login.NewLeaseStore(c.CoordinationV1(), login.LeaseNamespace, leaseName)
}

// salted is a store with the same salt in every run, with which no two passwords of the
// tests have the same hash.
type salted struct{ login.Store }

func (s salted) Load(ctx context.Context) (login.Record, error) {
	record, err := s.Store.Load(ctx)
	if err == nil && record.Salt == nil {
		record.Salt = []byte("0123456789abcdef")
	}

	return record, err
}

// hooked is a store that runs a function before its next Save.
type hooked struct {
	login.Store
	before func()
}

func (h *hooked) Save(ctx context.Context, record login.Record) error {
	if before := h.before; before != nil {
		h.before = nil
		before()
	}

	return h.Store.Save(ctx, record)
}

// process is a process with a guard. It knows which passwords were refused since its
// start, as a provider does.
type process struct {
	guard   *login.Guard
	refused map[string]bool
}

func (c *cluster) start(limits login.Limits, clk clock.PassiveClock) *process {
	return startWith(c.store(), limits, clk)
}

func startWith(store login.Store, limits login.Limits, clk clock.PassiveClock) *process {
	return &process{login.NewGuard(limits, clk, login.WithStore(store)), map[string]bool{}}
}

// reserve begins a login.
func (p *process) reserve(ctx context.Context, password string) (func(login.Result), error) {
	r := login.Request{Account: "robot", Password: config.Secret(password), Target: "the cloud", Refused: p.refused[password]}
	done, err := p.guard.Reserve(ctx, r)
	if err != nil {
		return nil, err
	}

	return func(result login.Result) {
		p.refused[password] = result == login.Refused
		if result == login.Accepted {
			done(result, nil)
		} else {
			done(result, errWrong)
		}
	}, nil
}

// try logs in with a result, and reports whether the guard allowed it.
func (p *process) try(t *testing.T, password string, result login.Result) bool {
	t.Helper()
	done, err := p.reserve(t.Context(), password)
	if err != nil {
		return false
	}
	done(result)

	return true
}

// logged returns a context whose logger counts errors.
func logged(ctx context.Context) (context.Context, func() []string) {
	var mu sync.Mutex
	var lines []string
	logger := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, args)
	}, funcr.Options{})

	return logr.NewContext(ctx, logger), func() []string {
		mu.Lock()
		defer mu.Unlock()

		return lines
	}
}

// hourly are limits for a cloud that counts failures in a row without an interval: a
// password is tried twice, then once an hour.
var hourly = login.Limits{
	Interval: time.Hour, PerPassword: 2, PerAccount: 4,
	Delays:           wait.Backoff{Duration: 15 * time.Second, Factor: 240, Cap: time.Hour},
	DelaysIfAccepted: wait.Backoff{Duration: 15 * time.Second, Factor: 240, Cap: time.Hour},
	Retention:        24 * time.Hour,
}
