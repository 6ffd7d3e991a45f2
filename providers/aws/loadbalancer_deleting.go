package aws

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// deleting are the load balancers that are being deleted. They need no rules any
// more, though they still exist.
type deleting struct {
	mu    sync.Mutex
	names sets.Set[string]
}

// add adds a name until the returned function is called.
func (d *deleting) add(name string) (remove func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names.Insert(name)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.names.Delete(name)
	}
}

func (d *deleting) has(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names.Has(name)
}
