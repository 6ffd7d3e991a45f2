package octavia_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// The operations of the request log.
const (
	opCreate         = "octavia.CreateLoadBalancer"
	opCreateListener = "octavia.CreateListener"
	opUpdateListener = "octavia.UpdateListener"
	opDeleteListener = "octavia.DeleteListener"
	opCreatePool     = "octavia.CreatePool"
	opMembers        = "octavia.UpdateMembers"
	opCreateMember   = "octavia.CreateMember"
	opDeleteMember   = "octavia.DeleteMember"
	opCreateMonitor  = "octavia.CreateHealthMonitor"
)

// OS-LB-26: providers that need it get one part after the other, and one member after the
// other.
//
// No read is stale: a wait that ends early repeats a call.
func TestCreateSerially(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{StaleReads: new(openstack.StaleReads)}, func(f *writeFixture) {
		f.serial = true
		svc := web(with(request.AnnotationEnableHealthMonitor, "true"), with(request.AnnotationHealthMonitorDelay, "5"),
			with(request.AnnotationHealthMonitorTimeout, "3"), with(request.AnnotationHealthMonitorMaxRetries, "1"), with(request.AnnotationHealthMonitorMaxRetriesDown, "3"))
		f.ensure(svc)
		if body := string(f.Requests(opCreate)[0].Body); strings.Contains(body, "listeners") {
			t.Errorf("it is not created empty: %s", body)
		}
		for op, want := range map[string]int{opCreateListener: 2, opCreatePool: 2, opCreateMonitor: 2, opCreateMember: 6, opMembers: 0} {
			f.sent("one by one", op, want)
		}
		if body := string(f.Requests(opCreateMember)[0].Body); !strings.Contains(body, `"member_node-1_10.0.0.101_30080"`) {
			t.Errorf("name of a member that is written alone: %s", body)
		}
		f.unchanged("it is complete", svc)
		f.serves("all members", "TCP", 80, "10.0.0.101:30080", "10.0.0.102:30080", "10.0.0.103:30080")

		f.Interceptor().Reset()
		f.addNodes(2, 3, 4)
		f.ensure(svc)
		f.sent("a Node for each port", opCreateMember, 2)
		f.sent("a Node for each port", opDeleteMember, 2)
		f.sent("never all at once", opMembers, 0)
		f.unchanged("the Nodes have changed", svc)
	})
}

// OS-LB-4, OS-LB-12: what Octavia refuses in the request for everything costs only itself
// where that is possible.
func TestCreateRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason  string
		options openstack.Options
		prepare func(f *writeFixture)
		svc     *v1.Service
		// creations are the requests for a load balancer, made is how many there are then.
		creations, made int
		warnings        []service.Reason
		err             error
		text            string
		// serves are the members of TCP/80 after it.
		serves []string
	}{
		"the response is lost": {
			reason: "the load balancer may be there, and is found by its name", svc: web(),
			prepare: func(f *writeFixture) {
				f.Interceptor().Inject(opCreate, simserver.Always(), openstack.ProxyAfter(504))
			},
			creations: 1, made: 1, err: apierr.ErrUnavailable, serves: []string{"10.0.0.101:30080", "10.0.0.102:30080", "10.0.0.103:30080"},
		},
		"an internal error": {
			reason: "it is not known what was done", svc: web(),
			prepare: func(f *writeFixture) {
				f.Interceptor().Inject(opCreate, simserver.Always(), openstack.Error(500, "", "IpAddressGenerationFailureClient"))
			},
			creations: 1, err: apierr.ErrUnavailable,
		},
		"a quota for load balancers": {
			reason: "no part is to blame", svc: web(), options: openstack.Options{Quotas: openstack.Quotas{LoadBalancers: 1}},
			prepare: func(f *writeFixture) { f.AddLoadBalancer(openstack.LoadBalancerSpec{Name: "other", Subnet: f.subnet}) },
			// One is that of a user.
			creations: 1, made: 1, err: apierr.ErrQuota, warnings: []service.Reason{change.QuotaExceeded}, text: "Quota has been met",
		},
		"a quota for listeners": {
			reason: "the ports that fit are served", svc: web(), options: openstack.Options{Quotas: openstack.Quotas{Listeners: 1}},
			creations: 2, made: 1, err: apierr.ErrQuota, warnings: []service.Reason{change.QuotaExceeded},
			serves: []string{"10.0.0.101:30080", "10.0.0.102:30080", "10.0.0.103:30080"},
		},
		"a quota for members": {
			reason: "the members that fit are there", svc: web(kubetest.Port(v1.ProtocolTCP, 80)), options: openstack.Options{Quotas: openstack.Quotas{Members: 2}},
			creations: 2, made: 1, warnings: []service.Reason{change.QuotaExceeded}, serves: []string{"10.0.0.101:30080", "10.0.0.102:30080"},
		},
		"something unknown": {
			reason: "the parts are created one by one", svc: web(),
			prepare: func(f *writeFixture) {
				f.Interceptor().Inject(opCreate, simserver.Nth(1), openstack.Error(400, "", "Validation failure: too complicated"))
			},
			creations: 2, made: 1, serves: []string{"10.0.0.101:30080", "10.0.0.102:30080", "10.0.0.103:30080"},
		},
		"an option": {
			reason: "a provider that is not known lacks allowed CIDRs", options: openstack.Options{Profile: openstack.OVN},
			prepare: func(f *writeFixture) { f.provider = "" },
			svc:     web(with(request.AnnotationLBMethod, features.SourceIPAndPort)), creations: 2, made: 1,
			err: apierr.ErrInvalid, text: "allowed_cidrs",
		},
		"an algorithm": {
			reason: "no pool can have it", options: openstack.Options{Profile: openstack.OVN}, svc: web(with(request.AnnotationLBMethod, "ROUND_ROBIN")),
			creations: 2, made: 1, err: apierr.ErrInvalid, text: "algorithm",
		},
		"the subnet of the VIP": {
			reason: "it is refused without parts, too", svc: web(),
			prepare:   func(f *writeFixture) { f.SetVIPRules(openstack.VIPRules{NoSubnet: true}) },
			creations: 2, err: apierr.ErrInvalid, text: "vip_subnet_id",
		},
		"it ends in ERROR": {
			reason: "nothing else is tried", svc: web(),
			prepare:   func(f *writeFixture) { f.FailCreations("", 1) },
			creations: 1, made: 1, err: pending.ErrFailed, text: "ERROR",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, c.options, func(f *writeFixture) {
				if c.prepare != nil {
					c.prepare(f)
				}
				warnings, err := f.try(c.svc)
				f.warned(c.reason, warnings, c.warnings...)
				f.fails(c.reason, err, c.err, c.text)
				f.sent(c.reason, opCreate, c.creations)
				all := f.LoadBalancers()
				if len(all) != c.made {
					t.Errorf("%s: there are %d load balancers, want %d", c.reason, len(all), c.made)
				}
				if c.serves != nil {
					f.lb = all[0].ID
					f.serves(c.reason, "TCP", 80, c.serves...)
				}
			})
		})
	}
}

// fails checks an error.
func (f *writeFixture) fails(reason string, err, want error, text string) {
	f.t.Helper()
	switch {
	case want == nil && err != nil:
		f.t.Errorf("%s: error %v", reason, err)
	case want != nil && (err == nil || !isError(err, want) || !strings.Contains(err.Error(), text)):
		f.t.Errorf("%s: error %v, want one that means %v and has %q", reason, err, want, text)
	}
}

// OS-LB-23: a certificate that Octavia cannot read costs the ports that use it.
func TestCreateWithRefusedCertificate(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		svc := web(with(request.AnnotationTLSContainerRef, f.AddSecret(openstack.SecretSpec{Name: "hidden", NotForOctavia: true})))
		warnings, err := f.try(svc)
		f.warned("the error is enough", warnings)
		f.fails("the certificate", err, apierr.ErrInvalid, "Could not retrieve certificate")
		f.serves("the other port", "UDP", 53, "10.0.0.101:30053", "10.0.0.102:30053", "10.0.0.103:30053")
		f.serves("the port with the certificate", "TCP", 80)

		delete(svc.Annotations, string(request.AnnotationTLSContainerRef))
		f.ensure(svc)
		f.serves("without the certificate", "TCP", 80, "10.0.0.101:30080", "10.0.0.102:30080", "10.0.0.103:30080")
		f.unchanged("it is complete", svc)
	})
}
