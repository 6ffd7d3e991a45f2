package openstack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// oftenStale is how often reads show an older state while there are faults, and veryStale
// while a database is far behind.
var oftenStale, veryStale = openstack.StaleReads{Every: 2, Reads: 3}, openstack.StaleReads{Every: 1, Reads: 20}

var always = simserver.Always()

// creation is a fault of the calls that create a load balancer.
type creation struct{ fault simserver.Fault }

const createBalancer = "octavia.CreateLoadBalancer"

// create counts the load balancers that are created, whether or not the response arrives.
func (s *schedule) create(w http.ResponseWriter, r *http.Request, apply http.Handler) {
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)

			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		response := httptest.NewRecorder()
		apply.ServeHTTP(response, r)
		if response.Code == http.StatusCreated {
			s.count(body)
		}
		respond(w, response, response.Body.Bytes())
	})
	s.mu.Lock()
	var fault simserver.Fault
	if len(s.creating) > 0 {
		fault = s.creating[0].fault
	}
	s.mu.Unlock()
	if fault == nil {
		counted.ServeHTTP(w, r)

		return
	}
	fault(w, r, counted)
}

func (s *schedule) count(body []byte) {
	var request struct {
		LoadBalancer struct{ Name string } `json:"loadbalancer"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		s.errorf("the body of a request: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.created[request.LoadBalancer.Name]++; s.created[request.LoadBalancer.Name] > 1 {
		s.errorf("load balancer %s was created twice", request.LoadBalancer.Name)
	}
}

// respond sends a recorded response with another body.
func respond(w http.ResponseWriter, recorded *httptest.ResponseRecorder, body []byte) {
	for name, values := range recorded.Header() {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(body)
}

// inject begins a fault of an operation, or of all of a service, and returns what ends it.
func (s *schedule) inject(op string, fault simserver.Fault) func() {
	if op == createBalancer || op == "octavia" {
		also := &creation{fault}
		s.mu.Lock()
		s.creating = append(s.creating, also)
		s.mu.Unlock()
		rule := s.Interceptor().Inject(op, always, fault)

		return func() {
			rule.Remove()
			s.mu.Lock()
			defer s.mu.Unlock()
			s.creating = slices.DeleteFunc(s.creating, func(c *creation) bool { return c == also })
		}
	}

	return s.Interceptor().Inject(op, always, fault).Remove
}

// fault begins a random fault and returns what ends it.
func (s *schedule) fault() func() {
	what, end := s.trouble()
	began := len(s.faults)
	s.faults = append(s.faults, what+" from "+time.Now().Format(time.TimeOnly))

	return func() {
		s.faults[began] += " to " + time.Now().Format(time.TimeOnly)
		end()
	}
}

// trouble begins a fault of a database, of what is in front of the services, or of a call.
func (s *schedule) trouble() (what string, end func()) {
	cell := fmt.Sprintf("cell%d", 1+s.rnd.IntN(3))
	switch s.rnd.IntN(13) {
	case 0:
		s.SetCell("", cell, openstack.CellDown)

		return cell + " down", func() { s.SetCell("", cell, openstack.CellUp) }
	case 1:
		s.SetCell("", cell, openstack.CellUnknown)

		return cell + " unknown", func() { s.SetCell("", cell, openstack.CellUp) }
	case 2, 3:
		return "incomplete mapping", s.unmap()
	case 4:
		s.RevokeTokens()

		return "tokens revoked", func() {}
	case 5:
		s.SetStaleReads(veryStale)

		return "stale replica", func() { s.SetStaleReads(oftenStale) }
	default:
		op, kind := s.faultyCall()

		return kind.what + " of " + op, s.inject(op, kind.fault)
	}
}

// callFault is what happens to calls instead of a response.
type callFault struct {
	what  string
	fault simserver.Fault
}

// faultyCall selects a fault of an operation, or of all of a service.
func (s *schedule) faultyCall() (string, callFault) {
	services := []string{"nova", "nova", "neutron", "octavia"}
	reads := []string{"nova.ShowServer", "nova.ListServerActions", "octavia.ShowLoadBalancer", "octavia.ListLoadBalancers"}
	lists := []string{
		"nova.ListServersDetail", "neutron.ListPorts", "neutron.ListFloatingIPs", "neutron.ListSecurityGroups",
		"octavia.ListLoadBalancers", "octavia.ListListeners", "octavia.ListPools", "octavia.ListMembers",
	}
	writes := []string{createBalancer, createBalancer, "octavia.CreateListener", "octavia.CreatePool", "octavia.DeleteLoadBalancer", "neutron.CreateFloatingIP"}
	failed := callFault{"500", openstack.Error(http.StatusInternalServerError, "", "database")}
	kinds := []struct {
		ops []string
		callFault
	}{
		{append(services, reads...), callFault{"404 of a proxy", openstack.Proxy(http.StatusNotFound, "")}},
		{append(services, reads...), failed},
		{lists, failed},
		{lists, callFault{"lost pages", lostPage}},
		{services, callFault{"403", openstack.Denied()}},
		{services, callFault{"401", openstack.Unauthorized()}},
		{writes, callFault{"lost response", simserver.DropResponse()}},
		{writes, callFault{"504 after apply", openstack.ProxyAfter(http.StatusGatewayTimeout)}},
	}
	kind := kinds[s.rnd.IntN(len(kinds))]

	return kind.ops[s.rnd.IntN(len(kind.ops))], kind.callFault
}

// lostPage is a list whose pages after the first one are empty.
func lostPage(w http.ResponseWriter, r *http.Request, apply http.Handler) {
	recorded := httptest.NewRecorder()
	apply.ServeHTTP(recorded, r)
	var page map[string]json.RawMessage
	if !r.URL.Query().Has("marker") || recorded.Code != http.StatusOK || json.Unmarshal(recorded.Body.Bytes(), &page) != nil {
		respond(w, recorded, recorded.Body.Bytes())

		return
	}
	for name := range page {
		if strings.HasSuffix(name, "_links") {
			delete(page, name)
		} else {
			page[name] = json.RawMessage("[]")
		}
	}
	body, _ := json.Marshal(page)
	respond(w, recorded, body)
}
