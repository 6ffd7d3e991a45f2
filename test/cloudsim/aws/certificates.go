package aws

import (
	"regexp"
	"slices"
)

// certificateARN is a certificate of ACM or IAM, in any partition.
var certificateARN = regexp.MustCompile(
	`^arn:aws[a-z-]*:(?:acm:([a-z0-9-]+):(\d{12}):certificate/|iam::(\d{12}):server-certificate/)[\w/+=,.@-]+$`)

// certificates are those that listeners can have. Cloud.mu guards them.
type certificates struct {
	only []string // nil for all ARNs that can be of the account
}

// SetCertificates sets the certificates of ACM and IAM that exist, by ARN.
// Without it, all exist whose ARN is one of the account, and of the region if it
// is one of ACM. Listeners that have another one already keep it.
func (c *Cloud) SetCertificates(arns ...string) {
	c.inspect(func() { c.balancers.certificates = certificates{only: append([]string{}, arns...)} })
}

// certified reports whether there is a certificate that a listener can have: one
// of IAM, or of ACM in the region of the load balancer.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/tls-listener-certificates.html
func (c *Cloud) certified(arn string) bool {
	known := c.balancers.certificates
	if known.only != nil {
		return slices.Contains(known.only, arn)
	}
	match := certificateARN.FindStringSubmatch(arn)
	if match == nil {
		return false
	}
	region, account := match[1], match[2]+match[3]

	return account == c.opts.AccountID && (region == "" || region == c.opts.Region)
}

func (c certificates) clone() certificates {
	return certificates{only: slices.Clone(c.only)}
}
