package contract

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNormalize(t *testing.T) {
	t.Parallel()
	const (
		idA = "0a0a0a0a-1111-2222-3333-444444444444"
		idB = "0b0b0b0b-1111-2222-3333-444444444444"
	)
	cloud := &Cloud{
		Endpoints: map[string]string{"network": "http://127.0.0.1:9696"},
		Vars:      map[string]string{"subnet": idA, "ccm_user": "contract", "node": "10.0.0.1"},
	}
	tests := map[string]struct {
		reason    string
		keep      string
		unordered bool
		in, want  string
	}{
		"names": {
			reason: "a value of the layout has its name, new IDs are counted",
			in:     `{"a":"` + idB + `","b":"` + idA + `","c":["` + idB + `"],"d":"0123456789abcdef0123456789abcdef"}`,
			want:   `{"a":"<id-1>","b":"<subnet>","c":["<id-1>"],"d":"<id-2>"}`,
		},
		"messages": {
			reason: "placeholders are used inside of texts",
			in:     `{"m":"Subnet ` + idA + ` of 10.0.0.1, not 10.9.9.9/24 (req-` + idB + `)"}`,
			want:   `{"m":"Subnet <subnet> of <node>, not 10.9.9.9/24 (<request>)"}`,
		},
		"choices": {
			reason: "the values of a set are in another order in each process of Octavia",
			in:     `{"m":"Value should be one of: TCP, UDP"}`,
			want:   `{"m":"Value should be one of: <choices>"}`,
		},
		"addresses": {
			reason: "an address of the scenario stays, others get placeholders",
			keep:   "body: {address: 10.50.0.11}",
			in:     `{"a":"10.50.0.11","b":"10.50.0.77","c":"fd00:50::f816","d":"10.50.0.77"}`,
			want:   `{"a":"10.50.0.11","b":"<ip-1>","c":"<ip-2>","d":"<ip-1>"}`,
		},
		"times": {
			reason: "the form of a time stays",
			in:     `["2026-11-22T19:00:01","2026-11-22T19:00:01.000000Z"]`,
			want:   `["<time 0000-00-00T00:00:00>","<time 0000-00-00T00:00:00.000000Z>"]`,
		},
		"presence": {
			reason: "null, empty and numbers stay",
			in:     `{"a":null,"b":[],"c":{},"d":"","e":1.0,"revision_number":7,"secret":null}`,
			want:   `{"a":null,"b":[],"c":{},"d":"","e":1.0,"revision_number":"<revision>","secret":null}`,
		},
		"links": {
			reason: "the endpoint of a link is replaced",
			in:     `{"href":"http://127.0.0.1:9696/v2.0/ports?marker=` + idB + `"}`,
			want:   `{"href":"<network>/v2.0/ports?marker=<id-1>"}`,
		},
		"unordered": {
			reason:    "a list without an order is sorted before IDs are counted",
			unordered: true,
			in:        `[{"id":"` + idB + `","n":"b"},{"id":"0c0c0c0c-1111-2222-3333-444444444444","n":"a"}]`,
			want:      `[{"id":"<id-1>","n":"a"},{"id":"<id-2>","n":"b"}]`,
		},
		"nested": {
			reason:    "the order of a list within a list has no influence on that of the outer one",
			unordered: true,
			in:        `[{"e":["b","c"],"n":"2"},{"e":["c","b"],"n":"1"}]`,
			want:      `[{"e":["b","c"],"n":"1"},{"e":["b","c"],"n":"2"}]`,
		},
		"catalog": {
			reason: "services that are no part of the contract are left out",
			in:     `{"catalog":[{"type":"image"},{"type":"compute"}]}`,
			want:   `{"catalog":[{"type":"compute"}]}`,
		},
		"database": {
			reason: "a statement of the service's database is no part of the contract",
			in:     `{"faultstring":"(pymysql.err.IntegrityError) (1062, \"Duplicate\")\n[SQL: INSERT]"}`,
			want:   `{"faultstring":"<database error>"}`,
		},
		"below": {
			reason: "a list below an object has no order, a list of objects has",
			in:     `{"ports":[{"n":"b","tags":["y","x"]},{"n":"a"}]}`,
			want:   `{"ports":[{"n":"b","tags":["x","y"]},{"n":"a"}]}`,
		},
		"hidden": {
			reason: "secrets are never kept",
			in:     `{"secret":"s3cret","audit_ids":["abc"]}`,
			want:   `{"secret":"<secret>","audit_ids":"<audit>"}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNormalizer(cloud, tc.keep)
			got := n.value(newResponse(200, jsonHeader(), []byte(tc.in)).body, tc.unordered)
			want := newResponse(200, jsonHeader(), []byte(tc.want)).body
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	header := jsonHeader()
	header.Set("X-Subject-Token", "gAAAA-secret")
	header.Set("Retry-After", "30")
	header.Set("Date", "now")
	tests := map[string]struct {
		reason string
		step   Step
		resp   *response
		want   string
	}{
		"headers": {
			reason: "headers that matter are kept, a token is not",
			step:   Step{As: "none", Request: "POST identity /v3"},
			resp:   newResponse(201, header, []byte(`{"b":1,"a":"x"}`)),
			want:   "as none POST identity /v3\n201\nRetry-After: 30\nX-Subject-Token: <token>\n\na: x\nb: 1\n",
		},
		"brief": {
			reason: "only the status",
			step:   Step{As: "ccm", Request: "GET network /", Brief: true},
			resp:   newResponse(200, header, []byte(`{}`)),
			want:   "GET network /\n200\n",
		},
		"until": {
			reason: "only the status and the condition",
			step:   Step{As: "ccm", Request: "GET network /", Until: "a=b"},
			resp:   newResponse(200, header, []byte(`{"a":"b"}`)),
			want:   "GET network /\n200\nuntil a=b\n",
		},
		"text": {
			reason: "what is not JSON is kept as text with its type",
			step:   Step{As: "ccm", Request: "GET network /"},
			resp:   newResponse(404, http.Header{"Content-Type": {"text/plain; charset=UTF-8"}}, []byte("gone\n")),
			want:   "GET network /\n404\nContent-Type: text/plain\ntext: \"gone\\n\"\n",
		},
		"empty": {
			reason: "no body",
			step:   Step{As: "ccm", Request: "DELETE network /"},
			resp:   newResponse(204, http.Header{}, nil),
			want:   "DELETE network /\n204\n",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := newNormalizer(&Cloud{}, "").record(&tc.step, tc.resp)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Text); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// jsonHeader is the header of a JSON response.
func jsonHeader() http.Header {
	return http.Header{"Content-Type": {"application/json"}}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	var value any
	if err := json.Unmarshal([]byte(`{"a":[{"b":"x"},{"b":[]}],"c":null}`), &value); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		path, want string
		err        bool
	}{
		"field":          {path: "a.0.b", want: "x"},
		"list":           {path: "a.1.b", want: "[]"},
		"null":           {path: "c", want: "null"},
		"no field":       {path: "a.0.z", err: true},
		"no element":     {path: "a.2", err: true},
		"no number":      {path: "a.x", err: true},
		"below a string": {path: "a.0.b.c", err: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := lookup(value, tc.path)
			if (err != nil) != tc.err {
				t.Fatalf("error %v, want one: %t", err, tc.err)
			}
			if err == nil && text(got) != tc.want {
				t.Errorf("got %s, want %s", text(got), tc.want)
			}
		})
	}
}
