package openstack

import (
	"fmt"
	"net/http"
)

// lbHTTPKeys are the attributes that monitors of HTTP alone have.
var lbHTTPKeys = []string{"http_method", "url_path", "expected_codes"}

// lbHTTPDefaults are their values when a request has none.
var lbHTTPDefaults = object{"http_method": "GET", "url_path": "/", "expected_codes": "200"}

// lbShortestUDP is the shortest delay of UDP-CONNECT in seconds (octavia:
// common/config.py, udp_connect_min_interval_health_monitor).
const lbShortestUDP = 3

// createMonitor handles POST /lbaas/healthmonitors.
func createMonitor(k *call) (response, error) {
	_, values, err := k.lbRequest(lbMonitors, inPost)
	if err != nil {
		return response{}, err
	}
	p, _, err := k.lbGetForWrite(lbPools, values["pool_id"].(string))
	if err != nil {
		return response{}, err
	}
	if err := k.lbCheckMonitorType(p, values["type"].(string), values["delay"].(int)); err != nil {
		return response{}, err
	}
	if err := k.lbQuotaFor(lbMonitors, p.projectID, 1); err != nil {
		return response{}, err
	}
	if err := k.poolMutable(p); err != nil {
		return response{}, err
	}
	monitor, err := k.lbAddMonitor(p, values)
	if err != nil {
		return response{}, err
	}
	k.lbPoolChanged(p)

	return reply(http.StatusCreated, object{"healthmonitor": k.lbDocument(monitor)})
}

// lbAddMonitor checks and adds the monitor of a pool, of which there is one (octavia:
// api/v2/controllers/health_monitor.py, _validate_create_hm).
func (k *call) lbAddMonitor(p *lbObject, values object) (*lbObject, error) {
	kind := values["type"].(string)
	for _, key := range lbHTTPKeys {
		switch {
		case kind == "HTTP" || kind == "HTTPS":
			if values[key] == nil {
				values[key] = lbHTTPDefaults[key]
			}
		case values[key] != nil:
			return nil, invalidOption(key, "health monitors of type "+kind)
		}
	}
	if err := lbCheckHost(values); err != nil {
		return nil, err
	}
	if p.monitor != "" {
		return nil, fail(http.StatusConflict, "", "This pool already has a health monitor")
	}
	if err := k.lbCheckMonitorType(p, kind, values["delay"].(int)); err != nil {
		return nil, err
	}
	if err := driverMonitor(k.region.octavia.loadBalancers.get(p.lb), kind); err != nil {
		return nil, err
	}
	monitor := k.lbNew(lbMonitors, p.projectID, values)
	monitor.lb, monitor.pool = p.lb, p.id
	p.monitor = monitor.id

	return monitor, nil
}

func lbCheckHost(values object) error {
	if values["domain_name"] == nil {
		return nil
	}
	if values["http_version"] == nil {
		return invalid("'http_version' must be specified when 'domain_name' is provided.")
	}
	if version := values["http_version"].(float64); version < 1.1 {
		return invalidOption(fmt.Sprintf("http_version %.1f", version), "health monitors HTTP 1.1 domain name health check")
	}

	return nil
}

// lbCheckMonitorType refuses monitors that do not fit the pool (octavia:
// api/v2/controllers/health_monitor.py, _validate_healthmonitor_request_for_udp_sctp).
// HTTP and TCP for UDP came with 2.16.
func (k *call) lbCheckMonitorType(p *lbObject, kind string, delay int) error {
	protocol := p.text("protocol")
	if protocol != "UDP" && protocol != "SCTP" {
		if kind == "UDP-CONNECT" || kind == "SCTP" {
			return invalid("The %s type is only supported for pools of type UDP/SCTP.", kind)
		}

		return nil
	}
	fits := kind == "UDP-CONNECT" || (k.octaviaMinor() >= sinceUDPMonitors && (kind == "TCP" || kind == "HTTP")) || kind == "SCTP"
	if !fits {
		return invalid("The associated pool protocol is %s, so only a UDP-CONNECT/SCTP/TCP/HTTP health monitor is supported.", protocol)
	}
	if kind == "UDP-CONNECT" && delay < lbShortestUDP {
		return invalid("The request delay value %d should be larger than %d for UDP-CONNECT health monitor type.", delay, lbShortestUDP)
	}

	return nil
}

// updateMonitor handles PUT /lbaas/healthmonitors/{id}. Its type cannot change.
func updateMonitor(k *call) (response, error) {
	given, values, err := k.lbRequest(lbMonitors, inPut)
	if err != nil {
		return response{}, err
	}
	monitor, _, err := k.lbGetForWrite(lbMonitors, k.path("id"))
	if err != nil {
		return response{}, err
	}
	kind := monitor.text("type")
	for _, key := range lbHTTPKeys {
		switch {
		case kind != "HTTP" && kind != "HTTPS" && given.has(key):
			return response{}, invalidOption(key, "health monitors of type "+kind)
		case given.null(key):
			values[key] = lbHTTPDefaults[key]
		}
	}
	for _, key := range []string{"delay", "max_retries", "timeout"} {
		if given.null(key) {
			return response{}, invalidOption("None", key)
		}
	}
	p := k.region.octavia.pools.get(monitor.pool)
	delay := monitor.number("delay")
	if given.has("delay") {
		delay = values["delay"].(int)
	}
	if err := k.lbCheckMonitorType(p, kind, delay); err != nil {
		return response{}, err
	}
	if err := k.poolMutable(p); err != nil {
		return response{}, err
	}
	monitor.apply(values)
	monitor.status, monitor.updated = lbPendingUpdate, k.now()
	k.lbPoolChanged(p)

	return k.lbShown(monitor)
}

// deleteMonitor handles DELETE /lbaas/healthmonitors/{id}.
func deleteMonitor(k *call) (response, error) {
	monitor, _, err := k.lbGetForWrite(lbMonitors, k.path("id"))
	if err != nil {
		return response{}, err
	}
	p := k.region.octavia.pools.get(monitor.pool)
	if err := k.poolMutable(p); err != nil {
		return response{}, err
	}
	k.lbPoolChanged(p)
	monitor.status = lbPendingDelete

	return reply(http.StatusNoContent, nil)
}
