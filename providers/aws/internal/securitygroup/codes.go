package securitygroup

import (
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
)

// The error codes of EC2 that determine the next action of a step. Sentinels do
// not distinguish a resource that exists from one that is in use.
const (
	codeGroupExists  = "InvalidGroup.Duplicate"
	codeGroupMissing = "InvalidGroup.NotFound"
	codeRuleExists   = "InvalidPermission.Duplicate"
	codeRuleMissing  = "InvalidPermission.NotFound"
	codeInUse        = "DependencyViolation"
	codeRuleLimit    = "RulesPerSecurityGroupLimitExceeded"
)

func hasCode(err error, codes ...string) bool {
	return err != nil && slices.Contains(codes, client.Code(err))
}
