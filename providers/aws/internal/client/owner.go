package client

import (
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/utils/clock"
)

// owner records when the credentials may have become those of another account.
// It is safe for concurrent use.
type owner struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	current string
	changed time.Time
}

// note records the credentials of a call.
func (o *owner) note(got aws.Credentials) {
	id := ownerOf(got)
	o.mu.Lock()
	defer o.mu.Unlock()
	if id == "" || id == o.current {
		return
	}
	if o.current != "" {
		o.changed = o.clock.Now()
	}
	o.current = id
}

// changedAt is when the owner last changed. It is zero if it never did.
func (o *owner) changedAt() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()

	return o.changed
}

// ownerOf returns what distinguishes credentials of different accounts:
//
//	keys in a file            the key, since another may be of any account
//	a source names the account  the account
//	other sources             nothing
//
// The other sources have one account for the lifetime of the process: the
// environment variables hold keys or the ARN of a role, the cloud-config holds
// the ARN of a role, and the role of an instance belongs to the account of the
// instance. Keys of a role change every hour, and must not count as a change.
func ownerOf(got aws.Credentials) string {
	if strings.HasPrefix(got.Source, inFile) {
		return got.AccountID + "/" + got.AccessKeyID
	}

	return got.AccountID
}
