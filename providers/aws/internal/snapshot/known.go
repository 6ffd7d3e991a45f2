package snapshot

import (
	"sync"
	"time"

	expiring "k8s.io/apimachinery/pkg/util/cache"
)

// maxSettings is how many settings are stored at most.
const maxSettings = 1 << 16

// known caches settings by ARN. They rarely change except by our writes.
type known struct {
	age time.Duration
	// mu is held while settings are stored or dropped. It keeps those out that were
	// read before they were written.
	mu sync.Mutex
	// values has the settings, written the time of the last write.
	values, written *expiring.LRUExpireCache
}

// newKnown returns an empty cache of settings that are returned up to an age.
func newKnown(age time.Duration) *known {
	return &known{age: age, values: expiring.NewLRUExpireCache(maxSettings), written: expiring.NewLRUExpireCache(maxSettings)}
}

// get returns settings that are young enough.
func (k *known) get(arn string) (map[string]string, bool) {
	values, ok := k.values.Get(arn)
	if !ok {
		return nil, false
	}

	return values.(map[string]string), true
}

// put stores settings that were read from start on, unless they were written
// since.
func (k *known) put(arn string, values map[string]string, start time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at, ok := k.written.Get(arn); !ok || at.(time.Time).Before(start) {
		k.values.Add(arn, values, k.age-time.Since(start))
	}
}

// forget drops the settings of an ARN, after a write or an attempt to write.
func (k *known) forget(arns ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, arn := range arns {
		k.values.Remove(arn)
		k.written.Add(arn, time.Now(), k.age)
	}
}
