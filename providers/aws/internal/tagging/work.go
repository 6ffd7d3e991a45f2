package tagging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/smithy-go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// The codes that EC2 answers with for an instance that it does not know, and for
// one that can be none.
const (
	codeNotFound  = "InvalidInstanceID.NotFound"
	codeInvalid   = "InvalidID"
	codeMalformed = "InvalidInstanceID.Malformed"
)

// next does one piece of work. It is false when there will be no more.
func (c *Controller) next(ctx context.Context) bool {
	work, ended := c.queue.Get()
	if ended {
		return false
	}
	defer c.queue.Done(work)
	if c.limiter.Wait(ctx) != nil {
		return false
	}
	logger := klog.FromContext(ctx).WithValues("node", work.node, "providerID", work.providerID, "action", work.action)
	err := c.do(klog.NewContext(ctx, logger), work)
	switch {
	case err == nil:
		c.queue.Forget(work)
	case ctx.Err() != nil:
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

func (c *Controller) count(work item, kind string) {
	instance, _ := c.config.InstanceID(work.providerID)
	c.config.Metrics.failed(instance, kind)
}

// do does a piece of work. An error means that trying again can help.
func (c *Controller) do(ctx context.Context, work item) error {
	instance, ok := c.config.InstanceID(work.providerID)
	if !ok {
		return nil
	}
	if work.action == untag {
		err := c.writer.untag(ctx, instance)
		if refuses(code(err)) {
			return nil // there is no instance, and no tags on it
		}
		return err
	}
	return c.tagNode(ctx, work, instance)
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
	mayAppear := code(err) == codeNotFound && c.config.Clock.Since(node.CreationTimestamp.Time) < young
	if refuses(code(err)) && !mayAppear {
		klog.FromContext(ctx).Info("Instance cannot be tagged, leaving it", "err", err)
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.label(ctx, work.node); err != nil {
		return err
	}
	klog.FromContext(ctx).V(2).Info("Tagged instance")
	if created, first := c.forget(work); first {
		c.config.Metrics.tagged(c.config.Clock.Since(created))
	}
	return nil
}

// label notes on a Node which tags its instance has.
func (c *Controller) label(ctx context.Context, node string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{Label: c.expected}}})
	if err != nil {
		return fmt.Errorf("write the patch of Node %s: %w", node, err)
	}
	_, err = c.config.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("label Node %s: %w", node, err)
	}
	return nil
}

// refuses says whether a code means that EC2 has no such instance.
func refuses(code string) bool {
	return slices.Contains([]string{codeNotFound, codeInvalid, codeMalformed}, code)
}

// code is that of an error of EC2, or empty.
func code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}
