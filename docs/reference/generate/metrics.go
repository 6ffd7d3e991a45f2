package main

import (
	"fmt"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/all"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// metricsPage lists every metric of ours.
func metricsPage(*library) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Every provider\n\n%s", metrics.Reference(metrics.All()))
	fmt.Fprintf(&b, "\nValues of `code`: `%s`.\n", strings.Join(apierr.Codes(), "`, `"))
	for _, d := range all.Descriptors() {
		if len(d.Reference.Metrics) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n%s", d.Summary, metrics.Reference(d.Reference.Metrics))
		}
	}

	return b.String(), nil
}
