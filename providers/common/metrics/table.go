package metrics

import (
	"fmt"
	"slices"
	"strings"
)

// Type is the type of a metric.
type Type string

// The types in use.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Metric describes one metric, for registering it and for the reference page.
type Metric struct {
	Name   string
	Type   Type
	Labels []string
	Help   string
}

var (
	requests = Metric{
		"multicloud_ccm_cloud_requests_total", Counter,
		[]string{"provider", "service", "operation", "code"},
		"Requests to the cloud that have ended, by what came of them.",
	}
	duration = Metric{
		"multicloud_ccm_cloud_request_duration_seconds", Histogram,
		[]string{"provider", "service", "operation"},
		"How long requests to the cloud took.",
	}
	throttled = Metric{
		"multicloud_ccm_cloud_requests_throttled_total", Counter,
		[]string{"provider", "service", "operation"},
		"Requests that the cloud refused because there were too many.",
	}
	inFlight = Metric{
		"multicloud_ccm_cloud_requests_in_flight", Gauge,
		[]string{"provider", "service"},
		"Requests to the cloud that are waiting for an answer now.",
	}
	lastSuccess = Metric{
		"multicloud_ccm_last_success_timestamp_seconds", Gauge,
		[]string{"provider"},
		"When the cloud last gave a useful answer, in seconds since 1970.",
	}
	snapshotAge = Metric{
		"multicloud_ccm_snapshot_age_seconds", Gauge,
		[]string{"provider", "source"},
		"Age of what is known from a list or change feed of the cloud. It grows while the source is silent, from the start if it never spoke.",
	}
	snapshotRequests = Metric{
		"multicloud_ccm_snapshot_requests_total", Counter,
		[]string{"provider", "source", "outcome"},
		"Questions answered from memory (hit), by a request of another caller (shared) or by one of their own (miss).",
	}
	connected = Metric{
		"multicloud_ccm_connected", Gauge,
		[]string{"provider", "endpoint"},
		"1 while there is a working connection to the endpoint, otherwise 0.",
	}
	sessions = Metric{
		"multicloud_ccm_sessions", Gauge,
		[]string{"provider", "endpoint"},
		"Sessions that are open at the endpoint.",
	}
	logins = Metric{
		"multicloud_ccm_logins_total", Counter,
		[]string{"provider", "endpoint", "code"},
		"Attempts to log in at the endpoint, by what came of them.",
	}
	configInvalid = Metric{
		"multicloud_ccm_config_file_invalid", Gauge,
		[]string{"provider"},
		"1 while the cloud-config file has changed to something that this process refuses, otherwise 0.",
	}
	nodeInstanceFound = Metric{
		"multicloud_ccm_node_instance_found", Gauge,
		[]string{"provider"},
		"1 once the instance of at least one Node was found by its ID, otherwise 0. While it is 0, a missing instance deletes no Node: the region, account or server may be the wrong one. Only the leader reports it.",
	}
	planSteps = Metric{
		"multicloud_ccm_plan_steps_total", Counter,
		[]string{"provider", "kind", "code"},
		"Steps of plans that have run, each a write to the cloud, by what came of them.",
	}
)

// All lists the metrics of this package, by name.
func All() []Metric {
	all := []Metric{
		requests, duration, throttled, inFlight, lastSuccess,
		snapshotAge, snapshotRequests, connected, sessions, logins, configInvalid, nodeInstanceFound, planSteps,
	}
	slices.SortFunc(all, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })

	return all
}

// Reference is a table of metrics in Markdown.
func Reference(metrics []Metric) string {
	var b strings.Builder
	b.WriteString("| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n")
	for _, m := range metrics {
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", m.Name, m.Type, strings.Join(m.Labels, "`, `"), m.Help)
	}

	return b.String()
}
