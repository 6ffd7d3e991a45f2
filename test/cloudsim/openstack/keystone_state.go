package openstack

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"time"
)

// defaultDomain is the ID of the domain that keystone-manage bootstrap makes.
const defaultDomain = "default"

// keystoneState is the state of Keystone, which all regions share.
type keystoneState struct {
	domains      table[domain]
	projects     table[project]
	users        table[user]
	grants       map[grantKey][]string // roles
	credentials  table[applicationCredential]
	trusts       table[trust]
	tokens       table[token]
	quotas       map[string]Quotas // by project ID; "" is that of all others
	lockAttempts int               // failures in a row that lock an account
	lockDuration time.Duration     // for so long
}

// grantKey is a user together with the project or domain that it has roles in.
type grantKey struct{ user, scope string }

type domain struct{ id, name string }

type project struct {
	id, name, domainID string
	disabled           bool
}

type user struct {
	id, name, domainID string
	password           string
	disabled           bool
	mfa                bool // password and totp are both required
	projectID          string
	failures           int       // of logins with a password, in a row
	failedAt           time.Time // the latest one
}

type applicationCredential struct {
	id, name, secret  string
	userID, projectID string
	roles             []string
	expires           time.Time // zero for never
}

type trust struct {
	id                   string
	trustorID, trusteeID string
	projectID            string
	roles                []string
}

type token struct {
	id, auditID     string
	parentAudit     string // of the token it was made from, if any
	userID          string
	methods         []string
	projectID       string // at most one of these two
	domainID        string
	credentialID    string
	trustID         string
	issued, expires time.Time
	revoked         bool
}

// Users that each cloud has from the start, all in the domain Default and with
// the password of [Password]:
const (
	// UserAdmin is the administrator of the cloud, in the project admin.
	UserAdmin = "admin"
	// UserCCM is the member of the project ccm that a cluster runs as.
	UserCCM = "ccm"
	// UserReader may read what the project ccm has, and write nothing.
	UserReader = "ccm-reader"
	// UserOperator is an administrator in the project ccm: Neutron and Octavia list
	// the resources of all projects for it.
	UserOperator = "operator"
	// UserOther is a member of the project other.
	UserOther = "other"
)

// Projects that each cloud has from the start.
const (
	ProjectAdmin   = "admin"
	ProjectCCM     = "ccm"
	ProjectOther   = "other"
	ProjectService = "service"
)

// Password is the password that a user has at first.
func Password(user string) string { return "password-of-" + user }

func newKeystoneState(c *Cloud) *keystoneState {
	k := &keystoneState{
		grants: make(map[grantKey][]string), quotas: map[string]Quotas{"": c.opts.Quotas},
		lockAttempts: 5, lockDuration: 30 * time.Minute,
	}
	k.domains.put(defaultDomain, &domain{id: defaultDomain, name: "Default"})
	for _, name := range []string{ProjectAdmin, ProjectCCM, ProjectOther, ProjectService} {
		k.addProject(name)
	}
	for _, u := range []struct {
		name, project string
		roles         []string
	}{
		{UserAdmin, ProjectAdmin, []string{RoleAdmin, RoleMember, RoleReader}},
		{UserCCM, ProjectCCM, []string{RoleMember, RoleReader, RoleOctaviaMember}},
		{UserReader, ProjectCCM, []string{RoleReader, RoleOctaviaObserver}},
		{UserOperator, ProjectCCM, []string{RoleAdmin, RoleMember, RoleReader}},
		{UserOther, ProjectOther, []string{RoleMember, RoleReader, RoleOctaviaMember}},
	} {
		added := k.addUser(u.name, k.project(u.project).id)
		k.grants[grantKey{added.id, added.projectID}] = u.roles
	}

	return k
}

func (k *keystoneState) addProject(name string) *project {
	p := &project{id: stableID("project " + name), name: name, domainID: defaultDomain}
	k.projects.put(p.id, p)

	return p
}

func (k *keystoneState) addUser(name, projectID string) *user {
	u := &user{
		id: stableID("user " + name), name: name, domainID: defaultDomain,
		password: Password(name), projectID: projectID,
	}
	k.users.put(u.id, u)

	return u
}

// project returns the project with a name. It panics when there is none.
func (k *keystoneState) project(name string) *project {
	for _, p := range k.projects.all() {
		if p.name == name {
			return p
		}
	}
	panic("openstack: no project " + name)
}

// user returns the user with a name. It panics when there is none.
func (k *keystoneState) user(name string) *user {
	for _, u := range k.users.all() {
		if u.name == name {
			return u
		}
	}
	panic("openstack: no user " + name)
}

// projectName returns the name of the project with an ID, empty when there is none.
func (k *keystoneState) projectName(id string) string {
	if p := k.projects.get(id); p != nil {
		return p.name
	}

	return ""
}

func (k *keystoneState) clone() *keystoneState {
	out := *k
	out.domains = k.domains.clone(func(*domain) {})
	out.projects = k.projects.clone(func(*project) {})
	out.users = k.users.clone(func(*user) {})
	out.grants = maps.Clone(k.grants) // the lists of roles are replaced, not changed
	out.credentials = k.credentials.clone(func(*applicationCredential) {})
	out.trusts = k.trusts.clone(func(*trust) {})
	out.tokens = k.tokens.clone(func(*token) {})
	out.quotas = maps.Clone(k.quotas)

	return &out
}

// caller returns who a token stands for, nil when it is not valid: absent,
// expired, revoked, or of a user, project, credential or role that is gone.
func (k *keystoneState) caller(tokenID string, now time.Time) *caller {
	t := k.valid(tokenID, now)
	if t == nil {
		return nil
	}
	u := k.users.get(t.userID)
	if trust := k.trusts.get(t.trustID); trust != nil {
		u = k.users.get(trust.trustorID) // with impersonation
	}

	return &caller{
		token: t.id, userID: u.id, userName: u.name, projectID: t.projectID,
		projectName: k.projectName(t.projectID), domainID: t.domainID, roles: k.rolesOf(t),
	}
}

// stableID returns an ID as Keystone makes them, which depends on a name alone.
func stableID(name string) string {
	sum := sha256.Sum256([]byte(name))

	return hex.EncodeToString(sum[:16])
}

// stableUUID returns a UUID that depends on a name alone.
func stableUUID(name string) string {
	h := stableID(name)

	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}
