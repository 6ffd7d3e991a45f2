package service

import (
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/lru"
)

const (
	// maxServices is for how many Services reported warnings are stored.
	maxServices = 4096
	// messageLimit is how many bytes the text of an Event may have.
	messageLimit = 1024
)

// Reporter turns warnings into Events on the Service. It is safe for concurrent
// use. Without a recorder it does nothing.
type Reporter struct {
	mu       sync.Mutex
	recorder record.EventRecorder
	// reported has the warnings of the last Report, by serviceKey.
	reported *lru.Cache
}

// serviceKey is one Service; another one of the same name has another UID.
type serviceKey struct {
	name types.NamespacedName
	uid  types.UID
}

func keyOf(service *v1.Service) serviceKey {
	return serviceKey{types.NamespacedName{Namespace: service.Namespace, Name: service.Name}, service.UID}
}

// NewReporter returns a Reporter without a recorder.
func NewReporter() *Reporter { return &Reporter{reported: lru.New(maxServices)} }

// SetRecorder sets the recorder of Events, nil for none.
func (r *Reporter) SetRecorder(recorder record.EventRecorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recorder = recorder
}

// Report records an Event for each warning that the last Report for this Service did
// not have. A warning that is left out is gone, and is recorded when it is back.
func (r *Reporter) Report(service *v1.Service, warnings []Warning) {
	r.report(service, warnings, false)
}

// Add is Report for an operation that ended before all warnings were known: those of the
// last Report that are left out are not gone.
func (r *Reporter) Add(service *v1.Service, warnings []Warning) { r.report(service, warnings, true) }

func (r *Reporter) report(service *v1.Service, warnings []Warning, keep bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recorder == nil {
		return
	}
	key := keyOf(service)
	var before, now []Warning
	if reported, ok := r.reported.Get(key); ok {
		before = reported.([]Warning)
	}
	if keep {
		now = slices.Clone(before)
	}
	for _, warning := range warnings {
		warning.Message = shorten(warning.Message)
		if slices.Contains(now, warning) {
			continue
		}
		now = append(now, warning)
		if !slices.Contains(before, warning) {
			r.recorder.Event(service, warning.eventType(), string(warning.Reason), warning.Message)
		}
	}
	if len(now) == 0 {
		r.reported.Remove(key)

		return
	}
	r.reported.Add(key, now)
}

func (w Warning) eventType() string {
	if w.Normal {
		return v1.EventTypeNormal
	}

	return v1.EventTypeWarning
}

// shorten cuts a text to the limit of an Event, between two characters.
func shorten(text string) string {
	if len(text) <= messageLimit {
		return text
	}

	return strings.ToValidUTF8(text[:messageLimit], "") // without a part of a character
}
