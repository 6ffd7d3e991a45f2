package credentialtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Token is the bearer token of the clients of an [APIServer].
const Token = "api-token"

// APIServer serves one Secret the way kube-apiserver does: as JSON, or as protobuf to
// clients that prefer it. It refuses every other object, and everything but lists and
// watches of this one.
type APIServer struct {
	namespace, name string
	url             string

	mu        sync.Mutex
	secret    *v1.Secret // nil if it does not exist
	version   int
	changed   chan struct{} // closed with the next change
	denied    bool
	endAtOnce int // watches to end at once
	lists     int
	watches   int
}

// NewAPIServer starts an API server without the Secret. It ends with the test.
func NewAPIServer(t testing.TB, namespace, name string) *APIServer {
	t.Helper()
	a := &APIServer{namespace: namespace, name: name, changed: make(chan struct{}), version: 1}
	server := httptest.NewServer(http.HandlerFunc(a.serve))
	a.url = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})

	return a
}

// Client returns a client that prefers a content type.
func (a *APIServer) Client(t testing.TB, contentType string) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host:        a.url,
		BearerToken: Token,
		ContentConfig: rest.ContentConfig{
			ContentType:        contentType,
			AcceptContentTypes: contentType + ",application/json",
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	return client
}

// Put writes the Secret, by pairs of a key and its value.
func (a *APIServer) Put(pairs ...string) {
	a.set(func() {
		a.version++
		a.secret = &v1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: a.namespace, Name: a.name, ResourceVersion: strconv.Itoa(a.version),
			},
			Data: Data(pairs...),
		}
	})
}

// Delete deletes the Secret.
func (a *APIServer) Delete() {
	a.set(func() {
		a.version++
		a.secret = nil
	})
}

// Deny sets whether the role of the client lacks the permission for the Secret.
func (a *APIServer) Deny(denied bool) { a.set(func() { a.denied = denied }) }

// EndWatches has the next watches end at once.
func (a *APIServer) EndWatches(count int) { a.set(func() { a.endAtOnce = count }) }

func (a *APIServer) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
	close(a.changed)
	a.changed = make(chan struct{})
}

// Lists returns how often the Secret was listed.
func (a *APIServer) Lists() int {
	a.mu.Lock()
	defer a.mu.Unlock()

	return a.lists
}

// Watches returns how many watches were started.
func (a *APIServer) Watches() int {
	a.mu.Lock()
	defer a.mu.Unlock()

	return a.watches
}

func (a *APIServer) serve(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	a.mu.Lock()
	denied := a.denied
	a.mu.Unlock()
	switch {
	case r.Method != http.MethodGet || r.URL.Path != "/api/v1/namespaces/"+a.namespace+"/secrets" ||
		query.Get("fieldSelector") != "metadata.name="+a.name:
		http.Error(w, "not what the role allows", http.StatusForbidden)
	case denied:
		respond(w, r, http.StatusForbidden, &metav1.Status{
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden,
			Message: "secrets is forbidden",
		})
	case query.Get("watch") == "true":
		a.watch(w, r, query.Get("resourceVersion"))
	default:
		a.list(w, r)
	}
}

func (a *APIServer) list(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.lists++
	list := &v1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(a.version)}}
	if a.secret != nil {
		list.Items = append(list.Items, *a.secret.DeepCopy())
	}
	a.mu.Unlock()
	respond(w, r, http.StatusOK, list)
}

// respond writes an object in the form that the client prefers.
func respond(w http.ResponseWriter, r *http.Request, code int, object runtime.Object) {
	mediaType, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
	for _, info := range scheme.Codecs.SupportedMediaTypes() {
		if info.MediaType == mediaType {
			w.Header().Set("Content-Type", mediaType)
			w.WriteHeader(code)
			_ = scheme.Codecs.EncoderForVersion(info.Serializer, v1.SchemeGroupVersion).Encode(object, w)

			return
		}
	}
	w.WriteHeader(http.StatusNotAcceptable)
}

// watch reports every change after a version, in JSON, which is what the source
// requests.
func (a *APIServer) watch(w http.ResponseWriter, r *http.Request, from string) {
	seen, err := strconv.Atoi(from)
	if err != nil || r.Header.Get("Accept") != runtime.ContentTypeJSON {
		w.WriteHeader(http.StatusNotAcceptable)

		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	a.mu.Lock()
	a.watches++
	end := a.endAtOnce > 0
	a.endAtOnce--
	a.mu.Unlock()
	for r.Context().Err() == nil && !end {
		a.mu.Lock()
		version, secret, changed := a.version, a.secret, a.changed
		a.mu.Unlock()
		if version == seen {
			select {
			case <-changed:
			case <-r.Context().Done():
			}

			continue
		}
		seen = version
		event := metav1.WatchEvent{Type: string(watch.Modified)}
		if secret == nil {
			event.Type, secret = string(watch.Deleted), &v1.Secret{}
		}
		var object bytes.Buffer
		_ = json.NewEncoder(&object).Encode(secret)
		event.Object.Raw = object.Bytes()
		_ = json.NewEncoder(w).Encode(event)
		_ = flush.Flush()
	}
}
