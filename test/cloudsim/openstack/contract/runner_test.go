package contract

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// served is a target of one server that has logins and one object.
type served struct {
	url   string
	gets  atomic.Int32
	fixed []Fixture
}

func (s *served) Begin(context.Context, string) (*Cloud, error) {
	return &Cloud{
		Endpoints: map[string]string{"identity": s.url, "network": s.url},
		Users:     map[string]User{"ccm": {Name: "ccm", Password: "p", ProjectID: "x"}},
		Vars:      map[string]string{"project": "0123456789abcdef0123456789abcdef"},
	}, nil
}

func (s *served) Fixture(_ context.Context, f Fixture) (map[string]any, error) {
	s.fixed = append(s.fixed, f)

	return map[string]any{"id": "0a0a0a0a-1111-2222-3333-444444444444"}, nil
}

// ServeHTTP returns a status that becomes ACTIVE with the third request.
func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/v3/auth/tokens" {
		w.Header().Set("X-Subject-Token", "token")
		w.WriteHeader(http.StatusCreated)

		return
	}
	if r.Header.Get("X-Auth-Token") != "token" {
		w.WriteHeader(http.StatusUnauthorized)

		return
	}
	status := "PENDING"
	if s.gets.Add(1) > 2 {
		status = "ACTIVE"
	}
	_, _ = fmt.Fprintf(w, `{"port":{"id":%q,"status":%q,"name":%q}}`, r.URL.Path[1:], status, r.Header.Get("X-Name"))
}

func TestPlay(t *testing.T) {
	t.Parallel()
	target := &served{}
	server := httptest.NewServer(target)
	defer server.Close()
	target.url = server.URL
	s, err := Parse("neutron-x", []byte(`
steps:
  - step: make
    fixture: port
    with: {project_id: $project, sizes: [1]}
    capture: {port: id}
  - step: wait
    request: GET network /$port
    until: port.status=ACTIVE
    capture: {again: port.id}
  - step: read
    request: GET network /$again
    headers: {X-Name: "n-$port"}
  - step: without a token
    as: none
    request: GET network /$port
`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Play(t.Context(), target, s)
	if err != nil {
		t.Fatal(err)
	}
	want := []Record{
		{Step: "wait", Text: "GET network /$port\n200\nuntil port.status=ACTIVE\n"},
		{Step: "read", Text: "GET network /$again\n200\n\nport:\n  id: <port>\n  name: n-<port>\n  status: ACTIVE\n"},
		{Step: "without a token", Text: "as none GET network /$port\n401\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("responses (-want +got):\n%s", diff)
	}
	fixtures := []Fixture{{Kind: "port", As: "ccm", Args: map[string]any{
		"project_id": "0123456789abcdef0123456789abcdef", "sizes": []any{float64(1)},
	}}}
	if diff := cmp.Diff(fixtures, target.fixed); diff != "" {
		t.Errorf("fixtures (-want +got):\n%s", diff)
	}
	if target.gets.Load() != 4 {
		t.Errorf("%d requests with a token, want 4", target.gets.Load())
	}
	if diff := Differences(want, got[:2]); len(diff) != 1 {
		t.Errorf("a missing response is not reported: %v", diff)
	}
}

func TestPlayReportsWhatIsMissing(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"variable": "steps: [{step: a, request: GET network /$nothing}]",
		"user":     "steps: [{step: a, as: nothing, request: GET network /}]",
		"capture":  "steps: [{step: a, request: GET network /x, capture: {a: port.nothing}}]",
		"header":   "steps: [{step: a, request: GET network /x, capture: {a: header:Nothing}}]",
		"fixture":  "steps: [{step: a, fixture: port, capture: {a: nothing}}]",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := &served{}
			server := httptest.NewServer(target)
			defer server.Close()
			target.url = server.URL
			s, err := Parse("neutron-x", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Play(t.Context(), target, s); err == nil {
				t.Error("no error")
			}
		})
	}
}
