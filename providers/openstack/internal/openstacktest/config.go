package openstacktest

import (
	"fmt"
	"strings"
)

// CloudConfig is the cloud-config with which a user reaches the cloud. More is appended to
// it, beginning with keys of [Global].
func (c *Cloud) CloudConfig(user, more string) string {
	o := c.AuthOptions(user)
	var b strings.Builder
	fmt.Fprintf(&b, "[Global]\nauth-url = %q\nregion = %q\n", c.AuthURL(), c.Regions()[0])
	fmt.Fprintf(&b, "username = %q\npassword = %q\ndomain-id = %q\ntenant-id = %q\n%s", o.Username, o.Password, o.DomainID, o.TenantID, more)

	return b.String()
}
