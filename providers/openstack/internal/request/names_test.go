package request

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

func namesOf(cluster, namespace, name string) Names {
	return NewNames(cluster, kubetest.Service(namespace, name, kubetest.ServiceUID(testUID)))
}

// TestNames has the texts that existing load balancers are found by.
func TestNames(t *testing.T) {
	t.Parallel()
	n := namesOf("my_cluster", "shop", "web")
	addr := netip.MustParseAddr("10.0.0.1")
	for text, want := range map[string]string{
		n.LoadBalancer():             "kube_service_my_cluster_shop_web",
		n.Legacy():                   "a0b8e1f5a6c1d4b7e9a543f6a1c2d9e0",
		n.Part(PartListener, 0):      "listener_0_kube_service_my_cluster_shop_web",
		n.Part(PartPool, 1):          "pool_1_kube_service_my_cluster_shop_web",
		n.Part(PartMonitor, 12):      "monitor_12_kube_service_my_cluster_shop_web",
		n.Description():              "Kubernetes external service shop/web from cluster my_cluster",
		n.FloatingIPDescription():    "Floating IP for Kubernetes external service shop/web from cluster my_cluster",
		n.SecurityGroup():            "lb-sg-" + testUID + "-shop-web",
		n.SecurityGroupDescription(): "Security Group for shop/web Service LoadBalancer in cluster my_cluster",
		n.UIDTag():                   "multicloud-ccm.io/service-uid=" + testUID,
		Member{Target: Target{"node-1", addr}, Port: 30080}.Name(false): "node-1",
		Member{Target: Target{"node-1", addr}, Port: 30080}.Name(true):  "member_node-1_10.0.0.1_30080",
	} {
		if text != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
	if diff := cmp.Diff([]string{"kube_service_my_cluster_shop_web", n.UIDTag()}, n.Tags()); diff != "" {
		t.Error(diff)
	}
}

// TestLongNames proves that texts are cut to 255 bytes between two characters.
func TestLongNames(t *testing.T) {
	t.Parallel()
	n := namesOf(strings.Repeat("é", 200), "shop", "web")
	if got, want := n.LoadBalancer(), "kube_service_"+strings.Repeat("é", 121); got != want {
		t.Errorf("got %d bytes, %q", len(got), got)
	}
	if got, want := n.Part(PartListener, 0), "listener_0_kube_service_"+strings.Repeat("é", 115); got != want {
		t.Errorf("half a character: got %d bytes, %q", len(got), got)
	}
	ascii := namesOf(strings.Repeat("c", 300), "shop", "web")
	if got, want := ascii.Part(PartPool, 7), "pool_7_kube_service_"+strings.Repeat("c", 235); got != want {
		t.Errorf("got %d bytes, %q", len(got), got)
	}
	broken := namesOf("a\xffb", "shop", "web")
	if got := broken.LoadBalancer(); got != "kube_service_a\uFFFDb_shop_web" {
		t.Errorf("got %q", got)
	}
}

func TestIsPart(t *testing.T) {
	t.Parallel()
	n := namesOf("kube", "shop", "web")
	for name, want := range map[string]int{
		"listener_0_kube_service_kube_shop_web":    0,
		"listener_12_kube_service_kube_shop_web":   12,
		"listener_01_kube_service_kube_shop_web":   -1,
		"listener_-1_kube_service_kube_shop_web":   -1,
		"listener_+1_kube_service_kube_shop_web":   -1,
		"listener__kube_service_kube_shop_web":     -1,
		"pool_0_kube_service_kube_shop_web":        -1,
		"listener_0_kube_service_kube_shop_web2":   -1,
		"listener_0_kube_service_other_shop_web":   -1,
		"listener_0":                               -1,
		"0_kube_service_kube_shop_web":             -1,
		"":                                         -1,
		"my listener_0_kube_service_kube_shop_web": -1,
	} {
		index, ok := n.IsPart(PartListener, name)
		if ok != (want >= 0) || ok && index != want {
			t.Errorf("%q: got %d, %t", name, index, ok)
		}
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	n := namesOf("kube", "shop", "web")
	for description, want := range map[string]bool{
		n.FloatingIPDescription():                                           true,
		namesOf("other", "a", "b").FloatingIPDescription():                  true,
		namesOf(strings.Repeat("c", 300), "a", "b").FloatingIPDescription(): true,
		"Note: " + n.FloatingIPDescription():                                true,
		"floating IP for Kubernetes external service":                       false,
		"My floating IP": false,
		"":               false,
	} {
		if got := IsFloatingIPOfService(description); got != want {
			t.Errorf("%q: %t", description, got)
		}
	}
	tags := []string{"x", n.LoadBalancer(), "kube_service_", n.LoadBalancer(), n.UIDTag(), "my kube_service_a_b_c"}
	if diff := cmp.Diff([]string{"kube_service_", n.LoadBalancer()}, ServiceTags(tags)); diff != "" {
		t.Error(diff)
	}
	if got := UIDOf(tags); got != testUID {
		t.Errorf("got UID %q", got)
	}
	if got := UIDOf([]string{"service-uid=x"}); got != "" {
		t.Errorf("got UID %q", got)
	}
}

func TestRenamed(t *testing.T) {
	t.Parallel()
	n := namesOf("new", "shop", "web")
	long := strings.Repeat("c", 300)
	cases := map[string]struct {
		reason, name string
		want         bool
	}{
		"own":                    {"has its name", "kube_service_new_shop_web", false},
		"other cluster":          {"the cluster was renamed", "kube_service_old_shop_web", true},
		"underscores":            {"belong to the cluster", "kube_service_my_old_shop_web", true},
		"looks like a namespace": {"belongs to the cluster", "kube_service_shop_web_shop_web", true},
		"the prefix is its name": {"is not confused with it", "kube_service_kube_service_shop_web", true},
		"no cluster":             {"had an empty name", "kube_service__shop_web", true},
		"other service":          {"is not of this Service", "kube_service_old_shop_web2", false},
		"other namespace":        {"is not of this Service", "kube_service_old_ops_web", false},
		"end of a namespace":     {"is not of this Service", "kube_service_old_myshop_web", false},
		"no name":                {"is no name of a Service", "kube_service_shop_web", false},
		"other prefix":           {"is no name of a Service", "my_kube_service_old_shop_web", false},
		"legacy":                 {"has no cluster in it", n.Legacy(), false},
		"empty":                  {"is no name of a Service", "", false},
		"cut in the name":        {"is of this Service", cut("kube_service_" + long[:234] + "_shop_we"), true},
		"cut before the name":    {"could be of another one", cut("kube_service_" + long[:236] + "_shop_web"), false},
		"cut in the namespace":   {"could be of another one", cut("kube_service_" + long[:240] + "_shop_web"), false},
		"cut in the cluster":     {"could be of another one", cut("kube_service_" + long + "_shop_web"), false},
		"cut of another one":     {"is not of this Service", cut("kube_service_" + long[:234] + "_shop_wi"), false},
		"short, as if cut":       {"was not cut", "kube_service_old_shop_we", false},
		"too long":               {"no load balancer has such a name", "kube_service_" + long + "_shop_we", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replacement, ok := n.Renamed(tc.name)
			if ok != tc.want || ok && replacement != "kube_service_new_shop_web" {
				t.Errorf("%s: %q (%d bytes) becomes %q, %t", tc.reason, tc.name, len(tc.name), replacement, ok)
			}
		})
	}
}

func TestRenamedPart(t *testing.T) {
	t.Parallel()
	n := namesOf("new", "shop", "web")
	cases := map[string]struct{ reason, name, want string }{
		"own":             {"has its name", "listener_0_kube_service_new_shop_web", ""},
		"other cluster":   {"keeps its index", "listener_3_kube_service_old_shop_web", "listener_3_kube_service_new_shop_web"},
		"prefix in it":    {"is replaced as a whole", "listener_0_kube_service_kube_shop_web", "listener_0_kube_service_new_shop_web"},
		"other service":   {"is not of this Service", "listener_0_kube_service_old_shop_db", ""},
		"other part":      {"is no listener", "pool_0_kube_service_old_shop_web", ""},
		"no index":        {"was made by a user", "listener_kube_service_old_shop_web", ""},
		"bad index":       {"was made by a user", "listener_01_kube_service_old_shop_web", ""},
		"negative index":  {"was made by a user", "listener_-1_kube_service_old_shop_web", ""},
		"nothing else":    {"was made by a user", "listener_0", ""},
		"cut in the name": {"its own length counts", cut("listener_0_kube_service_" + strings.Repeat("c", 223) + "_shop_web"), "listener_0_kube_service_new_shop_web"},
		"empty":           {"was made by a user", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, ok := n.RenamedPart(PartListener, tc.name); got != tc.want || ok != (tc.want != "") {
				t.Errorf("%s: %q becomes %q, %t", tc.reason, tc.name, got, ok)
			}
		})
	}
}

// TestRenamedIn: in a load balancer with a name, nothing but that name is a former one.
func TestRenamedIn(t *testing.T) {
	t.Parallel()
	const wanted, old, second = "kube_service_new_shop_web", "kube_service_old_shop_web", "kube_service_second_shop_web"
	long := cut("kube_service_" + strings.Repeat("c", 234) + "_shop_web")
	cases := map[string]struct {
		reason, balancer, name string
		want                   bool
	}{
		"former":         {"the load balancer is renamed last", old, old, true},
		"second cluster": {"it shares the load balancer", wanted, second, false},
		"both":           {"it shares the load balancer", old, second, false},
		"named by users": {"the former name is not known", "mine", old, false},
		"no name":        {"the former name is not known", "", old, false},
		"cut":            {"parts are cut on their own", long, long, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := namesOf("new", "shop", "web").In(tc.balancer)
			if _, ok := n.Renamed(tc.name); ok != tc.want {
				t.Errorf("%s: %t, want %t", tc.reason, ok, tc.want)
			}
			if _, ok := n.RenamedPart(PartPool, part(PartPool, 3, tc.name)); ok != tc.want {
				t.Errorf("%s: part: %t, want %t", tc.reason, ok, tc.want)
			}
		})
	}
}

var genLabel = rapid.StringMatching(`[a-z]([-a-z0-9]{0,61}[a-z0-9])?`)

// TestRenamedIsStable proves that a new name is never replaced, and that no name of
// another Service is, whatever the clusters are called.
func TestRenamedIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cluster := rapid.StringN(0, 150, 200)
		n := namesOf(cluster.Draw(t, "cluster"), genLabel.Draw(t, "namespace"), genLabel.Draw(t, "name"))
		old := n
		old.Cluster = cluster.Draw(t, "old cluster")
		replacement, ok := n.Renamed(old.LoadBalancer())
		switch {
		case ok && replacement != n.LoadBalancer():
			t.Fatalf("%q becomes %q", old.LoadBalancer(), replacement)
		case !ok && old.LoadBalancer() != n.LoadBalancer() && len(old.LoadBalancer()) < longest-utf8.UTFMax:
			t.Fatalf("%q stays", old.LoadBalancer())
		}
		if _, again := n.Renamed(n.LoadBalancer()); again {
			t.Fatalf("%q is replaced again", n.LoadBalancer())
		}
		other := old
		other.Service = types.NamespacedName{Namespace: genLabel.Draw(t, "other namespace"), Name: genLabel.Draw(t, "other name")}
		if other.Service == n.Service || len(other.LoadBalancer()) > longest-utf8.UTFMax {
			return
		}
		if replacement, ok := n.Renamed(other.LoadBalancer()); ok {
			t.Fatalf("%q of %s becomes %q", other.LoadBalancer(), other.Service, replacement)
		}
	})
}

// TestTexts proves that each text can be sent, whatever the names are.
func TestTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		any := rapid.StringN(0, 200, 400)
		n := NewNames(any.Draw(t, "cluster"), &v1.Service{})
		n.Service, n.UID = types.NamespacedName{Namespace: any.Draw(t, "namespace"), Name: any.Draw(t, "name")}, types.UID(any.Draw(t, "uid"))
		member := Member{Target: Target{Node: any.Draw(t, "node"), Address: netip.IPv6Unspecified()}, Port: 65535}
		texts := []string{
			n.LoadBalancer(), n.Legacy(), n.Description(), n.FloatingIPDescription(), n.SecurityGroup(), n.SecurityGroupDescription(),
			n.Part(PartListener, 0), n.Part(PartPool, 99), n.Part(PartMonitor, 1000), member.Name(false), member.Name(true),
		}
		for _, text := range slices.Concat(texts, n.Tags()) {
			if len(text) > longest || !utf8.ValidString(text) {
				t.Fatalf("%d bytes: %q", len(text), text)
			}
		}
		if index, ok := n.IsPart(PartPool, n.Part(PartPool, 99)); !ok || index != 99 {
			t.Fatalf("%q is part %d, %t", n.Part(PartPool, 99), index, ok)
		}
		if !IsFloatingIPOfService(n.FloatingIPDescription()) {
			t.Fatalf("%q is not of a Service", n.FloatingIPDescription())
		}
	})
}

func FuzzRenamed(f *testing.F) {
	for _, name := range []string{"", "kube_service_a_shop_web", "listener_0_kube_service_a_shop_web", "listener_99999999999999999999_kube_service_a_shop_web"} {
		f.Add(name)
	}
	n := namesOf("new", "shop", "web")
	f.Fuzz(func(t *testing.T, name string) {
		if replacement, ok := n.Renamed(name); ok && (replacement == name || !strings.Contains(name, "_shop_w")) {
			t.Errorf("%q becomes %q", name, replacement)
		}
		for _, kind := range []Part{PartListener, PartPool, PartMonitor} {
			if replacement, ok := n.RenamedPart(kind, name); ok {
				if _, isPart := n.IsPart(kind, replacement); !isPart || replacement == name {
					t.Errorf("%q becomes %q", name, replacement)
				}
			}
		}
	})
}
