package vsphere

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/vmware/govmomi/lookup"
	lookupsim "github.com/vmware/govmomi/lookup/simulator"
	"github.com/vmware/govmomi/sts"
	stssim "github.com/vmware/govmomi/sts/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	ssoPrefix  = "/sts/"
	lookupPath = lookup.Path
)

// routeSSO adds the security token service and the lookup service, which
// clients that log in by certificate need. vcsim checks no signature: every
// token is good.
func (v *VCenter) routeSSO() {
	stsPath, handler := stssim.New(v.service.Listen, v.registry.OptionManager().Setting)
	v.service.Handle(stsPath, handler)
	v.service.Handle(sts.SystemPath, handler)
	v.service.RegisterSDK(lookupsim.New())
}

// publishSSO registers the endpoints in the lookup service.
func (v *VCenter) publishSSO() {
	base := &url.URL{Scheme: v.server.Scheme(), Host: v.server.Address()}
	options := v.registry.OptionManager()
	for _, setting := range options.Setting {
		option := setting.GetOptionValue()
		text, isText := option.Value.(string)
		if !isText || !strings.HasSuffix(option.Key, ".uri") {
			continue
		}
		if endpoint, err := url.Parse(text); err == nil {
			endpoint.Scheme, endpoint.Host = base.Scheme, base.Host
			option.Value = endpoint.String()
		}
	}
	options.Setting = append(options.Setting, &types.OptionValue{Key: "vcsim.server.url", Value: base.String()})
	if certificate := v.server.Certificate(); certificate != nil {
		config := &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12}
		v.registry.SessionManager().TLS = func() *tls.Config { return config }
	}
}

// ssoOperation names a call by its SOAP action (STS) or method (lookup).
func ssoOperation(r *http.Request, body []byte) string {
	if action := path.Base(strings.Trim(r.Header.Get("SOAPAction"), `"`)); strings.HasPrefix(r.URL.Path, ssoPrefix) {
		return "STS" + action
	}

	return "Lookup" + soapMethod(body)
}
