package main

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	// reasonInCode matches the constant of a reason, of whatever type.
	reasonInCode = regexp.MustCompile(`(?m)^(?:const)?\s+\w+(?: +(?:instance\.|service\.)?Reason)? += "([A-Z][A-Za-z]+)"$`)
	// reasonInPage matches the first cell of a row.
	reasonInPage = regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\|")
)

// TestEvents checks that the page of Events lists exactly the reasons in the code.
func TestEvents(t *testing.T) {
	t.Parallel()
	inCode := map[string]bool{}
	read := func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		for _, match := range reasonInCode.FindAllStringSubmatch(string(code), -1) {
			if strings.Contains(match[0], "Reason") {
				inCode[match[1]] = true
			}
		}

		return err
	}
	if err := errors.Join(filepath.WalkDir(root+"/providers", read), filepath.WalkDir(root+"/cmd", read)); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../events.md")
	if err != nil {
		t.Fatal(err)
	}
	inPage := map[string]bool{}
	for _, match := range reasonInPage.FindAllStringSubmatch(string(page), -1) {
		inPage[match[1]] = true
	}
	if len(inCode) < 20 {
		t.Errorf("%d reasons are in the code", len(inCode))
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(inCode)), slices.Sorted(maps.Keys(inPage))); diff != "" {
		t.Errorf("docs/reference/events.md (-code +page):\n%s", diff)
	}
}
