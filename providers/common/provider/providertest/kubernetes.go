package providertest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
)

// Kubernetes is an in-memory API server for real clients: it has Secrets, takes
// everything that is created, and finds nothing else. It is a
// cloudprovider.ControllerClientBuilder.
type Kubernetes struct {
	cloudprovider.ControllerClientBuilder

	// Secrets exist and do not change.
	Secrets []v1.Secret

	mu      sync.Mutex
	watches []string
}

// Client implements cloudprovider.ControllerClientBuilder.
func (k *Kubernetes) Client(string) (kubernetes.Interface, error) {
	return kubernetes.NewForConfig(&rest.Config{
		Host: "http://kubernetes", Transport: k, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"},
	})
}

// Watches lists the paths of the watches that are open.
func (k *Kubernetes) Watches() []string {
	k.mu.Lock()
	defer k.mu.Unlock()

	return slices.Clone(k.watches)
}

// RoundTrip implements http.RoundTripper.
func (k *Kubernetes) RoundTrip(r *http.Request) (*http.Response, error) {
	isList := r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/secrets")
	switch {
	case isList && r.URL.Query().Get("watch") != "":
		return respond(r, http.StatusOK, k.watch(r)), nil
	case isList:
		return respondJSON(r, http.StatusOK, v1.SecretList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"},
			ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: k.Secrets,
		})
	case r.Method == http.MethodPost:
		return respond(r, http.StatusCreated, r.Body), nil
	}

	return respondJSON(r, http.StatusNotFound, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
	})
}

// watch opens a watch without events that lasts until the client ends it.
func (k *Kubernetes) watch(r *http.Request) io.ReadCloser {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watches = append(k.watches, r.URL.Path)
	closed := make(chan struct{})

	return &stream{ended: r.Context().Done(), closed: closed, close: sync.OnceFunc(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		i := slices.Index(k.watches, r.URL.Path)
		k.watches = slices.Delete(k.watches, i, i+1)
		close(closed)
	})}
}

// stream is the body of a watch.
type stream struct {
	ended, closed <-chan struct{}
	close         func()
}

// Read implements io.Reader.
func (s *stream) Read([]byte) (int, error) {
	select {
	case <-s.ended:
	case <-s.closed:
	}

	return 0, io.EOF
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.close()

	return nil
}

func respondJSON(r *http.Request, status int, object any) (*http.Response, error) {
	content, err := json.Marshal(object)

	return respond(r, status, io.NopCloser(bytes.NewReader(content))), err
}

func respond(r *http.Request, status int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body, ContentLength: -1, Request: r,
	}
}
