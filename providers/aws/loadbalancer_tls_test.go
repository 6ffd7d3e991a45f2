package aws

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
)

// AWS-NLB-4: a listener that becomes a TLS one gets a security policy, which AWS
// demands.
func TestListenerBecomesTLS(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]string{"without the annotation": "", "with it": "ELBSecurityPolicy-TLS13-1-2-2021-06"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			svc := web(nlb())
			b.ensure(svc)
			annotate(request.AnnotationSSLCert, "arn:aws:acm:us-west-2:123456789012:certificate/0f0e0d0c-1111-2222-3333-444455556666")(svc)
			annotate(request.AnnotationSSLPorts, "443")(svc)
			if policy != "" {
				annotate(request.AnnotationSSLPolicy, policy)(svc)
			}
			b.ensure(svc)
			n, _ := b.Network(webName)
			want := map[int32]string{80: "TCP ", 443: "TLS ELBSecurityPolicy-2016-08"}
			if policy != "" {
				want[443] = "TLS " + policy
			}
			got := map[int32]string{}
			for _, l := range n.Listeners {
				got[l.Port] = l.Protocol + " " + l.Policy
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("listeners: -want +got\n%s", diff)
			}
			b.unchanged(svc)
		})
	}
}
