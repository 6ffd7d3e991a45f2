package snapshot

import (
	"sync"
	"time"
)

// known caches settings by ARN. They rarely change except by our writes. The
// zero value is empty.
type known struct {
	mu   sync.Mutex
	all  map[string]setting
	gone map[string]time.Time
}

// setting contains the cached settings of one ARN.
type setting struct {
	values map[string]string
	at     time.Time
}

// get returns settings that were read at most age ago.
func (k *known) get(arn string, age time.Duration) (map[string]string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one, ok := k.all[arn]
	if !ok || time.Since(one.at) >= age {
		return nil, false
	}

	return one.values, true
}

// put stores settings that were read from start on, unless they were written
// since.
func (k *known) put(arn string, values map[string]string, start time.Time, age time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all, k.gone = map[string]setting{}, map[string]time.Time{}
	}
	k.prune(age)
	if at, written := k.gone[arn]; !written || at.Before(start) {
		k.all[arn] = setting{values: values, at: start}
	}
}

// prune drops expired settings, at intervals.
func (k *known) prune(age time.Duration) {
	const roomy = 4096
	if len(k.all)+len(k.gone) < roomy {
		return
	}
	for arn, one := range k.all {
		if time.Since(one.at) >= age {
			delete(k.all, arn)
		}
	}
	for arn, at := range k.gone {
		if time.Since(at) >= age {
			delete(k.gone, arn)
		}
	}
}

// forget drops the settings of an ARN, after a write or an attempt to write.
func (k *known) forget(arns ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone == nil {
		k.all, k.gone = map[string]setting{}, map[string]time.Time{}
	}
	for _, arn := range arns {
		delete(k.all, arn)
		k.gone[arn] = time.Now()
	}
}
