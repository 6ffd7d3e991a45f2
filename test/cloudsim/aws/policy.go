package aws

import (
	"net/http"
	"path"
)

// SetDenied sets the actions that no policy of the callers allows, as IAM names
// them and with its wildcards: elasticloadbalancing:DeleteLoadBalancer, which is one
// action for both kinds of load balancers, or ec2:Describe*. Those of an earlier
// call are allowed again.
func (c *Cloud) SetDenied(actions ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied = append([]string(nil), actions...)
}

// authorize fails when the policy of the caller lacks an action.
func (c *Cloud) authorize(service *api, operation string) error {
	action := service.scope + ":" + operation
	for _, pattern := range c.denied {
		if match, _ := path.Match(pattern, action); match {
			return service.denied(c.opts.AccountID, action)
		}
	}

	return nil
}

// denied returns the error of an API for a caller without permission.
func (a *api) denied(account, action string) error {
	who := "User: arn:aws:iam::" + account + ":user/caller is not authorized to perform: " + action +
		" because no identity-based policy allows the " + action + " action"
	if a.query {
		return &apiError{http.StatusForbidden, "AccessDenied", who}
	}

	return &apiError{http.StatusForbidden, "UnauthorizedOperation", "You are not authorized to perform this operation. " + who}
}
