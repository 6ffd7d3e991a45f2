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
		"Completed requests to the cloud, by result.",
	}
	duration = Metric{
		"multicloud_ccm_cloud_request_duration_seconds", Histogram,
		[]string{"provider", "service", "operation"},
		"Duration of requests to the cloud.",
	}
	throttled = Metric{
		"multicloud_ccm_cloud_requests_throttled_total", Counter,
		[]string{"provider", "service", "operation"},
		"Requests that the cloud throttled, those that were repeated included.",
	}
	inFlight = Metric{
		"multicloud_ccm_cloud_requests_in_flight", Gauge,
		[]string{"provider", "service"},
		"Requests to the cloud that are in flight.",
	}
	lastSuccess = Metric{
		"multicloud_ccm_last_success_timestamp_seconds", Gauge,
		[]string{"provider"},
		"Time of the last response of the cloud that succeeded or reported that an object does not exist, in seconds since 1970.",
	}
	snapshotAge = Metric{
		"multicloud_ccm_snapshot_age_seconds", Gauge,
		[]string{"provider", "source"},
		"Age of the data from a list or change feed of the cloud. Keeps growing while no update arrives, counting from process start if none has arrived yet. A list that no lookup needs is not read.",
	}
	snapshotRequests = Metric{
		"multicloud_ccm_snapshot_requests_total", Counter,
		[]string{"provider", "source", "outcome"},
		"Lookups served from memory (hit), by a request of another caller (shared) or by their own request (miss).",
	}
	connected = Metric{
		"multicloud_ccm_connected", Gauge,
		[]string{"provider", "endpoint"},
		"1 while there is a working connection to the endpoint, otherwise 0.",
	}
	sessions = Metric{
		"multicloud_ccm_sessions", Gauge,
		[]string{"provider", "endpoint"},
		"Open sessions at the endpoint.",
	}
	logins = Metric{
		"multicloud_ccm_logins_total", Counter,
		[]string{"provider", "endpoint", "code"},
		"Login attempts at the endpoint, by result.",
	}
	credentialsRefused = Metric{
		"multicloud_ccm_credentials_refused", Gauge,
		[]string{"provider", "endpoint"},
		"1 if the last login at the endpoint was refused because of the credentials, or is not tried again because one was, otherwise 0.",
	}
	configInvalid = Metric{
		"multicloud_ccm_config_file_invalid", Gauge,
		[]string{"provider", "reason"},
		"1 while the changed cloud-config file is not in use, otherwise 0: it is invalid, the cloud has refused it, or the cloud " +
			"does not respond, so that it is unproven.",
	}
	nodeInstanceFound = Metric{
		"multicloud_ccm_node_instance_found", Gauge,
		[]string{"provider"},
		"1 once the instance of at least one Node was found by its ID, otherwise 0. While it is 0, no Node is deleted because its instance is missing: the region, account or server may be the wrong one. Only the leader reports it.",
	}
	nodesWaiting = Metric{
		"multicloud_ccm_nodes_waiting", Gauge,
		[]string{"provider"},
		"Nodes that wait for their initialization: they have the taint node.cloudprovider.kubernetes.io/uninitialized. Only the leader reports it.",
	}
	nodesWaitingOldest = Metric{
		"multicloud_ccm_nodes_waiting_oldest_age_seconds", Gauge,
		[]string{"provider"},
		"How long the Node that waits longest has been waiting for its initialization, 0 if there is none. A taint without a time counts from the creation of its Node. Only the leader reports it.",
	}
	deletionsHeld = Metric{
		"multicloud_ccm_node_deletions_held", Gauge,
		[]string{"provider"},
		"Nodes that are kept although their instances are gone, since as many Nodes as [NodeDeletion] limit allows were deleted in ten minutes. Only the leader reports it.",
	}
	deletionsHeldOldest = Metric{
		"multicloud_ccm_node_deletions_held_oldest_age_seconds", Gauge,
		[]string{"provider"},
		"How long the Node that is held back longest has been, 0 if there is none. Only the leader reports it.",
	}
	servicesFailing = Metric{
		"multicloud_ccm_services_failing", Gauge,
		[]string{"provider"},
		"Services whose load balancer is not complete or not deleted since the last operation on it failed. Only the leader reports it.",
	}
	servicesFailingOldest = Metric{
		"multicloud_ccm_services_failing_oldest_age_seconds", Gauge,
		[]string{"provider"},
		"How long the operations on a load balancer have been failing, for the Service with the longest time, 0 if there is none. Only the leader reports it.",
	}
	targets = Metric{
		"multicloud_ccm_targets", Gauge,
		[]string{"provider", "external_traffic_policy", "state"},
		"Nodes behind load balancers, the sum of all Services after the last sync of each that succeeded: those that Services want, " +
			"those that are registered, and how many the default quotas of the cloud permit, 0 where there are none. Only the leader reports it.",
	}
	planSteps = Metric{
		"multicloud_ccm_plan_steps_total", Counter,
		[]string{"provider", "kind", "code"},
		"Completed steps of plans, each a write to the cloud, by result.",
	}
)

// All lists the metrics of this package, by name.
func All() []Metric {
	all := []Metric{
		requests, duration, throttled, inFlight, lastSuccess,
		snapshotAge, snapshotRequests, connected, sessions, logins, configInvalid, nodeInstanceFound, targets, planSteps, credentialsRefused,
		nodesWaiting, nodesWaitingOldest, deletionsHeld, deletionsHeldOldest, servicesFailing, servicesFailingOldest,
	}
	slices.SortFunc(all, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })

	return all
}

// Reference is a table of metrics in Markdown.
func Reference(metrics []Metric) string {
	var b strings.Builder
	b.WriteString("| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n")
	for _, m := range metrics {
		labels := "none"
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Type, labels, m.Help)
	}

	return b.String()
}
