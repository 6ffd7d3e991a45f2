package aws

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
)

// guide tells users what the IAM policy has to allow.
var guide = filepath.Join("..", "..", "docs", "guides", "migrate-aws.md")

// action is how the guide writes actions: some with the service in front.
var action = regexp.MustCompile("`(?:[a-z0-9]+:)?([A-Z][A-Za-z]+)`")

// §16: what the clients can do is what is done, and what the guide asks users to
// allow, no more and no less.
func TestActions(t *testing.T) {
	t.Parallel()
	can := sets.New[string]()
	for _, api := range []reflect.Type{reflect.TypeFor[client.EC2](), reflect.TypeFor[client.ELB](), reflect.TypeFor[client.ELBV2]()} {
		for method := range api.Methods() {
			can.Insert(method.Name)
		}
	}
	code := ownCode(t)
	for _, name := range sets.List(can) {
		if !strings.Contains(code, "."+name+"(") && !strings.Contains(code, ".New"+name+"Paginator(") {
			t.Errorf("§16: nobody calls %s", name)
		}
	}
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## What it may do in AWS\n")
	section, _, _ = strings.Cut(section, "\nIn Kubernetes ")
	told := sets.New[string]()
	for _, found := range action.FindAllStringSubmatch(section, -1) {
		told.Insert(found[1])
	}
	// AWS and the credentials of the SDK call these.
	told.Delete("CreateServiceLinkedRole", "AssumeRole", "RoleARN")
	if missing := sets.List(can.Difference(told)); len(missing) > 0 {
		t.Errorf("§16: the guide does not tell of %v", missing)
	}
	if surplus := sets.List(told.Difference(can)); len(surplus) > 0 {
		t.Errorf("§16: the guide asks for %v, which nobody calls", surplus)
	}
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
