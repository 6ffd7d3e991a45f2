package vsphere

import (
	"bytes"
	stdxml "encoding/xml"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// soapMethod returns the name of the first element in the body of an envelope,
// or "invalid" when there is none.
func soapMethod(envelope []byte) string {
	decoder := stdxml.NewDecoder(bytes.NewReader(envelope))
	inBody := false
	for {
		token, err := decoder.RawToken()
		if err != nil {
			return "invalid"
		}
		start, ok := token.(stdxml.StartElement)
		switch {
		case !ok:
		case inBody:
			return start.Name.Local
		default:
			inBody = start.Name.Local == "Body"
		}
	}
}

// Fault is the fault that responds to a SOAP call with a SOAP fault, such as
// &types.NoPermission{}, before it is applied.
func Fault(fault types.BaseMethodFault) simserver.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		body, err := faultEnvelope(fault)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)

			return
		}
		w.Header().Set("Content-Type", "text/xml; charset=utf-8")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write(body) // a client that is gone misses it
	}
}

func faultEnvelope(fault types.BaseMethodFault) ([]byte, error) {
	kind := reflect.Indirect(reflect.ValueOf(fault)).Type().Name()
	var detail bytes.Buffer
	err := xml.NewEncoder(&detail).EncodeElement(fault, xml.StartElement{
		Name: xml.Name{Local: kind + "Fault"},
		Attr: []xml.Attr{
			{Name: xml.Name{Local: "xmlns"}, Value: "urn:" + vim25.Namespace},
			{Name: xml.Name{Local: "xsi:type"}, Value: kind},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("encode fault %s: %w", kind, err)
	}
	envelope := strings.NewReplacer("KIND", kind, "DETAIL", detail.String()).Replace(faultTemplate)

	return []byte(envelope), nil
}

const faultTemplate = `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" ` +
	`xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body><soapenv:Fault>` +
	`<faultcode>ServerFaultCode</faultcode><faultstring>KIND</faultstring><detail>DETAIL</detail>` +
	`</soapenv:Fault></soapenv:Body></soapenv:Envelope>`
