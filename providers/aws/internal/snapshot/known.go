package snapshot

import (
	"sync"
	"time"
)

// known keeps settings by ARN. They change rarely but by writes of ours. The
// zero value is empty.
type known struct {
	mu   sync.Mutex
	all  map[string]setting
	gone map[string]time.Time
}

// setting is what is known of one ARN.
type setting struct {
	values map[string]string
	at     time.Time
}

// get returns what was read at most age ago.
func (k *known) get(arn string, age time.Duration) (map[string]string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one, ok := k.all[arn]
	if !ok || time.Since(one.at) >= age {
		return nil, false
	}
	return one.values, true
}

// put keeps what was read from start on, unless it was written since.
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

// prune drops what is too old to be returned, once in a while.
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

// forget drops what is known, after a write or the attempt at one.
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
