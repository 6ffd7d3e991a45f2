package vsphere

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// restSessionHeader carries the id of a REST session, as a header or a cookie.
const restSessionHeader = "vmware-api-session-id"

// Session is a live session and what it holds in the vCenter.
type Session struct {
	ID      string
	User    string
	REST    bool
	Created time.Time
	// Collectors, Filters and Views made by the session and not yet destroyed.
	Collectors, Filters, Views int
}

// Sessions returns the live sessions, the oldest first. A client that logged out
// properly leaves nothing here.
func (v *VCenter) Sessions() []Session {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sessions.expire()

	return v.sessions.list()
}

// TerminateSessions ends all sessions, the way an administrator or the idle
// timeout does: the next call of their clients is not authenticated.
func (v *VCenter) TerminateSessions() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sessions.end(func(types.UserSession) bool { return true })
	clear(v.sessions.rest)
}

// sessions adds to vcsim's sessions what it lacks. It is guarded by VCenter.mu.
type sessions struct {
	v       *VCenter
	now     func() time.Time
	rest    map[string]*rest.Session // owned by vcsim
	borrows map[string]bool          // REST ids that are SOAP cookies
	tickets map[string]bool          // clone tickets, which vcsim keeps as sessions
	objects map[string]*simulator.Registry
	polling map[string]int // long polls in progress
}

func newSessions(v *VCenter) *sessions {
	return &sessions{
		v:       v,
		now:     time.Now,
		borrows: make(map[string]bool),
		tickets: make(map[string]bool),
		objects: make(map[string]*simulator.Registry),
		polling: make(map[string]int),
	}
}

// restSessions returns the session table of vcsim's REST handler, whose type is
// not exported while its fields are.
func restSessions(handler http.Handler) map[string]*rest.Session {
	return reflect.ValueOf(handler).Elem().FieldByName("Session").Interface().(map[string]*rest.Session)
}

// validLogin is vcsim's hook for SOAP and REST logins. It runs inside a call.
func (s *sessions) validLogin(login *types.Login) bool {
	return s.v.directory.authenticate(login.UserName, login.Password)
}

// soap returns vcsim's SOAP sessions, without tickets.
func (s *sessions) soap() []types.UserSession {
	ref := *s.v.service.Context.Map.Get(serviceInstance).(*simulator.ServiceInstance).Content.SessionManager
	all := s.v.context.Session.Get(ref).(*simulator.SessionManager).SessionList

	return slices.DeleteFunc(all, func(u types.UserSession) bool { return s.tickets[u.Key] })
}

func (s *sessions) alive(key string) bool {
	return slices.ContainsFunc(s.soap(), func(u types.UserSession) bool { return u.Key == key })
}

func (s *sessions) list() []Session {
	var list []Session
	for _, u := range s.soap() {
		session := Session{ID: u.Key, User: u.UserName, Created: u.LoginTime}
		if held := s.objects[u.Key]; held != nil {
			session.Views = len(held.AllReference("ContainerView")) + len(held.AllReference("ListView"))
			session.Filters = len(held.AllReference("PropertyFilter"))
			session.Collectors = max(0, len(held.AllReference("PropertyCollector"))-1) // one comes with the session
		}
		list = append(list, session)
	}
	for id, u := range s.rest {
		if !s.borrows[id] {
			list = append(list, Session{ID: id, User: u.User, REST: true, Created: u.Created})
		}
	}
	slices.SortFunc(list, func(a, b Session) int {
		if order := a.Created.Compare(b.Created); order != 0 {
			return order
		}

		return strings.Compare(a.ID, b.ID)
	})

	return list
}

// expire ends the sessions that have been idle for too long. A long poll keeps
// its session busy.
func (s *sessions) expire() {
	now := s.now()
	s.end(func(u types.UserSession) bool {
		return s.polling[u.Key] == 0 && now.Sub(u.LastActiveTime) > sessionTimeout
	})
	for id, u := range s.rest {
		if now.Sub(u.LastAccessed) > sessionTimeout {
			delete(s.rest, id)
			delete(s.borrows, id)
		}
	}
}

// end terminates the SOAP sessions that match, and the REST sessions borrowed
// from sessions that are gone.
func (s *sessions) end(match func(types.UserSession) bool) {
	var keys []string
	live := make(map[string]bool)
	for _, u := range s.soap() {
		if live[u.Key] = true; match(u) {
			keys = append(keys, u.Key)
			delete(live, u.Key)
		}
	}
	if len(keys) > 0 {
		s.v.registry.SessionManager().TerminateSession(s.v.context, &types.TerminateSession{SessionId: keys})
		s.v.feed.wakeAll()
	}
	for id := range s.borrows {
		if !live[id] {
			delete(s.borrows, id)
			delete(s.rest, id)
		}
	}
	for key := range s.objects {
		if !live[key] {
			delete(s.objects, key)
		}
	}
}

// share lets the cookie of a SOAP session serve as the id of a REST session, as
// it does in a vCenter.
func (s *sessions) share(r *http.Request) {
	id := r.Header.Get(restSessionHeader)
	if cookie, err := r.Cookie(restSessionHeader); id == "" && err == nil {
		id = cookie.Value
	}
	if id == "" || s.rest[id] != nil {
		return
	}
	for _, u := range s.soap() {
		if u.Key == id {
			s.rest[id] = &rest.Session{User: u.UserName, Created: u.LoginTime, LastAccessed: s.now()}
			s.borrows[id] = true
		}
	}
}

// after follows what a call did to the sessions.
func (s *sessions) after(call simserver.Call, response *httptest.ResponseRecorder) {
	switch call.Op {
	case "AcquireCloneTicket":
		_, rest, _ := bytes.Cut(response.Body.Bytes(), []byte("<returnval>"))
		if ticket, _, ok := bytes.Cut(rest, []byte("</returnval>")); ok {
			s.tickets[string(ticket)] = true
		}
	case "Logout", "TerminateSession":
		s.end(func(types.UserSession) bool { return false })
		s.v.feed.wakeAll() // a long poll of that session ends
	}
}
