package kubetest

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
)

// Clientset is a fake clientset without server-side apply. The one that
// fake.NewClientset returns supports it, for which it maps all kinds of the API
// again at each write: most of the CPU time of a test with many writes.
type Clientset struct {
	fake.Clientset

	tracker clienttesting.ObjectTracker
}

// NewClientset returns a clientset that stores these objects.
func NewClientset(objects ...runtime.Object) *Clientset {
	c := &Clientset{tracker: clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())}
	for _, object := range objects {
		if err := c.tracker.Add(object); err != nil {
			panic(err)
		}
	}
	c.AddReactor("*", "*", clienttesting.ObjectReaction(c.tracker))
	c.AddWatchReactor("*", c.watch)

	return c
}

// Tracker returns where the objects are stored.
func (c *Clientset) Tracker() clienttesting.ObjectTracker { return c.tracker }

// watch implements clienttesting.WatchReactionFunc.
func (c *Clientset) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	var options metav1.ListOptions
	if requested, ok := action.(clienttesting.WatchActionImpl); ok {
		options = requested.ListOptions
	}
	watcher, err := c.tracker.Watch(action.GetResource(), action.GetNamespace(), options)
	if err != nil {
		return true, nil, fmt.Errorf("watch %s: %w", action.GetResource(), err)
	}

	return true, watcher, nil
}
