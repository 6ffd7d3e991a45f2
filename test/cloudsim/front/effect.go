package front

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Effect is what happens to a broken call. It may answer by itself, or pass the
// call on to apply, which does the work and answers.
type Effect func(w http.ResponseWriter, r *http.Request, apply http.Handler)

// Status answers with an HTTP status and no body; nothing is applied.
func Status(code int) Effect {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(code) }
}

// Drop cuts the connection before the call is applied.
func Drop() Effect {
	return func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }
}

// DropAnswer applies the call and cuts the connection instead of answering.
func DropAnswer() Effect {
	return func(_ http.ResponseWriter, r *http.Request, apply http.Handler) {
		apply.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// Slow lets the call wait for d, then pass.
func Slow(d time.Duration) Effect {
	return func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		if !sleep(r.Context(), d) {
			panic(http.ErrAbortHandler)
		}
		apply.ServeHTTP(w, r)
	}
}

// Before runs f, then passes the call on: what f does happens after the client
// has looked and before the call is applied.
func Before(f func()) Effect {
	return func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		f()
		apply.ServeHTTP(w, r)
	}
}

// Hold keeps calls waiting until Release, or until their client gives up. Use
// NewHold to make one.
type Hold struct {
	once     sync.Once
	released chan struct{}
}

// NewHold returns a Hold whose methods Before and After are effects.
func NewHold() *Hold { return &Hold{released: make(chan struct{})} }

// Before is the effect that holds a call back before it is applied. After the
// release it is applied and answered.
func (h *Hold) Before(w http.ResponseWriter, r *http.Request, apply http.Handler) {
	h.wait(r)
	apply.ServeHTTP(w, r)
}

// After is the effect that applies a call and holds its answer back.
func (h *Hold) After(w http.ResponseWriter, r *http.Request, apply http.Handler) {
	answer := httptest.NewRecorder()
	apply.ServeHTTP(answer, r)
	h.wait(r)
	Replay(w, answer)
}

// Release lets the held calls and all later ones go.
func (h *Hold) Release() { h.once.Do(func() { close(h.released) }) }

func (h *Hold) wait(r *http.Request) {
	select {
	case <-h.released:
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

// Replay sends a recorded answer.
func Replay(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // a client that is gone misses it
}
