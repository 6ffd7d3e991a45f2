package nodes

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
)

func TestMain(m *testing.M) { awstest.Main(m) }

// sourceIn returns a source that finds the instances of a region.
func sourceIn(t testing.TB, r *awstest.Region, cfg Config, calls client.Tuning) *Source {
	t.Helper()
	api := r.Connect(t, client.Options{Tuning: calls}).EC2
	known := inventory.New(api, inventory.Config{Cluster: cluster.ID{Name: awstest.ClusterID}, VPC: r.Cluster.VPC})
	cfg.Region = r.Region()

	return New(cfg, api, known, vpc.NewZones(api))
}
