package lbname_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lbname"
)

func service(namespace, name, uid string) *v1.Service {
	return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}}
}

func TestByUID(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		uid    string
		want   string
	}{
		"UUID":  {"aws §8: 33 characters, the last is lost", "0f0e0d0c-1111-2222-3333-444455556666", "a0f0e0d0c11112222333344445555666"},
		"Short": {"short ones stay whole", "12-34", "a1234"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := lbname.ByUID(service("default", "web", tc.uid)); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestKubeService(t *testing.T) {
	t.Parallel()

	ascii := strings.Repeat("c", 300)
	cases := map[string]struct {
		reason  string
		cluster string
		want    string
	}{
		"Plain":  {"openstack §7.1", "kubernetes", "kube_service_kubernetes_default_web"},
		"Empty":  {"a cluster without a name", "", "kube_service__default_web"},
		"Under":  {"the cluster may have underscores", "my_cluster", "kube_service_my_cluster_default_web"},
		"Long":   {"openstack §7.1: cut to 255 bytes", ascii, "kube_service_" + ascii[:242]},
		"Fits":   {"255 bytes are not cut", ascii[:230], "kube_service_" + ascii[:230] + "_default_web"},
		"Bytes":  {"bytes, not characters: 121 of two bytes fit exactly", strings.Repeat("é", 200), "kube_service_" + strings.Repeat("é", 121)},
		"Split":  {"a character is not cut in two", "c" + strings.Repeat("é", 200), "kube_service_c" + strings.Repeat("é", 120)},
		"Split4": {"nor is one of four bytes", "c" + strings.Repeat("🙂", 200), "kube_service_c" + strings.Repeat("🙂", 60)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := lbname.KubeService(tc.cluster, service("default", "web", ""))
			if got != tc.want || len(got) > 255 || !utf8.ValidString(got) {
				t.Errorf("%s: got %d bytes: %q, want %q", tc.reason, len(got), got, tc.want)
			}
		})
	}
}

func FuzzCut(f *testing.F) {
	for _, name := range []string{"", "a", strings.Repeat("é", 128), strings.Repeat("a", 254) + "🙂", strings.Repeat("\x80", 300)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := lbname.Cut(name)
		if len(got) > lbname.MaxLength {
			t.Errorf("%d bytes", len(got))
		}
		if len(name) <= lbname.MaxLength && got != name {
			t.Errorf("%q was cut to %q", name, got)
		}
		if utf8.ValidString(name) {
			if !utf8.ValidString(got) || !strings.HasPrefix(name, got) {
				t.Errorf("%q was cut to %q", name, got)
			}
			if len(name) > lbname.MaxLength && len(got) <= lbname.MaxLength-utf8.UTFMax {
				t.Errorf("%d bytes were cut to %d", len(name), len(got))
			}
		}
	})
}
