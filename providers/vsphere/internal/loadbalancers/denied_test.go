package loadbalancers_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/tlsfiles"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/loadbalancers"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/vspheretest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// deletions returns how many calls delete something.
func (f *fixture) deletions() (n int) {
	for op, count := range f.Interceptor().Calls() {
		if strings.HasPrefix(op, "Delete") {
			n += count
		}
	}

	return n
}

// TestLicense (VS-LB-6): a manager without a license for load balancers is the error of each sync, which has the codes. It is no
// refused login, and deletes nothing. With a license, the next sync goes on with what there is.
func TestLicense(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"PutIPAllocation", "PutLBMonitor", "PutLBPool", "PutLBService", "PutLBVirtualServer"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			simulate(t, options{settings: managed(vspheretest.Tier1, "SMALL")}, func(f *fixture) {
				f.Interceptor().Inject(op, simserver.Always(), nsxt.Fault(http.StatusForbidden, 505))
				svc := service("web")
				var created []string
				for i := range 6 { // more often than an account may fail to log in
					err := f.ensure(svc, node(1))
					if !errors.Is(err, nsx.ErrLicense) || !strings.Contains(err.Error(), ": 403 error code 505: ") || apierr.Has[*api.RetryError](err) {
						f.Errorf("got %v", err)
					}
					if i == 0 {
						created = f.Resources()
					}
					time.Sleep(time.Minute)
				}
				if diff := cmp.Diff(created, f.Resources()); diff != "" || f.deletions() > 0 {
					f.Errorf("%d deletions, after the first sync and later (-want +got):\n%s", f.deletions(), diff)
				}
				f.noEvents("the service controller records the error")
				f.Interceptor().Clear()
				f.must(f.ensure(svc, node(1)))
				f.only("IpAddressAllocation")
				f.must(f.remove(svc))
				if diff := cmp.Diff([]string{}, f.Leaks()); diff != "" {
					f.Errorf("left (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestLicenseEnds (VS-LB-6): without a license any more, a load balancer stays as it is, with its address, until it can be
// changed and deleted again.
func TestLicenseEnds(t *testing.T) {
	t.Parallel()
	simulate(t, options{settings: managed(vspheretest.Tier1, "SMALL")}, func(f *fixture) {
		svc := service("web")
		f.must(f.ensure(svc, node(1)))
		want := f.Resources()
		for _, kind := range []string{"LBVirtualServer", "LBPool", "LBMonitor", "LBService"} {
			f.Interceptor().Inject("Put"+kind, simserver.Always(), nsxt.Fault(http.StatusForbidden, 505))
			f.Interceptor().Inject("Delete"+kind, simserver.Always(), nsxt.Fault(http.StatusForbidden, 505))
		}
		for what, err := range map[string]error{
			"a sync": f.ensure(svc, node(1), node(2)), "an update": f.lbs.UpdateLoadBalancer(f.Context(), "east", svc, []*v1.Node{node(2)}), "a deletion": f.remove(svc),
		} {
			if !errors.Is(err, nsx.ErrLicense) {
				f.Errorf("%s: %v", what, err)
			}
		}
		if diff := cmp.Diff(want, f.Resources()); diff != "" {
			f.Errorf("-want +got:\n%s", diff)
		}
		f.Interceptor().Clear()
		f.must(f.ensure(svc, node(1), node(2)))
		f.must(f.remove(svc))
		if diff := cmp.Diff([]string{}, f.Leaks()); diff != "" {
			f.Errorf("left (-want +got):\n%s", diff)
		}
	})
}

// asPrincipal has load balancers of the cluster served with the certificate of a principal identity.
func (f *fixture) asPrincipal(principal nsxt.Principal, serve func(*loadbalancers.LoadBalancers)) {
	f.Helper()
	directory := f.TempDir()
	files := tlsfiles.Files{CAPEM: string(f.CertificatePEM()), CertFile: filepath.Join(directory, "cert"), KeyFile: filepath.Join(directory, "key")}
	f.must(os.WriteFile(files.CertFile, principal.CertificatePEM, 0o600))
	f.must(os.WriteFile(files.KeyFile, principal.KeyPEM, 0o600))
	client, err := nsx.New(nsx.Config{Host: f.Host(), TLS: files, Auth: nsx.Certificate{}}, nsx.Options{Dial: f.Dial})
	f.must(err)
	serve(loadbalancers.New(loadbalancers.Config{Settings: f.settings}, client))
	f.must(client.Close(f.Context()))
}

// TestProtected (VS-LB-6): objects that a principal identity has created are closed to the account of a password. The error names
// both, and the address stays allocated as long as a virtual server has it. The principal identity deletes them.
func TestProtected(t *testing.T) {
	t.Parallel()
	principal, err := nsxt.NewPrincipal("ccm-certificate")
	if err != nil {
		t.Fatal(err)
	}
	simulate(t, options{spec: nsxt.Spec{Principals: []nsxt.Principal{principal}}, settings: managed(vspheretest.Tier1, "SMALL")}, func(f *fixture) {
		svc := service("web")
		svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
		f.asPrincipal(principal, func(lbs *loadbalancers.LoadBalancers) {
			status, err := lbs.EnsureLoadBalancer(f.Context(), "east", svc, []*v1.Node{node(1)})
			f.must(err)
			svc.Status.LoadBalancer = *status
		})
		time.Sleep(6 * time.Minute)
		created := f.Resources()
		f.must(f.ensure(svc, node(1)))
		if f.Interceptor().Count("PutLBPool") != 1 {
			f.Error("a load balancer that is as it should be is written")
		}
		changed := svc.DeepCopy()
		changed.Spec.Ports[0].NodePort, changed.Spec.LoadBalancerSourceRanges = 31000, []string{"198.51.100.0/24"}
		for what, err := range map[string]error{
			"a Node":     f.lbs.UpdateLoadBalancer(f.Context(), "east", svc, []*v1.Node{node(1), node(2)}),
			"a change":   f.ensure(changed, node(1)),
			"a deletion": f.remove(svc),
		} {
			for _, want := range []string{": 403 error code 289: Principal 'admin' ", "(created by ccm-certificate, protection REQUIRE_OVERRIDE)"} {
				if !errors.Is(err, apierr.ErrDenied) || errors.Is(err, nsx.ErrLogin) || !strings.Contains(err.Error(), want) {
					f.Errorf("%s: got %v, want %s", what, err, want)
				}
			}
		}
		if diff := cmp.Diff(created, f.Resources()); diff != "" {
			f.Errorf("-want +got:\n%s", diff)
		}
		f.asPrincipal(principal, func(lbs *loadbalancers.LoadBalancers) {
			f.must(lbs.EnsureLoadBalancerDeleted(f.Context(), "east", svc))
		})
		if diff := cmp.Diff([]string{}, f.Leaks()); diff != "" {
			f.Errorf("left (-want +got):\n%s", diff)
		}
	})
}

// TestProtectedPart (VS-LB-6): one object of a principal identity keeps what is deleted after it, and the address, until it is gone.
func TestProtectedPart(t *testing.T) {
	t.Parallel()
	types := []string{"LBVirtualServer", "LBPool", "LBTcpMonitorProfile", "Group", "LBService", "IpAddressAllocation"} // as they are deleted
	for i, resourceType := range types {
		t.Run(resourceType, func(t *testing.T) {
			t.Parallel()
			simulate(t, options{settings: managed(vspheretest.Tier1, "SMALL")}, func(f *fixture) {
				svc := service("web")
				svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
				f.must(f.ensure(svc, node(1)))
				path := f.only(resourceType)
				f.must(f.Protect(path, "other"))
				for range 2 {
					if err := f.remove(svc); err == nil || !strings.Contains(err.Error(), path+": 403 error code 289: ") || !strings.Contains(err.Error(), "(created by admin, protection ") {
						f.Errorf("got %v", err)
					}
					for _, left := range types[i:] {
						f.only(left)
					}
					time.Sleep(6 * time.Minute)
				}
				f.must(f.Delete(path))
				f.must(f.remove(svc))
				left := slices.DeleteFunc(f.Leaks(), func(line string) bool { return line == "lost "+path })
				if diff := cmp.Diff([]string{}, left); diff != "" {
					f.Errorf("left (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestGroupAtLogin (VS-LB-6): a group whose read is refused with the login is not gone, and is deleted once the login succeeds.
func TestGroupAtLogin(t *testing.T) {
	t.Parallel()
	principal, err := nsxt.NewPrincipal("ccm-certificate")
	if err != nil {
		t.Fatal(err)
	}
	simulate(t, options{spec: nsxt.Spec{Principals: []nsxt.Principal{principal}}}, func(f *fixture) {
		f.asPrincipal(principal, func(lbs *loadbalancers.LoadBalancers) {
			svc := service("web")
			svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
			_, err := lbs.EnsureLoadBalancer(f.Context(), "east", svc, []*v1.Node{node(1)})
			f.must(err)
			time.Sleep(6 * time.Minute)
			f.Interceptor().Inject("GetGroup", simserver.Nth(1), nsxt.Fault(http.StatusInternalServerError, 99))
			if err := lbs.EnsureLoadBalancerDeleted(f.Context(), "east", svc); !errors.Is(err, nsx.ErrLogin) || f.deletions() > 0 {
				f.Errorf("%d deletions, error %v", f.deletions(), err)
			}
			f.must(lbs.EnsureLoadBalancerDeleted(f.Context(), "east", svc))
		})
		if diff := cmp.Diff([]string{}, f.Leaks()); diff != "" {
			f.Errorf("left (-want +got):\n%s", diff)
		}
	})
}
