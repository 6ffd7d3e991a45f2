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
)

// ReasonTagsRefused is the reason of the Event on a Node when EC2 refuses the tags of
// several instances in a row.
const ReasonTagsRefused = "TagsRefused"

// workTimeout bounds a piece of work, with all its calls and their retries.
const workTimeout = time.Minute

// next does one piece of work. It is false when there will be no more.
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
	_, undecided := errors.AsType[*undecidedError](err)
	switch {
	case err == nil:
		c.queue.Forget(work)
	case ctx.Err() != nil:
	case c.waitsForTags(logger, work, err):
		c.queue.Forget(work)
	case undecided:
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

// waitsForTags reports whether work failed because EC2 refuses the tags, as it seems.
// It waits with all other work then.
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

// do does a piece of work. An error means that trying again can help. One thing
// at a time is done to an instance: tags that are taken away while its Node comes
// back would stay away, as the Node's label says that they are there.
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

// untagInstance takes the tags from an instance, unless there is a Node for it
// again, which has them by right.
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
	if _, refused := errors.AsType[*refusedError](err); refused {
		return nil // there is no instance, and no tags on it
	}
	if err != nil {
		return err
	}
	klog.FromContext(ctx).V(2).Info("Untagged instance")
	return nil
}

// isOn reports whether a Node is on an instance, however its provider ID is spelled.
func (c *Controller) isOn(node *v1.Node, instance string) bool {
	id, ok := c.config.InstanceID(node.Spec.ProviderID)
	return ok && id == instance
}

// tagNode tags an instance and notes that on its Node. What the Node is now
// counts: another one of its name, or none, gets no tags.
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
	_, refused := errors.AsType[*refusedError](err)
	mayAppear := client.Code(err) == inventory.CodeNotFound && c.config.Clock.Since(node.CreationTimestamp.Time) < young
	if refused && !mayAppear {
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
	if created, first := c.forget(work); first {
		c.config.Metrics.tagged(c.config.Clock.Since(created))
	}
	return nil
}

// label notes on a Node which tags its instance has. Another Node that has taken
// its name meanwhile is a conflict.
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
