package vsphere

import (
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// refuseVersion responds to a login by token that announces a newer API than
// this vCenter has, with the fault that
// https://github.com/vmware/govmomi/blob/v0.56.0/cli/session/login.go quotes.
// Other methods accept such a version: every program made with govmomi sends the
// newest that it supports. It reports whether it responded.
func (v *VCenter) refuseVersion(w http.ResponseWriter, r *http.Request, call simserver.Call) bool {
	if call.Op != "LoginByToken" {
		return false
	}
	uri := strings.Trim(r.Header.Get("SOAPAction"), `"`)
	content := v.registry.Get(serviceInstance).(*simulator.ServiceInstance).Content
	version, ok := strings.CutPrefix(uri, "urn:"+vim25.Namespace+"/")
	if ok && !newerVersion(version, content.About.ApiVersion) {
		return false
	}
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = fmt.Fprintf(w, versionMismatch, html.EscapeString(uri)) // a client that is gone misses it

	return true
}

const versionMismatch = `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body><soapenv:Fault>` +
	`<faultcode>soapenv:VersionMismatchFaultCode</faultcode><faultstring>Unsupported version URI "%s"</faultstring>` +
	`<detail/></soapenv:Fault></soapenv:Body></soapenv:Envelope>`

// newerVersion compares versions such as 6.5 and 9.1.0.0 number by number.
func newerVersion(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		if x, y := number(as, i), number(bs, i); x != y {
			return x > y
		}
	}

	return false
}

func number(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i]) // what is no number counts as none

	return n
}
