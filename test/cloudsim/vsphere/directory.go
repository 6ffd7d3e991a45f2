package vsphere

import (
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// The lockout policy of a directory. The numbers are the defaults that
// https://techdocs.broadcom.com/us/en/vmware-cis/vcf/vcf-5-2-and-earlier/4-5/configure-the-account-lockout-policy-for-vcenter-single-sign-on.html
// lists for VMware Cloud Foundation, which only keeps an account locked for
// longer (15 minutes) than vSphere does (5).
//
// Two things are stricter here. Every account can be locked, although that page
// exempts administrator@vsphere.local: it is the default account of simulated
// vCenters. And a login that succeeds resets nothing, because
// https://docs.vmware.com/en/VMware-vSphere/7.0/com.vmware.vsphere.authentication.doc/GUID-2D25D311-AB56-40F4-9834-BC19A7D2EA3D.html
// does not report that it does.
const (
	lockoutFailures = 5
	lockoutInterval = 180 * time.Second
	lockoutDuration = 300 * time.Second
)

// directory is the identity source of one vCenter, or of several that are
// linked. It has one account. It is safe for concurrent use.
type directory struct {
	user  string
	clock clock.PassiveClock

	mu          sync.Mutex
	password    string
	refused     []time.Time // all of them
	failures    []time.Time // those that may lead to a lockout
	lockedUntil time.Time
	lockouts    int
}

func newDirectory(user, password string, c clock.PassiveClock) *directory {
	return &directory{user: user, password: password, clock: c}
}

// authenticate checks a password and applies the lockout policy. A locked
// account is refused whatever the password is.
func (d *directory) authenticate(user, password string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if canonicalUser(user) != canonicalUser(d.user) {
		return false
	}
	now := d.clock.Now()
	locked := now.Before(d.lockedUntil)
	if !locked && password == d.password {
		return true
	}
	d.refused = append(d.refused, now)
	if locked {
		return false
	}
	d.failures = slices.DeleteFunc(d.failures, func(at time.Time) bool { return now.Sub(at) > lockoutInterval })
	if d.failures = append(d.failures, now); len(d.failures) >= lockoutFailures {
		d.failures, d.lockedUntil = nil, now.Add(lockoutDuration)
		d.lockouts++
	}

	return false
}

// canonicalUser writes the forms of a user name that vCenter takes for the same
// one, U@domain and DOMAIN\u, alike.
func canonicalUser(name string) string {
	name = strings.ToLower(name)
	if domain, user, ok := strings.Cut(name, `\`); ok {
		return user + "@" + domain
	}

	return name
}

// RefusedLogins returns the times of all logins with a wrong password or to a
// locked account, by any client and at any of the linked vCenters.
func (v *VCenter) RefusedLogins() []time.Time {
	v.directory.mu.Lock()
	defer v.directory.mu.Unlock()

	return slices.Clone(v.directory.refused)
}

// Lockouts returns how often the account was locked. While it is, every client
// is refused, with the right password too.
func (v *VCenter) Lockouts() int {
	v.directory.mu.Lock()
	defer v.directory.mu.Unlock()

	return v.directory.lockouts
}

// Password returns the password that works now.
func (v *VCenter) Password() string {
	v.directory.mu.Lock()
	defer v.directory.mu.Unlock()

	return v.directory.password
}

// SetPassword changes the password, of all linked vCenters. Sessions live on, as
// they do in a vCenter.
func (v *VCenter) SetPassword(password string) {
	v.directory.mu.Lock()
	defer v.directory.mu.Unlock()
	v.directory.password = password
}
