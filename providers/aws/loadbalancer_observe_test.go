package aws

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
)

func TestKindOfHost(t *testing.T) {
	t.Parallel()
	for host, test := range map[string]struct {
		region string
		want   request.Kind
	}{
		"web-1.us-west-2.elb.amazonaws.com":          {"us-west-2", request.Classic},
		"web-1.cn-north-1.elb.amazonaws.com.cn":      {"cn-north-1", request.Classic},
		"web-1.us-iso-east-1.elb.c2s.ic.gov":         {"us-iso-east-1", request.Classic},
		"internal-web-1.us-isob-east-1.elb.sc2s.gov": {"us-isob-east-1", request.Classic},
		"web-1.eusc-de-east-1.elb.amazonaws.eu":      {"eusc-de-east-1", request.Classic},
		"web-1.elb.us-west-2.amazonaws.com":          {"us-west-2", request.Network},
		"web-1.elb.cn-north-1.amazonaws.com.cn":      {"cn-north-1", request.Network},
		"web-1.elb.us-iso-east-1.c2s.ic.gov":         {"us-iso-east-1", request.Network},
		"web-1.elb.eusc-de-east-1.amazonaws.eu":      {"eusc-de-east-1", request.Network},
		"web-1.eu-central-1.elb.amazonaws.com":       {"us-west-2", ""},
		"web.example.com":                            {"us-west-2", ""},
	} {
		if got := kindOfHost(host, test.region); got != test.want {
			t.Errorf("%s is %q, want %q", host, got, test.want)
		}
	}
}
