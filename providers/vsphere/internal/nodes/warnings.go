package nodes

import (
	"context"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/lru"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// reasonInvalidMetadata means that guestinfo.metadata of the VM of a Node cannot be
// read.
const reasonInvalidMetadata instance.Reason = "InvalidGuestMetadata"

// warnings report, once for each Node, what is wrong with a VM without keeping
// the Node from being initialized. It is safe for concurrent use.
type warnings struct {
	recorder atomic.Pointer[record.EventRecorder]
	recorded *lru.Cache // warning to nothing
}

// warning is one warning about one Node.
type warning struct {
	name string
	uid  types.UID
	text string
}

func newWarnings() *warnings { return &warnings{recorded: lru.New(maxAssignments)} }

func (w *warnings) setRecorder(recorder record.EventRecorder) { w.recorder.Store(&recorder) }

// metadata warns that cloud-init metadata cannot be read.
func (w *warnings) metadata(ctx context.Context, node *v1.Node, err error) {
	key := warning{name: node.Name, uid: node.UID, text: err.Error()}
	if _, recorded := w.recorded.Get(key); recorded {
		return
	}
	w.recorded.Add(key, nil)
	klog.FromContext(ctx).Info("Ignoring network settings of VM that cannot be read", "node", klog.KObj(node), "err", err)
	if recorder := w.recorder.Load(); recorder != nil {
		(*recorder).Eventf(node, v1.EventTypeWarning, string(reasonInvalidMetadata),
			"the addresses in guestinfo.metadata of the VM are ignored: %v", err)
	}
}
