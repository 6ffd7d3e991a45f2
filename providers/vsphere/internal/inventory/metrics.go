package inventory

import (
	kmetrics "k8s.io/component-base/metrics"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

var corrections = metrics.Metric{
	Name: "multicloud_ccm_vsphere_inventory_corrections_total", Type: metrics.Counter, Labels: []string{"vcenter"},
	Help: "VMs and related objects that differed from the reports of the change feed when the whole inventory was read again, " +
		"once an hour. Includes objects that change during that time.",
}

// AllMetrics lists the metrics of this package, by name.
func AllMetrics() []metrics.Metric { return []metrics.Metric{corrections} }

// Metrics counts what all inventories of the process correct.
type Metrics struct {
	corrections *kmetrics.CounterVec
}

// NewMetrics returns metrics that count once they are registered.
func NewMetrics() *Metrics { return &Metrics{corrections: metrics.NewCounter(corrections)} }

// Register adds the metrics to a registry, such as that of legacyregistry.
func (m *Metrics) Register(mustRegister func(...kmetrics.Registerable)) { mustRegister(m.corrections) }

// Corrected returns the function that counts the corrections of one vCenter.
func (m *Metrics) Corrected(vcenter string) func(objects int) {
	counter := m.corrections.WithLabelValues(vcenter)

	return func(objects int) { counter.Add(float64(objects)) }
}
