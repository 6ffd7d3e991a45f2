package aws

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// unsignedAction is the one action that needs no signature: a web identity token
// stands in for it.
const unsignedAction = "AssumeRoleWithWebIdentity"

// AssumedRole is a call of AssumeRole or AssumeRoleWithWebIdentity that was
// granted.
type AssumedRole struct {
	// RoleARN and SessionName are those of the request.
	RoleARN, SessionName string
	// SourceAccount and SourceARN are the headers x-amz-source-account and
	// x-amz-source-arn, empty when they were not sent.
	SourceAccount, SourceARN string
	// AccessKeyID is the key that the caller got.
	AccessKeyID string
	// WebIdentityToken is the token of AssumeRoleWithWebIdentity.
	WebIdentityToken string
}

// AssumedRoles returns the roles that STS issued credentials for, oldest
// first.
func (c *Cloud) AssumedRoles() []AssumedRole {
	c.mu.Lock()
	defer c.mu.Unlock()

	return slices.Clone(c.assumed)
}

func (c *Cloud) stsOperations() map[string]operation {
	return map[string]operation{
		"AssumeRole":        c.assumeRole,
		unsignedAction:      c.assumeRole,
		"GetCallerIdentity": c.getCallerIdentity,
	}
}

var (
	roleARN     = regexp.MustCompile(`^arn:aws[a-z-]*:iam::(\d{12}):role/([\w+=,.@/-]+)$`)
	sessionName = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)
)

// Lifetimes of the credentials that AssumeRole returns, in seconds.
const (
	shortestSession = 900
	standardSession = 3600
	longestSession  = 43200
)

func (c *Cloud) roleARN(name string) string {
	part, _ := partition(c.opts.Region)

	return "arn:" + part + ":iam::" + c.opts.AccountID + ":role/" + name
}

// issue makes credentials of a role.
func (c *Cloud) issue(role, session string, expires time.Time) (id string, made credential) {
	id = "ASIA" + strings.ToUpper(c.ids.Hex("access key", 16))
	made = credential{secret: c.ids.Hex("secret", 40), token: c.ids.Hex("session token", 64), role: role, session: session, expires: expires}
	c.keys[id] = made

	return id, made
}

type assumeRoleResult struct {
	AccessKeyID string `xml:"Credentials>AccessKeyId"`
	Secret      string `xml:"Credentials>SecretAccessKey"`
	Token       string `xml:"Credentials>SessionToken"`
	Expiration  string `xml:"Credentials>Expiration"`
	RoleID      string `xml:"AssumedRoleUser>AssumedRoleId"`
	ARN         string `xml:"AssumedRoleUser>Arn"`
}

// assumeRole implements AssumeRole and AssumeRoleWithWebIdentity.
func (c *Cloud) assumeRole(p params) (any, error) {
	if err := p.require("RoleArn", "RoleSessionName"); err != nil {
		return nil, err
	}
	role, session := p.str("RoleArn"), p.str("RoleSessionName")
	duration, err := p.int32("DurationSeconds")
	if err != nil {
		return nil, err
	}
	if duration == nil {
		duration = new(int32(standardSession))
	}
	if p.str("Action") == unsignedAction {
		if err := p.require("WebIdentityToken"); err != nil {
			return nil, err
		}
	}
	match := roleARN.FindStringSubmatch(role)
	switch {
	case match == nil:
		return nil, fail("ValidationError", "%s is invalid", role)
	case !sessionName.MatchString(session):
		return nil, fail("ValidationError", "1 validation error detected: Value '%s' at 'roleSessionName' failed to satisfy constraint", session)
	case *duration < shortestSession || *duration > longestSession:
		return nil, fail("ValidationError", "The requested DurationSeconds is out of range")
	}
	expires := c.opts.Clock.Now().Add(time.Duration(*duration) * time.Second)
	id, made := c.issue(role, session, expires)
	c.assumed = append(c.assumed, AssumedRole{
		RoleARN: role, SessionName: session, AccessKeyID: id, WebIdentityToken: p.str("WebIdentityToken"),
		SourceAccount: p.header.Get("x-amz-source-account"), SourceARN: p.header.Get("x-amz-source-arn"),
	})

	return &assumeRoleResult{
		AccessKeyID: id, Secret: made.secret, Token: made.token, Expiration: expires.UTC().Format(time.RFC3339),
		RoleID: "AROAEXAMPLE:" + session, ARN: sessionARN(role, session),
	}, nil
}

// sessionARN names a session of a role as GetCallerIdentity does.
func sessionARN(role, session string) string {
	match := roleARN.FindStringSubmatch(role)
	part := strings.Split(role, ":")[1]
	name := match[2][strings.LastIndexByte(match[2], '/')+1:]

	return "arn:" + part + ":sts::" + match[1] + ":assumed-role/" + name + "/" + session
}

// getCallerIdentity implements GetCallerIdentity.
func (c *Cloud) getCallerIdentity(p params) (any, error) {
	s, ok := parseSignature(p.header.Get("Authorization"))
	if !ok {
		return nil, &apiError{http.StatusForbidden, "MissingAuthenticationToken", "Request is missing Authentication Token"}
	}
	part, _ := partition(c.opts.Region)
	account, arn := c.opts.AccountID, "arn:"+part+":iam::"+c.opts.AccountID+":user/cluster"
	if known := c.keys[s.key]; known.role != "" {
		account, arn = roleARN.FindStringSubmatch(known.role)[1], sessionARN(known.role, known.session)
	}

	return &struct {
		ARN     string `xml:"Arn"`
		UserID  string `xml:"UserId"`
		Account string `xml:"Account"`
	}{arn, s.key, account}, nil
}
