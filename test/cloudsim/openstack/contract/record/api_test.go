package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack/contract"
)

// services is a cloud with one list.
type services struct {
	logins  int
	objects []object
}

func (s *services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/v3/auth/tokens":
		s.logins++
		w.Header().Set("X-Subject-Token", "token")
		w.WriteHeader(http.StatusCreated)
	case r.Header.Get("X-Auth-Token") != "token":
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodPost:
		data, _ := io.ReadAll(r.Body)
		var body map[string]object
		_ = json.Unmarshal(data, &body)
		o := body["project"]
		o["id"] = "1"
		s.objects = append(s.objects, o)
		_, _ = w.Write(data)
		w.Header().Set("Content-Type", "application/json")
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNotFound)
	default:
		_ = json.NewEncoder(w).Encode(object{"projects": s.objects})
	}
}

func TestAPI(t *testing.T) {
	t.Parallel()
	cloud := &services{}
	server := httptest.NewServer(cloud)
	defer server.Close()
	a := newAPI(map[string]string{"identity": server.URL})
	a.users["ccm"] = contract.User{Name: "ccm"}
	for range 2 {
		if _, err := a.ensure(t.Context(), "ccm", projects, "name=x", object{"name": "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]object{{"name": "x", "id": "1"}}, cloud.objects); diff != "" {
		t.Errorf("what exists is created again (-want +got):\n%s", diff)
	}
	if cloud.logins != 1 {
		t.Errorf("%d logins, want 1", cloud.logins)
	}
	if _, err := a.call(t.Context(), "ccm", http.MethodDelete, "identity", "/x", nil); !errors.Is(err, errStatus) {
		t.Errorf("a refused request is no error: %v", err)
	}
	if _, err := a.call(t.Context(), "ccm", http.MethodDelete, "identity", "/x", nil, http.StatusNotFound); err != nil {
		t.Errorf("an accepted status is an error: %v", err)
	}
	if _, err := a.get(t.Context(), "nothing", "identity", "/x"); err == nil {
		t.Error("an unknown user is no error")
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	s := &contract.Scenario{Name: "neutron-x", About: "About."}
	records := []contract.Record{{Step: "a", Text: "GET network /\n200\n"}}
	o := options{golden: t.TempDir()}
	if err := keep(o, s, records); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file is not reported: %v", err)
	}
	o.update = true
	if err := keep(o, s, records); err != nil {
		t.Fatal(err)
	}
	o.update = false
	if err := keep(o, s, records); err != nil {
		t.Errorf("the same responses differ: %v", err)
	}
	records[0].Text = "GET network /\n500\n"
	if err := keep(o, s, records); err == nil {
		t.Error("another response does not differ")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "etc"), 0o700); err != nil {
		t.Fatal(err)
	}
	const before = "[DEFAULT]\nmax_allowed_address_pair = 50\nmax_routes = 1000\n"
	l := &live{dir: dir, ctl: "true"}
	if err := os.WriteFile(l.networkConfig(), []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.limits(t.Context(), object{"routes": 30, "address_pairs": 10}); err != nil {
		t.Fatal(err)
	}
	if got := readConfig(t, l); got != "[DEFAULT]\nmax_allowed_address_pair = 10\nmax_routes = 30\n" {
		t.Errorf("configuration is %q", got)
	}
	if err := l.resetLimits(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := readConfig(t, l); got != before {
		t.Errorf("restored configuration is %q", got)
	}
}

func readConfig(t *testing.T, l *live) string {
	t.Helper()
	data, err := os.ReadFile(l.networkConfig())
	if err != nil {
		t.Fatal(err)
	}

	return string(data)
}
