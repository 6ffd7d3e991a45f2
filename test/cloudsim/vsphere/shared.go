package vsphere

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const sharedPath = "/session"

// sharedSessions issues clone tickets to clients with the token.
type sharedSessions struct {
	v     *VCenter
	token string
}

func (v *VCenter) startShared(token string) error {
	if token == "" {
		return nil
	}
	server, err := simserver.Start(simserver.Config{Plain: true}, &sharedSessions{v, token})
	v.shared = server

	return err
}

// SharedSessionURL returns the address that responds to GET with {"token":
// "…"}, a ticket for CloneSession, or nil when the spec has no
// SessionManagerToken. It requires Authorization: Bearer with that token. Its
// calls are counted as SharedSession.
func (v *VCenter) SharedSessionURL() *url.URL {
	if v.shared == nil {
		return nil
	}

	return &url.URL{Scheme: v.shared.Scheme(), Host: v.shared.Address(), Path: sharedPath}
}

// ServeHTTP implements [http.Handler].
func (s *sharedSessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.v.Serve(w, r, simserver.Call{Op: "SharedSession", Group: groupSSO}, http.HandlerFunc(s.respond))
}

func (s *sharedSessions) respond(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != sharedPath:
		http.NotFound(w, r)
	case r.Method != http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+s.token)) != 1:
		w.WriteHeader(http.StatusUnauthorized)
	default:
		ticket, err := s.v.ticket(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)

			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"token": ticket}) // a client that is gone misses it
	}
}

// ticket makes a clone ticket for the account without a session of its own.
func (v *VCenter) ticket(ctx context.Context) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calling = ctx
	manager := v.registry.SessionManager().Reference()
	res, err := methods.AcquireCloneTicket(ctx, v.service, &types.AcquireCloneTicket{This: manager})
	if err != nil {
		return "", err
	}
	v.sessions.tickets[res.Returnval] = true

	return res.Returnval, nil
}
