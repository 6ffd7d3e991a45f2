package aws

import (
	"bytes"
	"crypto/rand"
	"encoding/xml"
	"fmt"
	"net/http"
	"strconv"
)

// outer is the element that results are marshaled in before their fields move
// to the element of the response.
const outer = "r"

// done is the result of an EC2 operation without other fields.
type done struct {
	Return bool `xml:"return"`
}

// render writes a response around an encoded result.
func (a *api) render(w http.ResponseWriter, action string, inner []byte) {
	id := requestID()
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s<%sResponse xmlns=%q>", xml.Header, action, a.namespace)
	if a.query {
		fmt.Fprintf(&out, "<%[1]sResult>%[2]s</%[1]sResult><ResponseMetadata><RequestId>%[3]s</RequestId></ResponseMetadata>", action, inner, id)
	} else {
		fmt.Fprintf(&out, "<requestId>%s</requestId>%s", id, inner)
	}
	fmt.Fprintf(&out, "</%sResponse>", action)
	send(w, http.StatusOK, id, out.Bytes())
}

// renderError responds with an error.
func (a *api) renderError(w http.ResponseWriter, err error) {
	problem := asAPIError(err)
	id := requestID()
	var out bytes.Buffer
	if a.query {
		kind := "Sender"
		if problem.Status >= http.StatusInternalServerError {
			kind = "Receiver"
		}
		fmt.Fprintf(&out, "<ErrorResponse xmlns=%q><Error><Type>%s</Type>", a.namespace, kind)
	} else {
		out.WriteString(xml.Header + "<Response><Errors><Error>")
	}
	writeElement(&out, "Code", problem.Code)
	writeElement(&out, "Message", problem.Message)
	if a.query {
		fmt.Fprintf(&out, "</Error><RequestId>%s</RequestId></ErrorResponse>", id)
	} else {
		fmt.Fprintf(&out, "</Error></Errors><RequestID>%s</RequestID></Response>", id)
	}
	send(w, problem.Status, id, out.Bytes())
}

// fields encodes what is inside a result: a struct whose fields have xml tags, or
// nil.
func fields(result any) ([]byte, error) {
	if result == nil {
		return nil, nil
	}
	var out bytes.Buffer
	encoder := xml.NewEncoder(&out)
	if err := encoder.EncodeElement(result, xml.StartElement{Name: xml.Name{Local: outer}}); err != nil {
		return nil, internal(fmt.Errorf("render %T: %w", result, err))
	}
	if err := encoder.Close(); err != nil {
		return nil, internal(fmt.Errorf("render %T: %w", result, err))
	}
	inner := bytes.TrimPrefix(out.Bytes(), []byte("<"+outer+">"))

	return bytes.TrimSuffix(inner, []byte("</"+outer+">")), nil
}

func writeElement(out *bytes.Buffer, name, text string) {
	out.WriteString("<" + name + ">")
	_ = xml.EscapeText(out, []byte(text)) // a buffer takes everything
	out.WriteString("</" + name + ">")
}

func send(w http.ResponseWriter, status int, id string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", "text/xml;charset=UTF-8")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("x-amzn-RequestId", id)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}

func requestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails

	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
