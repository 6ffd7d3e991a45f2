package network

import (
	"strings"
	"testing"

	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
)

func TestNamesOfTargetGroups(t *testing.T) {
	t.Parallel()
	group := TargetGroup{
		Protocol: "TCP", Port: 30080,
		HealthCheck: HealthCheck{Protocol: "TCP", Port: request.TrafficPort, Interval: 30},
	}
	for name, c := range map[string]struct {
		reason  string
		service apitypes.NamespacedName
		want    string
	}{
		"vector": {
			reason:  "AWS-TG-1: existing target groups are found by it",
			service: apitypes.NamespacedName{Namespace: "default", Name: "web"}, want: "k8s-default-web-96c77b45aa",
		},
		"cut": {
			reason:  "eight letters and digits of each",
			service: apitypes.NamespacedName{Namespace: "team-a-production", Name: "web-0.frontend"},
			want:    "k8s-teamapro-web0fron-",
		},
		"short": {
			reason:  "dashes do not count",
			service: apitypes.NamespacedName{Namespace: "a-b", Name: "c-d"}, want: "k8s-ab-cd-",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := targetGroupName(cluster.ID{Name: clusterID}, c.service, 80, group)
			if !strings.HasPrefix(got, c.want) || len(got) > 32 {
				t.Errorf("name is %s, want %s: %s", got, c.want, c.reason)
			}
			if !strings.HasPrefix(got, request.NamePrefix(c.service)) {
				t.Errorf("name %s does not begin with %s", got, request.NamePrefix(c.service))
			}
			if spare := spareName(cluster.ID{Name: clusterID}, c.service, 80, group); spare == got || len(spare) != len(got) {
				t.Errorf("spare name %s beside %s", spare, got)
			}
		})
	}
}
