package tagging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// ReasonTagsRefused is the reason of the Event on a Node when EC2 refuses the tags of
// several instances in a row.
const ReasonTagsRefused = "TagsRefused"

// workTimeout bounds the processing of an item, with all its calls and their
// retries.
const workTimeout = time.Minute

// next processes one item. It returns false when the queue is shut down.
func (c *Controller) next(ctx context.Context) bool {
	work, ended := c.queue.Get()
	if ended {
		return false
	}
	defer c.queue.Done(work)
	if work.action == tag && c.refusals.holds(work) {
		return true
	}
	if c.limiter.Wait(ctx) != nil {
		return false
	}
	logger := klog.FromContext(ctx).WithValues("node", work.node, "providerID", work.providerID, "action", work.action)
	err := c.do(klog.NewContext(ctx, logger), work)
	switch {
	case err == nil:
		c.queue.Forget(work)
	case ctx.Err() != nil:
	case c.waitsForTags(logger, work, err):
		c.queue.Forget(work)
	case apierr.Has[*undecidedError](err):
		logger.V(4).Info("Tags were not changed because of another instance, trying again", "err", err)
		c.queue.AddAfter(work, c.undecidedBackoff)
	case c.queue.NumRequeues(work) < maxRequeues:
		c.count(work, errorsTotal)
		logger.V(2).Info("Tags could not be changed, trying again", "err", err)
		c.queue.AddRateLimited(work)
	default:
		c.count(work, errorsTotal)
		c.count(work, errorsExhausted)
		logger.Error(err, "Tags could not be changed, giving up until the Node changes")
		c.queue.Forget(work)
	}

	return true
}

// waitsForTags reports whether an item failed because EC2 apparently refuses
// the tags. It waits with all other items then.
func (c *Controller) waitsForTags(logger klog.Logger, work item, err error) bool {
	instance, _ := c.config.InstanceID(work.providerID)
	if work.action != tag || !isRefusal(instance, err) {
		return false
	}
	waits, begins := c.refusals.refused(work, instance, err)
	if !waits {
		return false
	}
	c.config.Metrics.refused()
	if !begins {
		logger.V(2).Info("Tags are still refused", "err", err)

		return true
	}
	logger.Error(err, "EC2 refused the tags of several instances in a row, trying one instance at a time until it accepts them")
	node, getErr := c.config.Nodes.Lister().Get(work.node)
	if api, ok := errors.AsType[smithy.APIError](err); ok && getErr == nil && c.config.Events != nil {
		message, _, _ := strings.Cut(api.ErrorMessage(), " Encoded authorization failure") // differs each time
		c.config.Events.Eventf(node, v1.EventTypeWarning, ReasonTagsRefused,
			"EC2 refused the tags of %d instances in a row. One instance at a time is tried until EC2 accepts them: %s: %s",
			suspicious, api.ErrorCode(), message)
	}

	return true
}

// release ends the wait for tags that EC2 refused.
func (c *Controller) release(tagged item) {
	for _, work := range c.refusals.accepted(tagged) {
		c.queue.Add(work)
	}
}

func (c *Controller) count(work item, kind string) {
	instance, _ := c.config.InstanceID(work.providerID)
	c.config.Metrics.failed(instance, kind)
}

// do processes an item. It returns an error if a retry can help. The work on
// one instance is sequential: tags that are removed while its Node is added
// again would be missing, although the Node's label records them.
func (c *Controller) do(ctx context.Context, work item) error {
	instance, ok := c.config.InstanceID(work.providerID)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	unlock, err := c.busy.Lock(ctx, instance)
	if err != nil {
		return err
	}
	defer unlock()
	if work.action == untag {
		return c.untagInstance(ctx, instance)
	}

	return c.tagNode(ctx, work, instance)
}

// untagInstance removes the tags from an instance, unless it has a Node again.
func (c *Controller) untagInstance(ctx context.Context, instance string) error {
	nodes, err := c.config.Nodes.Lister().List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list Nodes: %w", err)
	}
	if slices.ContainsFunc(nodes, func(n *v1.Node) bool { return c.isOn(n, instance) }) {
		klog.FromContext(ctx).V(4).Info("Instance keeps its tags: there is a Node for it again")

		return nil
	}
	err = c.writer.untag(ctx, instance)
	if apierr.Has[*refusedError](err) {
		return nil // there is no instance, and no tags on it
	}
	if err != nil {
		return err
	}
	klog.FromContext(ctx).V(2).Info("Untagged instance")

	return nil
}

// isOn reports whether a Node is on an instance, in any form of its provider
// ID.
func (c *Controller) isOn(node *v1.Node, instance string) bool {
	id, ok := c.config.InstanceID(node.Spec.ProviderID)

	return ok && id == instance
}

// tagNode tags an instance and records that on its Node. The current Node
// counts: if it was replaced or deleted, nothing is tagged.
func (c *Controller) tagNode(ctx context.Context, work item, instance string) error {
	node, err := c.config.Nodes.Lister().Get(work.node)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get Node %s: %w", work.node, err)
	}
	if node.Spec.ProviderID != work.providerID || node.Labels[Label] == c.expected {
		return nil
	}
	err = c.writer.tag(ctx, instance)
	if err == nil {
		c.release(work)
	}
	mayAppear := client.Code(err) == inventory.CodeNotFound && c.config.Clock.Since(node.CreationTimestamp.Time) < young
	if apierr.Has[*refusedError](err) && !mayAppear {
		klog.FromContext(ctx).Info("Instance cannot be tagged, leaving it", "err", err)

		return nil
	}
	if err != nil {
		return err
	}
	if err := c.label(ctx, node); err != nil {
		return err
	}
	klog.FromContext(ctx).V(2).Info("Tagged instance")
	if created, first := c.created.LoadAndDelete(work); first {
		c.config.Metrics.tagged(c.config.Clock.Since(created.(time.Time)))
	}

	return nil
}

// label records on a Node which tags its instance has. If the Node was replaced
// by another one with its name, that is a conflict.
func (c *Controller) label(ctx context.Context, node *v1.Node) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": node.UID, "labels": map[string]string{Label: c.expected},
	}})
	if err != nil {
		return fmt.Errorf("write the patch of Node %s: %w", node.Name, err)
	}
	_, err = c.config.Client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("label Node %s: %w", node.Name, err)
	}

	return nil
}
