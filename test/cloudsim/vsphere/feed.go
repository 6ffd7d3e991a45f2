package vsphere

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// feed receives every change in vcsim's registry and wakes the collectors. A number
// identifies a moment: a client that saw everything up to moment n requests what
// changed after n.
type feed struct {
	mu      sync.Mutex
	now     uint64
	changed []types.ManagedObjectReference // at each moment, the first one at index 0
	shape   uint64                         // when objects last came, went or moved
	wake    chan struct{}
	tasks   []*simulator.Task
}

var _ simulator.RegisterObject = (*feed)(nil)

func newFeed() *feed {
	return &feed{wake: make(chan struct{})}
}

// Reference implements [simulator.RegisterObject].
func (f *feed) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "ChangeFeed", Value: "feed"}
}

// PutObject implements [simulator.RegisterObject].
func (f *feed) PutObject(_ *simulator.Context, obj mo.Reference) {
	ref := obj.Reference()
	f.mu.Lock()
	defer f.mu.Unlock()
	if task, ok := obj.(*simulator.Task); ok {
		f.tasks = append(f.tasks, task)
	}
	f.mark(ref, true)
}

// UpdateObject implements [simulator.RegisterObject].
func (f *feed) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	ref := obj.Reference()
	moved := false
	for _, change := range changes {
		switch change.Name {
		case "childEntity", "host", "parent", "resourcePool", "view", "vm":
			moved = true
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mark(ref, moved)
}

// RemoveObject implements [simulator.RegisterObject].
func (f *feed) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mark(ref, true)
}

// touch marks objects as changed; moved means that the shape of the inventory
// changed with them.
func (f *feed) touch(moved bool, refs ...types.ManagedObjectReference) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, ref := range refs {
		f.mark(ref, moved)
	}
}

// wakeAll wakes all that wait, although nothing changed in the inventory.
func (f *feed) wakeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.wake)
	f.wake = make(chan struct{})
}

func (f *feed) mark(ref types.ManagedObjectReference, moved bool) {
	f.now++
	f.changed = append(f.changed, ref)
	if moved {
		f.shape = f.now
	}
	close(f.wake)
	f.wake = make(chan struct{})
}

// moment is a snapshot of the feed.
type moment struct {
	now, shape uint64
	wake       <-chan struct{} // closed at the next change
}

func (f *feed) moment() moment {
	f.mu.Lock()
	defer f.mu.Unlock()

	return moment{f.now, f.shape, f.wake}
}

// after returns which of the members changed after the moment seen, each once.
func (f *feed) after(seen uint64, members map[types.ManagedObjectReference]bool) []types.ManagedObjectReference {
	f.mu.Lock()
	defer f.mu.Unlock()
	var changed []types.ManagedObjectReference
	found := make(map[types.ManagedObjectReference]bool)
	for _, ref := range f.changed[min(seen, f.now):] {
		if members[ref] && !found[ref] {
			found[ref] = true
			changed = append(changed, ref)
		}
	}

	return changed
}

// finishTasks waits for the tasks that vcsim started on goroutines of their own,
// so that nothing in the inventory moves between two calls.
func (f *feed) finishTasks() {
	for {
		f.mu.Lock()
		tasks := f.tasks
		f.tasks = nil
		f.mu.Unlock()
		if len(tasks) == 0 {
			return
		}
		for _, task := range tasks {
			task.Wait()
		}
	}
}
