package plan

import (
	"sync"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// IDs stores the IDs that the cloud returned to steps, under the keys of the plan.
// The zero value is empty. It is safe for concurrent use.
type IDs struct {
	ids sync.Map // string to string
}

// Set stores an ID.
func (i *IDs) Set(key, id string) { i.ids.Store(key, id) }

// Get returns an ID. It is an error if no step has stored it: the plan is in the
// wrong order.
func (i *IDs) Get(key string) (string, error) {
	id, ok := i.ids.Load(key)
	if !ok {
		return "", &unknownError{key}
	}

	return id.(string), nil
}

// unknownError is that no step has stored an ID.
type unknownError struct{ key string }

func (e *unknownError) Error() string { return "the ID of " + e.key + " is not known yet" }

// IsUnknown reports whether an error is that no step has stored an ID: the step that stores
// it has failed.
func IsUnknown(err error) bool { return apierr.Has[*unknownError](err) }

// Ref refers to a resource by its ID, or by its key until a step has stored the ID.
type Ref struct {
	ID, Key string
}

// ID returns the Ref of a resource that exists.
func ID(id string) Ref { return Ref{ID: id} }

// String is the ID if it is known, or else the key in angle brackets.
func (r Ref) String() string {
	if r.ID != "" {
		return r.ID
	}

	return "<" + r.Key + ">"
}

// Resolve returns the ID of a Ref.
func (i *IDs) Resolve(r Ref) (string, error) {
	if r.ID != "" {
		return r.ID, nil
	}

	return i.Get(r.Key)
}
