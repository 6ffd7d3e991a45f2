package client

import (
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// rejectedAge is how long a service that has refused a new token is not the reason for
// another login.
const rejectedAge = time.Minute

// token is the result of a login.
type token struct {
	id          config.Secret
	project     string
	since       time.Time
	credentials Credentials
	// owned reports whether a login of this process has issued it.
	owned bool
	// rejected is when a service refused it, of those for which it was issued.
	rejected map[Service]time.Time
}
