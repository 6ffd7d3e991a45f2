package request_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
)

// TestNames holds examples of AWS-SG-3, names that existing clusters use.
func TestNames(t *testing.T) {
	t.Parallel()

	web := types.NamespacedName{Namespace: "default", Name: "web"}
	cases := map[string]struct{ reason, got, want string }{
		"NetworkGroup": {
			reason: "vector of managed security groups",
			got:    request.NetworkGroupName("kubernetes", web, "0f0e0d0c-1111-2222-3333-444455556666"),
			want:   "k8s-default-web-050727a58f",
		},
		"ClassicGroup": {
			reason: "name of the security group of a classic load balancer",
			got:    request.ClassicGroupName("a0f0e0d0c11112222333344445555666"),
			want:   "k8s-elb-a0f0e0d0c11112222333344445555666",
		},
		"LettersAndDigits": {
			reason: "only letters and digits, eight of each",
			got:    request.NetworkGroupName("c", types.NamespacedName{Namespace: "kube-system-extra", Name: "a.b_c-d"}, "u")[:18],
			want:   "k8s-kubesyst-abcd-",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if tc.got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, tc.got, tc.want)
			}
		})
	}
}
