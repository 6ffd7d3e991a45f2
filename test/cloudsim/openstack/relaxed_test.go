package openstack

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// relaxed is the code by which a test makes the cloud refuse less, or respond earlier or later,
// than OpenStack does by default, by the word for its subject.
var relaxed = map[string]*regexp.Regexp{
	"stale": regexp.MustCompile(`openstack\.StaleReads(\{\}|\))`),
	"delay": regexp.MustCompile(`openstack\.Delays\{|:= openstack\.TypicalDelays\(`),
	"quota": regexp.MustCompile(`openstack\.Quotas\{`),
}

// TestRelaxedTestsHaveAReason checks that each test in which the cloud is more lenient
// than by default has a comment with the reason: on the same line, above it, or in the
// comment of the function if that names what is relaxed.
func TestRelaxedTestsHaveAReason(t *testing.T) {
	t.Parallel()
	found := 0
	for _, folder := range []string{"../../../providers/openstack", "../../../test"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") {
				return err
			}
			text, err := os.ReadFile(path)
			if strings.Contains(string(text), `/test/cloudsim/openstack"`) {
				found += checkRelaxed(t, path, strings.Split(string(text), "\n"))
			}

			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("no test is relaxed: the check does not find them any more")
	}
}

// checkRelaxed checks a file, and returns how many places of it are relaxed.
func checkRelaxed(t *testing.T, path string, lines []string) (found int) {
	t.Helper()
	var doc, block string // the comments of the function and of what comes next
	for i, line := range lines {
		if strings.HasPrefix(line, "func ") {
			doc = strings.ToLower(block)
		}
		if block += line; !strings.HasPrefix(line, "//") {
			block = ""
		}
		for subject, code := range relaxed {
			if !code.MatchString(line) || subject == "quota" && !raises(line) {
				continue
			}
			found++
			if !strings.Contains(lines[i-1]+line, "// ") && !strings.Contains(doc, subject) {
				t.Errorf("%s:%d: no comment has the reason for this: %s", path, i+1, strings.TrimSpace(line))
			}
		}
	}

	return found
}

var quotaField = regexp.MustCompile(`(\w+): ([-\w.]+)`)

// raises reports whether a quota in a line is above its default.
func raises(line string) bool {
	defaults := reflect.ValueOf(Quotas{}.complete())
	_, line, _ = strings.Cut(line, "openstack.Quotas{")
	line, _, _ = strings.Cut(line, "}")
	for _, field := range quotaField.FindAllStringSubmatch(line, -1) {
		usual := defaults.FieldByName(field[1]).Int()
		value, err := strconv.ParseInt(field[2], 10, 64)
		if usual >= 0 && (err != nil || value < 0 || value > usual) {
			return true
		}
	}

	return false
}
