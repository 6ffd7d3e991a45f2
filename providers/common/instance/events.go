package instance

import (
	"errors"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
)

const (
	// eventInterval is how long the same Event on the same Node is not
	// repeated. It is shorter than the framework's address refresh of 5
	// minutes, so that a standing fault shows at each of them.
	eventInterval = 4 * time.Minute
	// maxEvents is how many Events are tracked for that, and eventLength
	// how many bytes one text may have.
	maxEvents   = 4096
	eventLength = 1024
)

// nodeKey is one Node in its one life.
type nodeKey struct {
	name string
	uid  types.UID
}

// keyOf is the key of a Node.
func keyOf(node *v1.Node) nodeKey { return nodeKey{name: node.Name, uid: node.UID} }

// eventKey is what makes two Events the same.
type eventKey struct {
	node   nodeKey
	reason Reason
	text   string
}

// events records warnings on Nodes, without repeating itself.
type events struct {
	clock    clock.PassiveClock
	recorder atomic.Pointer[record.EventRecorder]
	recorded *recent[eventKey]
}

// newEvents makes an events without a recorder.
func newEvents(clk clock.PassiveClock) *events {
	return &events{clock: clk, recorded: newRecent[eventKey](maxEvents)}
}

// setRecorder sets the recorder, or removes it if it is nil.
func (e *events) setRecorder(recorder record.EventRecorder) {
	if recorder == nil {
		e.recorder.Store(nil)

		return
	}
	e.recorder.Store(&recorder)
}

// warn records err on the Node if it was marked with a reason.
func (e *events) warn(node *v1.Node, err error) {
	marked, ok := errors.AsType[*reasoned](err)
	if !ok {
		return
	}
	recorder := e.recorder.Load()
	if recorder == nil {
		return
	}
	now := e.clock.Now()
	key := eventKey{node: keyOf(node), reason: marked.reason, text: shorten(marked.Error())}
	if !e.recorded.claim(key, now, now.Add(eventInterval)) {
		return
	}
	(*recorder).Event(node, v1.EventTypeWarning, string(key.reason), key.text)
}

// shorten cuts a text to what one Event may hold, between two characters.
func shorten(text string) string {
	if len(text) <= eventLength {
		return text
	}

	return strings.ToValidUTF8(text[:eventLength], "")
}
