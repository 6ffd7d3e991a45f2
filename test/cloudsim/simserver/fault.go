package simserver

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Fault replaces the handling of a call. It may respond itself, or pass the
// call on to apply, which does the work and responds.
type Fault func(w http.ResponseWriter, r *http.Request, apply http.Handler)

// Status responds with an HTTP status and no body; nothing is applied.
func Status(code int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(code) }
}

// page is what proxies respond with in place of what is behind them. Like most such
// pages it is no well-formed XML.
const page = "<!DOCTYPE html>\n<html><head><title>%[1]d %[2]s</title><meta charset=utf-8></head>\n" +
	"<body><center><h1>%[1]d %[2]s</h1></center><hr><center>proxy</center></body></html>\n"

// Page responds like a proxy, with an HTML page and an HTTP status; nothing is
// applied.
func Page(code int) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, page, code, http.StatusText(code)) // a client that is gone misses it
	}
}

// Drop cuts the connection before the call is applied.
func Drop() Fault {
	return func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }
}

// DropResponse applies the call and cuts the connection instead of responding.
func DropResponse() Fault {
	return func(_ http.ResponseWriter, r *http.Request, apply http.Handler) {
		apply.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// Kill calls kill, which ends the client, and cuts the connection. The call is applied
// before if applied is true.
func Kill(kill func(), applied bool) Fault {
	return func(_ http.ResponseWriter, r *http.Request, apply http.Handler) {
		if applied {
			apply.ServeHTTP(httptest.NewRecorder(), r)
		}
		kill()
		panic(http.ErrAbortHandler)
	}
}

// Slow delays the call by d, then passes it on.
func Slow(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		if !sleep(r.Context(), d) {
			panic(http.ErrAbortHandler)
		}
		apply.ServeHTTP(w, r)
	}
}

// Before runs f, then passes the call on: what f does happens after the client
// has looked and before the call is applied.
func Before(f func()) Fault {
	return func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		f()
		apply.ServeHTTP(w, r)
	}
}

// Hold blocks calls until Release, or until their client gives up. Use
// NewHold to make one.
type Hold struct {
	once     sync.Once
	released chan struct{}
}

// NewHold returns a Hold whose methods Before and After are faults.
func NewHold() *Hold { return &Hold{released: make(chan struct{})} }

// Before is the fault that holds a call back before it is applied. After the
// release it is applied and gets its response.
func (h *Hold) Before(w http.ResponseWriter, r *http.Request, apply http.Handler) {
	h.wait(r)
	apply.ServeHTTP(w, r)
}

// After is the fault that applies a call and holds its response back.
func (h *Hold) After(w http.ResponseWriter, r *http.Request, apply http.Handler) {
	response := httptest.NewRecorder()
	apply.ServeHTTP(response, r)
	h.wait(r)
	Replay(w, response)
}

// Release passes on the held calls and all later ones.
func (h *Hold) Release() { h.once.Do(func() { close(h.released) }) }

func (h *Hold) wait(r *http.Request) {
	select {
	case <-h.released:
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

// Replay sends a recorded response.
func Replay(w http.ResponseWriter, response *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), response.Header())
	w.WriteHeader(response.Code)
	_, _ = w.Write(response.Body.Bytes()) // a client that is gone misses it
}
