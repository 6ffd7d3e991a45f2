package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// labelTimeout bounds one write of a label.
const labelTimeout = 10 * time.Second

// labeler writes [LabelVCenter] to initialized Nodes: those of earlier versions, and
// those whose VM was migrated to another vCenter. The framework writes labels only
// when it initializes a Node. One Node is written at a time, and nothing waits for it.
// A write that fails is made again when the addresses of the Node are updated next.
type labeler struct {
	queue workqueue.TypedInterface[nodeLabel]
}

// nodeLabel is the value of the label of one Node.
type nodeLabel struct {
	node    string
	uid     types.UID
	vcenter string
}

func newLabeler() *labeler { return &labeler{queue: workqueue.NewTyped[nodeLabel]()} }

// want has a label written, once however often it is called meanwhile.
func (l *labeler) want(node *v1.Node, vcenter string) {
	if l.queue.Len() < maxAssignments {
		l.queue.Add(nodeLabel{node: node.Name, uid: node.UID, vcenter: vcenter})
	}
}

// run writes labels until its context ends.
func (l *labeler) run(ctx context.Context, nodes typedv1.NodeInterface) {
	context.AfterFunc(ctx, l.queue.ShutDown)
	log, logged := klog.FromContext(ctx), sets.New[metav1.StatusReason]()
	for {
		label, ended := l.queue.Get()
		if ended || ctx.Err() != nil {
			return
		}
		err := label.write(ctx, nodes)
		switch {
		case err == nil:
			logged.Clear()
		case ctx.Err() == nil:
			node, cause := klog.KRef("", label.node), apierrors.ReasonForError(err)
			if logged.Has(cause) {
				log.V(4).Info("Labeling a Node failed", "node", node, "err", err)
			} else {
				log.Error(err, "Labeling a Node failed, it is tried again when its addresses are updated next. "+
					"Until a write succeeds, other failures of this kind are not logged", "node", node, "kind", cause)
			}
			logged.Insert(cause)
		}
		l.queue.Done(label)
	}
}

// write patches the Node. One that was created again under the name is another one.
func (l nodeLabel) write(ctx context.Context, nodes typedv1.NodeInterface) error {
	ctx, cancel := context.WithTimeout(ctx, labelTimeout)
	defer cancel()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": l.uid, "labels": map[string]string{LabelVCenter: l.vcenter},
	}})
	if err != nil {
		return fmt.Errorf("encode label of node %s: %w", l.node, err)
	}
	_, err = nodes.Patch(ctx, l.node, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("patch node %s: %w", l.node, err)
	}
	klog.FromContext(ctx).V(2).Info("Labeled Node with the vCenter of its VM", "node", klog.KRef("", l.node), "instanceUUID", l.vcenter)

	return nil
}
