package network

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// inUse responds like AWS while a deleted load balancer still holds its target
// groups: without a network, so that time can be simulated.
type inUse struct {
	calls, rejections int
}

// Do implements the HTTP client of the SDK.
func (u *inUse) Do(*http.Request) (*http.Response, error) {
	u.calls++
	status, body := http.StatusOK, `<DeleteTargetGroupResponse><DeleteTargetGroupResult/></DeleteTargetGroupResponse>`
	if u.calls <= u.rejections {
		status = http.StatusBadRequest
		body = `<ErrorResponse><Error><Code>ResourceInUse</Code><Message>in use by a listener</Message></Error></ErrorResponse>`
	}

	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func TestDeletingWhatIsInUse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason     string
		rejections int
		calls      int
		waits      time.Duration
		conflict   bool
	}{
		"free":     {reason: "nothing uses it", rejections: 0, calls: 1},
		"draining": {reason: "soon free", rejections: 2, calls: 3, waits: 4 * time.Second},
		"released": {reason: "AWS takes some seconds to release it", rejections: 3, calls: 4, waits: 6 * time.Second},
		"held":     {reason: "the worker is released, and the next run continues", rejections: 99, calls: 5, waits: 9 * time.Second, conflict: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				responses := &inUse{rejections: c.rejections}
				api := elbv2.New(elbv2.Options{Region: "us-west-2", HTTPClient: responses, Credentials: aws.AnonymousCredentials{}})
				env := &change.Env{ELBV2: snapshot.New(api, snapshot.Options{})}
				start := time.Now()
				err := deleteTargetGroup("group", "arn").Do(t.Context(), env)
				if errors.Is(err, apierr.ErrConflict) != c.conflict || (err != nil) != c.conflict {
					t.Errorf("%s: error is %v", c.reason, err)
				}
				if responses.calls != c.calls || time.Since(start) != c.waits {
					t.Errorf("%s: %d calls in %s, want %d in %s", c.reason, responses.calls, time.Since(start), c.calls, c.waits)
				}
			})
		})
	}
}

func TestGivingUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		api := elbv2.New(elbv2.Options{Region: "us-west-2", HTTPClient: &inUse{rejections: 99}, Credentials: aws.AnonymousCredentials{}})
		env := &change.Env{ELBV2: snapshot.New(api, snapshot.Options{})}
		start := time.Now()
		err := deleteTargetGroup("group", "arn").Do(ctx, env)
		if err == nil || time.Since(start) > time.Second {
			t.Errorf("waiting ends with the context: error %v after %s", err, time.Since(start))
		}
	})
}

// TestGone deletes what others have deleted meanwhile.
func TestGone(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	b.ensure(web())
	seen := b.observe(web())
	steps := DiffDeletion(seen)
	for _, listener := range seen.LoadBalancer.Listeners {
		steps = append(change.Plan{deleteListener(lbName, listener)}, steps...)
	}
	for range 2 {
		if err := steps.Apply(t.Context(), &change.Env{ELBV2: b.shared()}, nil); err != nil {
			t.Errorf("deleting twice: %v", err)
		}
	}
	b.empty()
	b.Interceptor().Inject("elbv2", simserver.Always(), sim.Error(http.StatusBadRequest, "LoadBalancerNotFound", "gone"))
	if err := steps.Apply(t.Context(), &change.Env{ELBV2: b.shared()}, nil); err != nil {
		t.Errorf("not found is done: %v", err)
	}
}

// TestUnknownReference applies steps in the wrong order.
func TestUnknownReference(t *testing.T) {
	t.Parallel()
	missing := plan.Ref{Key: "nothing"}
	unknown, known := named{name: "unknown", ref: missing}, named{name: "known", ref: plan.Ref{ID: "arn"}}
	for _, step := range []change.Step{
		createLoadBalancer(&Model{SecurityGroups: []plan.Ref{missing}}),
		setSecurityGroups(unknown, nil, nil),
		setSecurityGroups(known, []plan.Ref{missing}, nil),
		modifyAttributes(unknown, nil),
		createListener(connected{balancer: unknown}, nil),
		createListener(connected{balancer: known, group: unknown}, nil),
		createListener(connected{balancer: known, group: known, needs: []plan.Ref{missing}}, nil),
		modifyListener(ListenerState{}, connected{group: unknown}),
		modifyListener(ListenerState{}, connected{group: known, needs: []plan.Ref{missing}}),
		createTargetGroup(&Model{}, TargetGroup{}, missing),
		modifyGroupAttributes(unknown, nil),
		registerTargets("web", unknown, nil, 0, false),
	} {
		if err := step.Do(t.Context(), &change.Env{}); err == nil || !strings.Contains(err.Error(), "nothing") {
			t.Errorf("%s without what it needs: %v", step.Kind, err)
		}
	}
}

// TestErrors rejects every call of a run. The error says what was being
// done, and has the class of AWS's error.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, op := range []string{
		"DescribeLoadBalancers", "DescribeTargetGroups", "DescribeListeners", "DescribeLoadBalancerAttributes",
		"DescribeTargetHealth", "DescribeTargetGroupAttributes", "CreateTargetGroup", "RegisterTargets", "ModifyListener",
		"DeleteTargetGroup", "AddTags", "ModifyLoadBalancerAttributes", "CreateListener", "DeleteListener",
		"ModifyTargetGroup", "ModifyTargetGroupAttributes", "DeregisterTargets",
	} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			b.ensure(changedBefore())
			b.nodes = append(b.nodes[1:], b.Cluster.AddNodes(1)...)
			b.Interceptor().Inject("elbv2."+op, simserver.Always(), sim.Denied())
			_, err := b.tryEnsure(changedAfter())
			if !errors.Is(err, apierr.ErrDenied) {
				t.Errorf("AWS-API-9: %s is denied, and the error is %v", op, err)
			}
			b.Interceptor().Clear()
			b.ensure(changedAfter())
			b.upToDate(changedAfter())
		})
	}
}

// changedBefore and changedAfter are Services between which there is every kind
// of change.
func changedBefore() *v1.Service {
	return web(kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443), kubetest.Port(v1.ProtocolTCP, 8080))
}

func changedAfter() *v1.Service {
	svc := web(kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443), kubetest.Port(v1.ProtocolTCP, 8443),
		kubetest.ServiceAnnotated("service.beta.kubernetes.io/aws-load-balancer-cross-zone-load-balancing-enabled", "true"),
		kubetest.ServiceAnnotated("service.beta.kubernetes.io/aws-load-balancer-additional-resource-tags", "team=edge"),
		kubetest.ServiceAnnotated("service.beta.kubernetes.io/aws-load-balancer-healthcheck-unhealthy-threshold", "5"),
		kubetest.ServiceAnnotated("service.beta.kubernetes.io/aws-load-balancer-target-group-attributes", "proxy_protocol_v2.enabled=true"))
	svc.Spec.Ports[1].NodePort = 31443

	return svc
}
