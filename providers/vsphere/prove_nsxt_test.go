package vsphere

import (
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider/providertest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/vspheretest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// VS-NSXT-9: a proof finds what load balancers and routes name in NSX-T. A manager that does not respond is named, since
// Nodes do not need it.
func TestProveNSXT(t *testing.T) {
	t.Parallel()
	const (
		balancing = "[LoadBalancer]\nsize = SMALL\ntier1-gateway-path = /infra/tier-1s/t1\nip-pool-name = pool\ntcp-app-profile-name = default-tcp-lb-app-profile\n" +
			"udp-app-profile-path = /infra/lb-app-profiles/default-udp-lb-app-profile\npersistence-profile-path = /infra/lb-persistence-profiles/source-ip\n"
		class = "[LoadBalancerClass \"c\"]\nip-pool-id = pool\n"
	)
	cases := map[string]struct {
		proof  providertest.Proof
		change [2]string
		fault  func(*vspheretest.Manager)
	}{
		"Right":         {proof: providertest.Proof{Reason: "everything is there", Scope: "; NSX-T "}},
		"WrongPassword": {proof: providertest.Proof{Reason: "the manager refuses it", Err: "403 error code 403"}, change: [2]string{"password = secret", "password = wr0ng"}},
		"Secret":        {proof: providertest.Proof{Reason: "there is no cluster to read it from", Err: "no cluster is given"}, change: [2]string{"user = admin", "secret-name = s\nsecret-namespace = n\nuser = admin"}},
		"NoGateway":     {proof: providertest.Proof{Reason: "of load balancers", Err: "/infra/tier-1s/t2"}, change: [2]string{"tier1-gateway-path = /infra/tier-1s/t1", "tier1-gateway-path = /infra/tier-1s/t2"}},
		"NoRouter":      {proof: providertest.Proof{Reason: "of routes", Err: "/infra/tier-1s/t2"}, change: [2]string{"router-path = /infra/tier-1s/t1", "router-path = /infra/tier-1s/t2"}},
		"NoLBService":   {proof: providertest.Proof{Reason: "by its ID", Err: "/infra/lb-services/lbs"}, change: [2]string{"size = SMALL", "lb-service-id = lbs"}},
		"NoPool":        {proof: providertest.Proof{Reason: "by its name", Err: "load balancer class c: load balancer IP pool named nope not found"}, change: [2]string{"ip-pool-id = pool", "ip-pool-name = nope"}},
		"NoPoolID":      {proof: providertest.Proof{Reason: "by its ID", Err: "/infra/ip-pools/nope"}, change: [2]string{"ip-pool-id = pool", "ip-pool-id = nope"}},
		"NoTCPProfile":  {proof: providertest.Proof{Reason: "by its name", Err: "class default: load balancer application profile LBFastTcpProfile named nope not found"}, change: [2]string{"default-tcp-lb-app-profile", "nope"}},
		"NoUDPProfile":  {proof: providertest.Proof{Reason: "by its path", Err: "/infra/lb-app-profiles/nope"}, change: [2]string{"default-udp-lb-app-profile", "nope"}},
		"NoPersistence": {proof: providertest.Proof{Reason: "by its path", Err: "/infra/lb-persistence-profiles/nope"}, change: [2]string{"source-ip", "nope"}},
		"GatewayDenied": {proof: providertest.Proof{Reason: "it can be used without the right to read it", Scope: "; NSX-T "}, fault: denied("GetTier1")},
		"PoolsDenied":   {proof: providertest.Proof{Reason: "a name needs the right to list pools", Err: "/infra/ip-pools"}, fault: denied("ListIPPools")},
		"RoutesDenied":  {proof: providertest.Proof{Reason: "the right to list routes is missing", Err: "static-routes"}, fault: denied("ListStaticRoutes")},
		"Down":          {proof: providertest.Proof{Reason: "Nodes do not need it", Scope: "which is not proven ("}, fault: func(m *vspheretest.Manager) { m.Server().Down() }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vc, nodes := newProofCloud(t, "vc")
			manager := vspheretest.StartManager(t, nsxt.Spec{Pools: []nsxt.Pool{{ID: "pool", Ranges: []string{"203.0.113.1-203.0.113.9"}}}, Profiles: []nsxt.Profile{{Path: "/infra/lb-persistence-profiles/source-ip", Type: "LBSourceIpPersistenceProfile"}}})
			text := strings.Replace(balancing+class+routeSection+manager.Section(t), tc.change[0], tc.change[1], 1)
			if tc.fault != nil {
				tc.fault(manager)
			}
			times := quick
			times.nsxt.Dial, times.nsxtLogins = manager.Dial, login.NewGuard(nsx.LoginLimits(), clock.RealClock{})
			times.session.LoginGuard = login.NewGuard(login.DefaultLimits(), clock.RealClock{})
			p := tc.proof
			p.Text, p.Nodes, p.Prove, p.Identity = configOf(vc)+text, nodes, provingWith(times), "user"
			if p.Err == "" {
				p.Found, p.Missing = 2, []string{"node-gone"}
			}
			p.Changes = func() []string {
				if n := manager.Writes(); n > 0 {
					t.Errorf("%d writes to the manager", n)
				}

				return left(vc)
			}
			p.Check(t)
			if n := manager.RefusedLogins("admin"); n > 1 {
				t.Errorf("%d refused logins", n)
			}
		})
	}
}

// denied refuses calls for lack of a right.
func denied(operation string) func(*vspheretest.Manager) {
	return func(m *vspheretest.Manager) {
		m.Interceptor().Inject(operation, simserver.Always(), nsxt.Fault(403, 289))
	}
}
