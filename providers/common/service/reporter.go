package service

import (
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/lru"
)

const (
	// memory is of how many Services the Reporter knows what it said.
	memory = 4096
	// messageLimit is how many bytes the text of an Event may have.
	messageLimit = 1024
)

// Reporter turns warnings into Events on the Service. It is safe for concurrent
// use. Without a recorder it says nothing and remembers nothing.
type Reporter struct {
	mu       sync.Mutex
	recorder record.EventRecorder
	// said holds what stands for each Service, by the key of its life.
	said *lru.Cache
}

// life is one Service from its creation to its end.
type life struct {
	name types.NamespacedName
	uid  types.UID
}

func lifeOf(service *v1.Service) life {
	return life{types.NamespacedName{Namespace: service.Namespace, Name: service.Name}, service.UID}
}

// NewReporter makes a Reporter without a recorder.
func NewReporter() *Reporter { return &Reporter{said: lru.New(memory)} }

// SetRecorder gives the recorder, or takes it away.
func (r *Reporter) SetRecorder(recorder record.EventRecorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recorder = recorder
}

// Report records an Event for each warning that did not stand at the last
// Report for this Service. What is left out now counts as gone.
func (r *Reporter) Report(service *v1.Service, warnings []Warning) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recorder == nil {
		return
	}
	key := lifeOf(service)
	var before []Warning
	if said, ok := r.said.Get(key); ok {
		before = said.([]Warning)
	}
	var now []Warning
	for _, warning := range warnings {
		warning.Message = shorten(warning.Message)
		if slices.Contains(now, warning) {
			continue
		}
		now = append(now, warning)
		if !slices.Contains(before, warning) {
			r.recorder.Event(service, v1.EventTypeWarning, string(warning.Reason), warning.Message)
		}
	}
	if len(now) == 0 {
		r.said.Remove(key)
		return
	}
	r.said.Add(key, now)
}

// shorten cuts a text to what one Event may hold, between two characters.
func shorten(text string) string {
	if len(text) <= messageLimit {
		return text
	}
	for end := messageLimit; ; end-- {
		if text[end]&0xC0 != 0x80 { // the first byte of a character
			return text[:end]
		}
	}
}
