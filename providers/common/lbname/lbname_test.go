package lbname_test

import (
	"testing"

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
		"UUID":  {"AWS-LB-3: of 33 characters, the last is lost", "0f0e0d0c-1111-2222-3333-444455556666", "a0f0e0d0c11112222333344445555666"},
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
