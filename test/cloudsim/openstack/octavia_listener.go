package openstack

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
)

// createListener handles POST /lbaas/listeners.
func createListener(k *call) (response, error) {
	_, values, err := k.lbRequest(lbListeners, inPost)
	if err != nil {
		return response{}, err
	}
	_, lb, err := k.lbGetForWrite(lbLoadBalancers, values["loadbalancer_id"].(string))
	if err != nil {
		return response{}, err
	}
	if err := k.lbQuotaFor(lbListeners, lb.projectID, 1); err != nil {
		return response{}, err
	}
	if err := k.lbCheckPool(lb, values); err != nil {
		return response{}, err
	}
	if err := k.mutable(lb); err != nil {
		return response{}, err
	}
	if values["default_pool"] != nil || values["l7policies"] != nil {
		return response{}, lbInline()
	}
	l, err := k.lbAddListener(lb, values)
	if err != nil {
		return response{}, err
	}
	k.lbChanged(lb)

	return reply(http.StatusCreated, object{"listener": k.lbDocument(l)})
}

// lbInline is the response to parts within a part: only the creation of a whole load
// balancer takes them, and the database fails on others (tried with Zed).
func lbInline() error {
	return fail(http.StatusInternalServerError, "", "'dict' object has no attribute '_sa_instance_state'")
}

// updateListener handles PUT /lbaas/listeners/{id}. Protocol and port are none of the
// attributes that a change can have.
func updateListener(k *call) (response, error) {
	_, values, err := k.lbRequest(lbListeners, inPut)
	if err != nil {
		return response{}, err
	}
	l, lb, err := k.lbGetForWrite(lbListeners, k.path("id"))
	if err != nil {
		return response{}, err
	}
	if err := k.lbCheckListenerChange(lb, l, values); err != nil {
		return response{}, err
	}
	protocol := object{"protocol": l.text("protocol"), "default_pool_id": values["default_pool_id"]}
	if err := k.lbCheckPool(lb, protocol); err != nil {
		return response{}, err
	}
	if err := driverListener(lb, l.text("protocol"), values); err != nil {
		return response{}, err
	}
	if err := k.mutable(lb); err != nil {
		return response{}, err
	}
	l.apply(values)
	k.lbChanged(lb, l)

	return k.lbShown(l)
}

// deleteListener handles DELETE /lbaas/listeners/{id}. Its pool stays.
func deleteListener(k *call) (response, error) {
	l, lb, err := k.lbGetForWrite(lbListeners, k.path("id"))
	if err != nil {
		return response{}, err
	}
	if err := k.mutable(lb); err != nil {
		return response{}, err
	}
	k.lbChanged(lb)
	l.status = lbPendingDelete

	return reply(http.StatusNoContent, nil)
}

// lbAddListener checks and adds a listener (octavia: api/v2/controllers/listener.py,
// _validate_create_listener).
func (k *call) lbAddListener(lb *lbObject, values object) (*lbObject, error) {
	protocol, port := values["protocol"].(string), values["protocol_port"].(int)
	if err := lbCheckHeaders(protocol, values, false); err != nil {
		return nil, err
	}
	if err := k.lbCheckTLS(protocol, values); err != nil {
		return nil, err
	}
	for _, id := range lb.listeners {
		other := k.region.octavia.listeners.get(id)
		if other.number("protocol_port") == port && layer4(other.text("protocol")) == layer4(protocol) {
			return nil, fail(http.StatusConflict, "",
				"Another Listener on this Load Balancer is already using protocol %s and protocol_port %d", other.text("protocol"), port)
		}
	}
	if err := lbCheckCIDRs(lb, values); err != nil {
		return nil, err
	}
	if err := driverListener(lb, protocol, values); err != nil {
		return nil, err
	}
	l := k.lbNew(lbListeners, lb.projectID, values)
	l.lb = lb.id
	lb.listeners = append(slices.Clone(lb.listeners), l.id)
	if l.text("default_pool_id") != "" && lb.status == lbPendingCreate {
		l.updated = k.now()
	}

	return l, nil
}

// lbHeaders are those that a listener can insert; the ones about TLS need
// TERMINATED_HTTPS (octavia-lib: common/constants.py, SUPPORTED_HTTP_HEADERS).
var (
	lbHeaders    = []string{"X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto"}
	lbTLSHeaders = []string{
		"X-SSL-Client-Verify", "X-SSL-Client-Has-Cert", "X-SSL-Client-DN", "X-SSL-Client-CN", "X-SSL-Issuer",
		"X-SSL-Client-SHA1", "X-SSL-Client-Not-Before", "X-SSL-Client-Not-After",
	}
)

// lbCheckHeaders refuses headers where there is no HTTP.
func lbCheckHeaders(protocol string, values object, change bool) error {
	given, _ := values["insert_headers"].(map[string]string)
	if len(given) == 0 {
		return nil
	}
	if protocol != "HTTP" && protocol != "TERMINATED_HTTPS" {
		return invalidOption("insert-headers", "a "+protocol+" protocol listener.")
	}
	names := sortedKeys(given)
	for _, name := range names {
		isTLS := slices.Contains(lbTLSHeaders, name)
		if !isTLS && !slices.Contains(lbHeaders, name) {
			if change {
				return invalidOption("["+quoted(names)+"]", "insert_headers")
			}

			return invalidOption("dict_keys(["+quoted(names)+"])", "insert_headers")
		}
		if isTLS && protocol != "TERMINATED_HTTPS" {
			return invalidOption("['"+name+"']", protocol+" protocol listener.")
		}
	}

	return nil
}

// lbRefs returns the references to certificates in a request.
func lbRefs(values object) []string {
	refs, _ := values["sni_container_refs"].([]string)
	refs = slices.Clone(refs)
	if ref, _ := values["default_tls_container_ref"].(string); ref != "" {
		refs = append(refs, ref)
	}

	return refs
}

// lbCheckTLS checks what a new listener has of TLS.
func (k *call) lbCheckTLS(protocol string, values object) error {
	refs := lbRefs(values)
	clientCA, _ := values["client_ca_tls_container_ref"].(string)
	given := len(refs) > 0 || clientCA != ""
	ends := protocol == "TERMINATED_HTTPS" || (protocol == "PROMETHEUS" && given)
	auth, _ := values["client_authentication"].(string)
	switch {
	case (protocol == "UDP" || protocol == "SCTP") && given:
		return invalid("%s protocol listener does not support TLS.", protocol)
	case !ends && given:
		return invalid("Certificate container references are not allowed on %s protocol listeners.", protocol)
	case clientCA != "" && len(refs) == 0:
		return invalid("An SNI or default certificate container reference must be provided with a client CA container reference.")
	case ends && len(refs) == 0:
		return invalid("An SNI or default certificate container reference must be provided for %s protocol listeners.", protocol)
	case auth != "" && auth != "NONE" && clientCA == "":
		return invalid("Client authentication setting %s requires a client CA container reference.", auth)
	}
	if err := lbCheckHSTS(protocol, values); err != nil {
		return err
	}

	return k.lbReadable(append(refs, clientCA)...)
}

// lbCheckHSTS refuses HSTS without TLS or without its age (octavia:
// api/v2/controllers/listener.py, _validate_hsts_options).
func lbCheckHSTS(protocol string, values object) error {
	age := values["hsts_max_age"] != nil
	switch {
	case age && protocol != "TERMINATED_HTTPS":
		return invalid("The HSTS feature can only be used for listeners using the TERMINATED_HTTPS protocol.")
	case !age && (values["hsts_include_subdomains"] == true || values["hsts_preload"] == true):
		return invalid("HSTS configuration options hsts_include_subdomains and hsts_preload only make sense if hsts_max_age is set as well.")
	}

	return nil
}

// lbReadable refuses references to certificates that Octavia cannot read (octavia:
// api/v2/controllers/base.py, _validate_tls_refs): it gives itself access with the
// token of the caller, and then reads as itself. That the caller can read them is not
// enough.
func (k *call) lbReadable(refs ...string) error {
	var bad []string
	for _, ref := range refs {
		if ref != "" && !k.octaviaReads(ref) {
			bad = append(bad, ref)
		}
	}
	if len(bad) > 0 {
		return fail(http.StatusBadRequest, "", "Could not retrieve certificate: [%s]", quoted(bad))
	}

	return nil
}

// lbCheckCIDRs refuses prefixes of another family than the address: of all addresses
// from 2.26 on (octavia: api/v2/controllers/listener.py,
// _validate_cidr_compatible_with_vip). A load balancer with security groups of its
// user takes none (octavia: VIPs with vip_sg_ids, 2.29).
func lbCheckCIDRs(lb *lbObject, values object) error {
	list, _ := values["allowed_cidrs"].([]string)
	if len(list) > 0 && len(lb.texts("vip_sg_ids")) > 0 {
		return invalid("Allowed CIDRs are not allowed when using custom VIP Security Groups.")
	}
	for _, text := range list {
		is6 := netip.MustParsePrefix(text).Addr().Is6()
		if !slices.ContainsFunc(lb.vips(), func(ip netip.Addr) bool { return ip.Is6() == is6 }) {
			return invalid("CIDR %s IP version incompatible with VIP %s IP version.", text, lb.text("vip_address"))
		}
	}

	return nil
}

// lbCheckListenerChange checks a change (octavia: api/v2/controllers/listener.py,
// _validate_listener_PUT).
func (k *call) lbCheckListenerChange(lb, l *lbObject, values object) error {
	protocol := l.text("protocol")
	refs := lbRefs(values)
	clientCA, _ := values["client_ca_tls_container_ref"].(string)
	inserted, _ := values["insert_headers"].(map[string]string)
	given := len(refs) > 0 || clientCA != ""
	switch {
	case (protocol == "UDP" || protocol == "SCTP") && (given || len(inserted) > 0):
		return invalid("%s protocol listener does not support TLS or header insertion.", protocol)
	case given && protocol != "TERMINATED_HTTPS" && protocol != "PROMETHEUS":
		return invalid("Certificate container references are not allowed on %s protocol listeners.", protocol)
	}
	if err := lbCheckHeaders(protocol, values, true); err != nil {
		return err
	}
	if err := k.lbReadable(append(refs, clientCA)...); err != nil {
		return err
	}

	return lbCheckCIDRs(lb, values)
}

// lbPairs are the protocols of the pools that a listener can lead to (octavia:
// common/constants.py, VALID_LISTENER_POOL_PROTOCOL_MAP).
var lbPairs = map[string][]string{
	"TCP":              {"HTTP", "HTTPS", "PROXY", "PROXYV2", "TCP"},
	"HTTP":             {"HTTP", "PROXY", "PROXYV2"},
	"HTTPS":            {"HTTPS", "PROXY", "PROXYV2", "TCP"},
	"TERMINATED_HTTPS": {"HTTP", "PROXY", "PROXYV2"},
	"UDP":              {"UDP"},
	"SCTP":             {"SCTP"},
}

// lbCheckPair refuses a pool that a listener cannot lead to.
func lbCheckPair(listener, pool string) error {
	if !slices.Contains(lbPairs[listener], pool) {
		return invalid("The pool protocol '%s' is invalid while the listener protocol is '%s'.", pool, listener)
	}

	return nil
}

func lbNoChildren() error {
	return fail(http.StatusBadRequest, "", "Protocol %s listeners cannot have child objects.", "PROMETHEUS")
}

// lbCheckPool checks the default pool in a request for a listener.
func (k *call) lbCheckPool(lb *lbObject, values object) error {
	id, _ := values["default_pool_id"].(string)
	if id == "" {
		return nil
	}
	protocol := fmt.Sprint(values["protocol"])
	if protocol == "PROMETHEUS" {
		return lbNoChildren()
	}
	p := k.region.octavia.pools.get(id)
	if p == nil || p.lb != lb.id {
		return lbNotFound(lbPools, id)
	}

	return lbCheckPair(protocol, p.text("protocol"))
}
