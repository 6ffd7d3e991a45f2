package session_test

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

const (
	secretNamespace = "kube-system"
	secretName      = "vsphere-cloud-secret"
)

// apiServer serves one Secret the way kube-apiserver does: as JSON, or as
// protobuf to those who prefer it; lists and watches of this one object only.
type apiServer struct {
	*httptest.Server

	mu      sync.Mutex
	secret  *v1.Secret // nil when it does not exist
	version int
	changed chan struct{} // closed with the next change
	deny    bool
	cut     int // watches to end at once
	lists   int
	watches int
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	a := &apiServer{changed: make(chan struct{}), version: 1}
	a.Server = httptest.NewServer(a)
	t.Cleanup(func() {
		a.CloseClientConnections()
		a.Close()
	})

	return a
}

// client makes a client the way the provider gets one.
func (a *apiServer) client(t *testing.T, contentType string) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host:        a.URL,
		BearerToken: "api-token",
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

// put writes the Secret; without pairs it deletes it.
func (a *apiServer) put(pairs ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	a.secret = nil
	if len(pairs) > 0 {
		a.secret = &v1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: secretNamespace, Name: secretName, ResourceVersion: strconv.Itoa(a.version),
			},
			Data: values(pairs...),
		}
	}
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *apiServer) set(fn func(*apiServer)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fn(a)
}

func (a *apiServer) get(fn func(*apiServer) int) int {
	a.mu.Lock()
	defer a.mu.Unlock()

	return fn(a)
}

// ServeHTTP implements [http.Handler].
func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	a.mu.Lock()
	deny := a.deny
	a.mu.Unlock()
	switch {
	case r.Method != http.MethodGet || r.URL.Path != "/api/v1/namespaces/"+secretNamespace+"/secrets" ||
		query.Get("fieldSelector") != "metadata.name="+secretName:
		http.Error(w, "not what the role allows", http.StatusForbidden)
	case deny:
		answer(w, r, http.StatusForbidden, &metav1.Status{
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden,
			Message: "secrets is forbidden",
		})
	case query.Get("watch") == "true":
		a.watch(w, r, query.Get("resourceVersion"))
	default:
		a.list(w, r)
	}
}

func (a *apiServer) list(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.lists++
	list := &v1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(a.version)}}
	if a.secret != nil {
		list.Items = append(list.Items, *a.secret.DeepCopy())
	}
	a.mu.Unlock()
	answer(w, r, http.StatusOK, list)
}

// answer writes an object in the form that the client prefers.
func answer(w http.ResponseWriter, r *http.Request, code int, object runtime.Object) {
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

// watch tells of every change after a version, in JSON: our source asks for
// nothing else.
func (a *apiServer) watch(w http.ResponseWriter, r *http.Request, from string) {
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
	cut := a.cut > 0
	a.cut--
	a.mu.Unlock()
	for r.Context().Err() == nil && !cut {
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
