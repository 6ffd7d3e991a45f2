package aws

// unsignedAction is the one action that needs no signature: a web identity token
// stands in for it.
const unsignedAction = "AssumeRoleWithWebIdentity"

// AssumedRole is a call of AssumeRole that was granted.
type AssumedRole struct {
	RoleARN     string
	SessionName string
}

func (c *Cloud) stsOperations() map[string]operation {
	return map[string]operation{}
}
