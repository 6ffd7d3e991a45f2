package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

// Record is a normalized response.
type Record struct {
	// Step is the name of the step.
	Step string
	// Text is what is compared: the request line, the status, the headers that
	// matter and the body as YAML.
	Text string
}

// headers are those that a client acts on.
var headers = []string{
	"Content-Type", "Location", "Openstack-Api-Version", "Openstack-Auth-Receipt", "Retry-After",
	"Www-Authenticate", "X-Openstack-Nova-Api-Version", "X-Subject-Token",
}

// response is what came back for a step.
type response struct {
	status int
	header http.Header
	// body is the decoded JSON, or nil.
	body any
	// raw is the body as it came.
	raw []byte
}

// newResponse decodes a body; one that is not JSON stays raw.
func newResponse(status int, header http.Header, raw []byte) *response {
	r := &response{status: status, header: header, raw: raw}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if len(raw) > 0 && strings.Contains(header.Get("Content-Type"), "json") && d.Decode(&r.body) != nil {
		r.body = nil
	}

	return r
}

// record normalizes a response.
func (n *normalizer) record(step *Step, r *response) (Record, error) {
	clear(n.addresses)
	var b strings.Builder
	if step.As != "ccm" {
		fmt.Fprintf(&b, "as %s ", step.As)
	}
	fmt.Fprintf(&b, "%s\n%d\n", step.Request, r.status)
	if step.Until != "" {
		fmt.Fprintf(&b, "until %s\n", step.Until)
	}
	if step.Until != "" || step.Brief {
		return Record{Step: step.Name, Text: b.String()}, nil
	}
	for _, name := range headers {
		if v := n.header(name, r.header); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	if len(r.raw) == 0 {
		return Record{Step: step.Name, Text: b.String()}, nil
	}
	if r.body == nil {
		fmt.Fprintf(&b, "text: %q\n", n.text(string(r.raw)))

		return Record{Step: step.Name, Text: b.String()}, nil
	}
	body, err := yaml.Marshal(n.value(r.body, step.Unordered))
	if err != nil {
		return Record{}, err
	}
	b.WriteString("\n")
	b.Write(body)

	return Record{Step: step.Name, Text: b.String()}, nil
}

// header is a normalized header; the common content type is left out.
func (n *normalizer) header(name string, h http.Header) string {
	v := h.Get(name)
	switch {
	case v == "":
		return ""
	case name == "X-Subject-Token":
		return "<token>"
	case name == "Content-Type":
		kind, _, _ := strings.Cut(v, ";")
		if kind == "application/json" {
			return ""
		}

		return kind
	default:
		return n.text(v)
	}
}

// Format is the content of a golden file.
func Format(about string, records []Record) []byte {
	a := &txtar.Archive{Comment: []byte(about + "\n\n")}
	for _, r := range records {
		a.Files = append(a.Files, txtar.File{Name: r.Step, Data: []byte(r.Text)})
	}

	return txtar.Format(a)
}

// Golden reads a golden file.
func Golden(data []byte) []Record {
	a := txtar.Parse(data)
	records := make([]Record, 0, len(a.Files))
	for _, f := range a.Files {
		records = append(records, Record{Step: f.Name, Text: string(f.Data)})
	}

	return slices.Clip(records)
}
