package aws

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
)

// permissions is the page about the actions that an IAM policy has to allow.
var permissions = filepath.Join("..", "..", "docs", "reference", "aws-iam.md")

var (
	// actionRow matches the action at the beginning of a row of a table.
	actionRow = regexp.MustCompile("(?m)^\\| `([a-z0-9]+:[A-Za-z]+)`")
	// policyBlock matches the policy.
	policyBlock = regexp.MustCompile("(?s)\n```json\n(.*?)```\n")
)

// TestActions checks that the page of IAM permissions lists every operation that
// the provider calls, and no other, and that its policy allows them.
func TestActions(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(permissions)
	if err != nil {
		t.Fatal(err)
	}
	want := calledActions(t)
	// AWS and the credentials of the SDK call these.
	want.Insert("iam:CreateServiceLinkedRole", "sts:AssumeRole")
	listed := sets.New[string]()
	for _, row := range actionRow.FindAllStringSubmatch(string(page), -1) {
		if listed.Has(row[1]) {
			t.Errorf("%s has two rows", row[1])
		}
		listed.Insert(row[1])
	}
	if diff := cmp.Diff(sets.List(want), sets.List(listed)); diff != "" {
		t.Errorf("rows of %s (-code +page):\n%s", permissions, diff)
	}
	// The policy of the role that is assumed does not allow to assume it.
	want.Delete("sts:AssumeRole")
	if diff := cmp.Diff(sets.List(want), policyActions(t, page)); diff != "" {
		t.Errorf("policy of %s (-code +page):\n%s", permissions, diff)
	}
}

// calledActions returns the actions of all operations in the interfaces of the
// clients, each of which must be called somewhere.
func calledActions(t *testing.T) sets.Set[string] {
	t.Helper()
	actions, code := sets.New[string](), ownCode(t)
	for api, prefix := range map[reflect.Type]string{
		reflect.TypeFor[client.EC2]():   "ec2:",
		reflect.TypeFor[client.ELB]():   "elasticloadbalancing:",
		reflect.TypeFor[client.ELBV2](): "elasticloadbalancing:",
	} {
		for method := range api.Methods() {
			actions.Insert(prefix + method.Name)
			if !strings.Contains(code, "."+method.Name+"(") && !strings.Contains(code, ".New"+method.Name+"Paginator(") {
				t.Errorf("nothing calls %s", method.Name)
			}
		}
	}

	return actions
}

// policyActions returns the actions of the policy in the page, which must be
// sorted.
func policyActions(t *testing.T, page []byte) []string {
	t.Helper()
	block := policyBlock.FindSubmatch(page)
	if block == nil {
		t.Fatalf("%s has no policy", permissions)
	}
	var policy struct{ Statement []struct{ Action []string } }
	if err := json.Unmarshal(block[1], &policy); err != nil || len(policy.Statement) != 1 {
		t.Fatalf("policy has %d statements, error %v", len(policy.Statement), err)
	}

	return policy.Statement[0].Action
}

// ownCode is the code of this provider but for its clients and its tests.
func ownCode(t *testing.T) string {
	t.Helper()
	var code strings.Builder
	skip := []string{filepath.Join("internal", "client"), "testdata"}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skip, path):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(filepath.Clean(path))
		code.Write(text)

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return code.String()
}
