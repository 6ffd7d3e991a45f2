package alerts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

const (
	// step is the time between two scrapes and between two evaluations.
	step = 30 * time.Second
	// last is the number of the last scrape, after an hour.
	last = 120
)

// series are values in the notation of promqltest, by series. Empty values remove it.
type series map[string]string

// with returns the series with those of changes added or replaced.
func (s series) with(changes series) series {
	all := maps.Clone(s)
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_, values string) bool { return values == "" })

	return all
}

// one returns a series of a process of the release.
func one(process, name string, matchers ...string) string {
	all := append([]string{`job="ccm"`, `namespace="kube-system"`, fmt.Sprintf("instance=%q", process), fmt.Sprintf("pod=%q", process)}, matchers...)

	return name + "{" + strings.Join(all, ",") + "}"
}

// provided returns a series with the label of the provider, vsphere.
func provided(process, name string, matchers ...string) string {
	return one(process, "multicloud_ccm_"+name, append([]string{`provider="vsphere"`}, matchers...)...)
}

// The processes of a healthy release.
const leader, standby = "10.0.0.1:10258", "10.0.0.2:10258"

var (
	leads         = one(leader, "leader_election_master_status", `name="cloud-controller-manager"`)
	waits         = one(standby, "leader_election_master_status", `name="cloud-controller-manager"`)
	ok            = requests("ok")
	routesFailed  = one(leader, "route_controller_route_sync_total", `outcome="error"`, `trigger="periodic"`)
	routesDone    = one(leader, "route_controller_route_sync_total", `outcome="noop"`, `trigger="periodic"`)
	connected     = provided(leader, "connected", `endpoint="vc"`)
	refused       = provided(leader, "credentials_refused", `endpoint="vc"`)
	waitingAge    = provided(leader, "nodes_waiting_oldest_age_seconds")
	failingAge    = provided(leader, "services_failing_oldest_age_seconds")
	deletionsHeld = provided(leader, "node_deletions_held")
	throttled     = provided(leader, "cloud_requests_throttled_total", `service="vim"`, `operation="Login"`)
)

func requests(code string) string {
	return provided(leader, "cloud_requests_total", `service="vim"`, `operation="Read"`, fmt.Sprintf("code=%q", code))
}

// healthy is a release with two replicas, next to processes of others.
func healthy() series {
	return series{
		leads: "1x120",
		waits: "0x120",
		provided(leader, "config_file_invalid", `reason="invalid"`):  "0x120",
		provided(standby, "config_file_invalid", `reason="invalid"`): "0x120",
		ok:            "0+5x120",
		connected:     "1x120",
		refused:       "0x120",
		waitingAge:    "0x120",
		deletionsHeld: "0x120",
		failingAge:    "0x120",
		routesFailed:  "0x120",
		routesDone:    "0+3x120",
		provided(standby, "connected", `endpoint="vc"`): "0x120",

		`leader_election_master_status{job="scheduler",instance="10.0.0.1:10259",name="kube-scheduler"}`:          "0x120",
		`route_controller_route_sync_total{job="other",instance="10.0.0.1:10257",outcome="error",trigger="node"}`: "0+3x120",
	}
}

// Values of counters that stop, or begin, after ten minutes.
const (
	stops  = "0+5x20 100x100"
	begins = "0x20 0+1x100"
)

type firingCase struct {
	reason string
	series series
	// want are the names of the alerts that fire at some time, and no others.
	want []string
}

func firingCases() map[string]firingCase {
	h := healthy()
	connectedOther := provided(leader, "connected", `endpoint="other"`)

	return map[string]firingCase{
		"healthy":     {"nothing fires, whatever others do", h, nil},
		"one replica": {"no standby", h.with(series{waits: "", provided(standby, "config_file_invalid", `reason="invalid"`): "", provided(standby, "connected", `endpoint="vc"`): ""}), nil},
		"no election": {"leader election is off", h.with(series{leads: "", waits: ""}), nil},
		"no labels": {"targets without namespace, job or pod", series{
			`leader_election_master_status{instance="a"}`:                                      "1x120",
			`multicloud_ccm_config_file_invalid{instance="a",provider="aws",reason="invalid"}`: "0x120",
			`multicloud_ccm_cloud_requests_total{instance="a",provider="aws",code="ok"}`:       "0+1x120",
			`multicloud_ccm_nodes_waiting_oldest_age_seconds{instance="a",provider="aws"}`:     "0x120",
			`multicloud_ccm_services_failing_oldest_age_seconds{instance="a",provider="aws"}`:  "0x120",
		}, nil},
		"leader change": {"the leader is killed, and the standby leads a minute later", h.with(series{
			leads: "1x40 stale", waits: "0x42 1x78",
			provided(leader, "config_file_invalid", `reason="invalid"`): "0x40 stale",
			ok: "0+5x40 stale", connected: "1x40 stale", refused: "0x40 stale", waitingAge: "0x40 stale",
			failingAge: "0x40 stale", routesFailed: "0x40 stale", routesDone: "0+3x40 stale",
			provided(standby, "connected", `endpoint="vc"`):                                             "0x42 1x78",
			provided(standby, "cloud_requests_total", `service="vim"`, `operation="Read"`, `code="ok"`): "_x42 1+5x78",
			provided(standby, "nodes_waiting_oldest_age_seconds"):                                       "_x42 90 0x77",
		}), nil},
		"all restart": {"an upgrade replaces both processes, which are gone for a minute", h.with(series{
			leads: "1x40 stale _x2 1x76", waits: "0x40 stale _x2 0x76",
			provided(leader, "config_file_invalid", `reason="invalid"`): "0x40 stale _x2 0x76", provided(standby, "config_file_invalid", `reason="invalid"`): "0x40 stale _x2 0x76",
			connected: "1x40 stale _x2 0x2 1x74", provided(standby, "connected", `endpoint="vc"`): "",
		}), nil},

		"no leader":         {"two standbys", h.with(series{leads: "0x120", connected: "", ok: "", waitingAge: "", failingAge: "", refused: ""}), []string{"MulticloudCCMNoLeader"}},
		"none":              {"there is no process", series{`up{job="other"}`: "1x120"}, []string{"MulticloudCCMNoLeader"}},
		"the last one ends": {"the process ends", series{leads: "1x40 stale", provided(leader, "config_file_invalid", `reason="invalid"`): "0x40 stale"}, []string{"MulticloudCCMNoLeader"}},

		"no response": {"each request fails", h.with(series{ok: stops, requests("unavailable"): begins, connected: "", refused: ""}), []string{"MulticloudCCMCloudUnreachable"}},
		"timeouts":    {"each request takes too long", h.with(series{ok: stops, requests("timeout"): begins, connected: "", refused: ""}), []string{"MulticloudCCMCloudUnreachable"}},
		"some failures": {
			"there are responses, too", h.with(series{requests("unavailable"): "0+1x120", requests("timeout"): "0+1x120", requests("denied"): "0+1x120"}), nil,
		},
		"one endpoint": {"another one responds", h.with(series{connectedOther: "1x20 0x100"}), []string{"MulticloudCCMCloudUnreachable"}},
		"endpoint without election": {
			"leader election is off", h.with(series{leads: "", waits: "", provided(standby, "connected", `endpoint="vc"`): "", connected: "1x20 0x100"}),
			[]string{"MulticloudCCMCloudUnreachable"},
		},
		"short outage": {"three minutes", h.with(series{connected: "1x20 0x6 1x94", requests("unavailable"): "0x20 0+1x6 6x94", ok: "0+5x20 100x6 100+5x94"}), nil},
		"idle":         {"nothing is requested", h.with(series{ok: "100x120"}), nil},

		"password refused": {"it is tried rarely", h.with(series{refused: "0x20 1x100", connected: "1x20 0x100", ok: stops, requests("denied"): "0x20 1x100"}), []string{"MulticloudCCMCredentialsRefused"}},
		"keys refused": {
			"the instance metadata responds", h.with(series{
				connected: "", refused: "", ok: stops, requests("denied"): begins,
				provided(leader, "cloud_requests_total", `service="imds"`, `operation="GetMetadata"`, `code="ok"`): "0+1x120",
			}), []string{"MulticloudCCMCredentialsRefused"},
		},
		"untrusted": {"the certificate has expired", h.with(series{ok: stops, requests("untrusted"): begins, connected: "1x20 0x100"}), []string{"MulticloudCCMCertificateNotTrusted"}},

		"throttled":      {"40 requests in 10 minutes", h.with(series{throttled: "0+2x120"}), []string{"MulticloudCCMThrottled"}},
		"throttled once": {"50 requests at once", h.with(series{throttled: "0x20 50x100"}), nil},
		"throttled less": {"10 requests in 10 minutes", h.with(series{throttled: "0+0.5x120"}), nil},

		"waiting":     {"a Node waits", h.with(series{waitingAge: "0+30x120"}), []string{"MulticloudCCMNodesWaiting"}},
		"held":        {"instances are gone for a quarter of an hour", h.with(series{deletionsHeld: "0x20 60x30 0x70"}), []string{"MulticloudCCMNodeDeletionsHeld"}},
		"young Nodes": {"there is always a Node that waits, but none for long", h.with(series{waitingAge: "240x120"}), nil},
		"tainted by hand": {
			"an old Node gets the taint and loses it", h.with(series{waitingAge: "0x20 86400x3 0x97"}), nil,
		},
		"failing":       {"a load balancer", h.with(series{failingAge: "0+30x120"}), []string{"MulticloudCCMLoadBalancersFailing"}},
		"slow creation": {"it takes 10 minutes", h.with(series{failingAge: "0+30x20 0x100"}), nil},
		"no route":      {"each attempt fails", h.with(series{routesFailed: "0+3x120", routesDone: "0x120"}), []string{"MulticloudCCMRoutesFailing"}},
		"first routes":  {"each attempt fails from the start", h.with(series{routesFailed: "0+3x120", routesDone: ""}), []string{"MulticloudCCMRoutesFailing"}},
		"some routes":   {"each fourth attempt fails", h.with(series{routesFailed: "0+1x120"}), nil},
		"invalid":       {"a standby has noticed it first", h.with(series{provided(standby, "config_file_invalid", `reason="invalid"`): "0x20 1x100"}), []string{"MulticloudCCMConfigInvalid"}},
		"refused":       {"the cloud refuses the changed file", h.with(series{provided(leader, "config_file_invalid", `reason="refused"`): "0x20 1x100"}), []string{"MulticloudCCMConfigInvalid"}},
	}
}

// FW-METRIC-5: each alert fires in its case and in no other: not for a healthy release, a
// standby or a change of the leader.
func TestAlertsFire(t *testing.T) {
	t.Parallel()
	rest := readRules(t)
	for _, tc := range firingCases() {
		for _, name := range tc.want {
			delete(rest, name)
		}
	}
	for name := range rest {
		t.Errorf("%s fires in no case", name)
	}
	for name, tc := range firingCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, fired(t, tc.series)); diff != "" {
				t.Errorf("%s: alerts that fire (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// fired evaluates all alerts for an hour, and returns the names of those that fire.
func fired(t *testing.T, all series) []string {
	t.Helper()
	var load strings.Builder
	fmt.Fprintf(&load, "load %s\n", step)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&load, "  %s %s\n", name, all[name])
	}
	storage := promqltest.LoadedStorage(t, load.String())
	query := rules.EngineQueryFunc(promqltest.NewTestEngine(t, false, 0, 1_000_000), storage)
	var names []string
	for name, rule := range readRules(t) {
		alert := alertOf(t, rule)
		for at := range last + 1 {
			now := time.Unix(0, 0).Add(time.Duration(at) * step)
			if _, err := alert.Eval(t.Context(), 0, now, query, nil, 0); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			alert.SetEvaluationTimestamp(now) // without it there is no State
			if alert.State() == rules.StateFiring {
				names = append(names, name)
				wantReadable(t, alert)

				break
			}
		}
	}
	slices.Sort(names)

	return names
}

// wantReadable checks that the annotations are texts without errors of their templates.
func wantReadable(t *testing.T, alert *rules.AlertingRule) {
	t.Helper()
	for _, active := range alert.ActiveAlerts() {
		for name, text := range active.Annotations.Map() {
			if strings.Contains(text, "error") || strings.Contains(text, "no value") || strings.Contains(text, "{{") || strings.Contains(text, "  ") {
				t.Errorf("%s: its %s is %q", alert.Name(), name, text)
			}
		}
	}
}
