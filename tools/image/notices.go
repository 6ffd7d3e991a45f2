package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/licensecheck"
)

// standardLibrary is the name of Go's standard library in databases of vulnerabilities
// (https://go.dev/doc/security/vuln/database#schema).
const standardLibrary = "stdlib"

// allowed are the licenses under which a binary may be distributed with the license of
// this project, as long as their texts come with it.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unlicense"}

// patentGrant is what Go's own modules have beside their license: a grant, which needs no
// permission.
const patentGrant = "GooglePatentsFile"

var (
	// licenseFile is the name of a file with a license or a notice.
	licenseFile = regexp.MustCompile(`(?i)^(licen[cs]es?|copying|notices?|patents|copyright)([._-].*)?$`)
	// remark is the name of one that need not have a license.
	remark = regexp.MustCompile(`(?i)^(notice|patents|copyright)`)
)

// notices are the texts that come with a binary.
type notices struct {
	text []byte
	// licenses are the SPDX IDs of the licenses of each module.
	licenses map[string][]string
}

// source is a module and where its files are.
type source struct {
	Path, Version, Dir, Error string
}

// readNotices reads the licenses of all modules of the programs from the module cache, as
// the module in a folder requires them. A module without a license, or with one that is not
// allowed, is an error.
func readNotices(ctx context.Context, folder string, programs []program, roots certificates) (notices, error) {
	sources, err := locate(ctx, folder, programs)
	if err != nil {
		return notices{}, err
	}
	scan, err := newScanner()
	if err != nil {
		return notices{}, err
	}
	var n notices
	var works []work
	var failed []error
	n.licenses = map[string][]string{}
	for _, s := range sources {
		files, ids, err := scan.readLicenses(s)
		if err != nil {
			failed = append(failed, err)

			continue
		}
		n.licenses[s.Path] = ids
		works = append(works, work{s.Path + " " + s.Version + " (" + strings.Join(ids, ", ") + ")", files})
	}
	if err := errors.Join(failed...); err != nil {
		return notices{}, err
	}
	works = append(works, work{"CA certificates of " + roots.source, []document{{"about", []byte(
		"The public ones are those of Mozilla's root store, under the Mozilla Public License 2.0: https://mozilla.org/MPL/2.0/")}}})
	n.text = render(works)

	return n, nil
}

// document is a file with a text.
type document struct {
	name string
	text []byte
}

// work is something of others, with the texts that come with it.
type work struct {
	title string
	files []document
}

// render lists the works with the numbers of their texts, and then each text once. Texts that
// differ in white space alone are the same.
func render(works []work) []byte {
	var list, texts bytes.Buffer
	numbers := map[string]int{}
	for _, w := range works {
		var own []int
		for _, f := range w.files {
			words := string(bytes.Join(bytes.Fields(f.text), []byte(" ")))
			number, ok := numbers[words]
			if !ok {
				number = len(numbers) + 1
				numbers[words] = number
				fmt.Fprintf(&texts, "\n%s\nText %d\n\n%s\n", strings.Repeat("=", 80), number, bytes.TrimSpace(f.text))
			}
			if !slices.Contains(own, number) {
				own = append(own, number)
			}
		}
		slices.Sort(own)
		fmt.Fprintf(&list, "%s: %s\n", w.title, strings.Trim(strings.ReplaceAll(fmt.Sprint(own), " ", ", "), "[]"))
	}

	return slices.Concat([]byte("This program contains the following works of others. The numbers are those of the texts below.\n\n"),
		list.Bytes(), texts.Bytes())
}

// locate returns the folders of all modules of the programs, and of the standard library. The
// module in a folder has their checksums.
func locate(ctx context.Context, folder string, programs []program) ([]source, error) {
	versions := map[string]bool{}
	for _, p := range programs {
		for _, m := range p.modules() {
			versions[m.Path+"@"+m.Version] = true
		}
	}
	root, err := goCommand(ctx, folder, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	sources := []source{{Path: standardLibrary, Version: programs[0].info.GoVersion, Dir: strings.TrimSpace(string(root))}}
	if len(versions) > 0 {
		names := slices.Sorted(maps.Keys(versions))
		listed, err := goCommand(ctx, folder, append([]string{"mod", "download", "-json"}, names...)...)
		if err != nil {
			return nil, err
		}
		for decoder := json.NewDecoder(bytes.NewReader(listed)); decoder.More(); {
			var s source
			if err := decoder.Decode(&s); err != nil {
				return nil, fmt.Errorf("read the list of modules: %w", err)
			}
			if s.Error != "" {
				return nil, fmt.Errorf("find module %s %s: %s", s.Path, s.Version, s.Error)
			}
			sources = append(sources, s)
		}
	}
	slices.SortFunc(sources, func(a, b source) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Version, b.Version)) })

	return sources, nil
}

// goCommand returns what a command of Go prints in a folder.
func goCommand(ctx context.Context, folder string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = folder
	var problem bytes.Buffer
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil && len(out) == 0 { // with -json, the failures are in the output
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, bytes.TrimSpace(problem.Bytes()))
	}

	return out, nil
}

// readLicenses returns the texts of a module, each once, and the licenses in them.
func (l scanner) readLicenses(s source) ([]document, []string, error) {
	var files []document
	err := filepath.WalkDir(s.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipped(s, path, entry)
		}
		if !entry.Type().IsRegular() || !licenseFile.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && !slices.ContainsFunc(files, func(f document) bool { return bytes.Equal(f.text, text) }) {
			files = append(files, document{strings.TrimPrefix(path, s.Dir+"/"), text})
		}

		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read licenses of %s %s: %w", s.Path, s.Version, err)
	}
	ids, err := l.identify(files)
	if err != nil {
		return nil, nil, fmt.Errorf("licenses of %s %s: %w", s.Path, s.Version, err)
	}

	return files, ids, nil
}

// skipped returns [fs.SkipDir] for folders of which nothing is in a binary. Of the
// standard library, only the license of Go counts.
func skipped(s source, path string, entry fs.DirEntry) error {
	if path == s.Dir {
		return nil
	}
	if s.Path == standardLibrary || entry.Name() == "testdata" || entry.Name() == "vendor" || strings.HasPrefix(entry.Name(), ".") {
		return fs.SkipDir
	}

	return nil
}

// leastKnown is the part of a license file that must be known, in percent of its words: the
// rest is room for the names of copyright holders.
const leastKnown = 75

// scanner identifies the licenses that are allowed, and no others: a text that it does not
// find needs a decision of a maintainer.
type scanner struct {
	licenses *licensecheck.Scanner
	found    map[string]licensecheck.Coverage // by text, because few of them differ
}

// allowedLicenses is made once, because that takes long.
var allowedLicenses = sync.OnceValues(func() (*licensecheck.Scanner, error) {
	return licensecheck.NewScanner(slices.DeleteFunc(licensecheck.BuiltinLicenses(), func(l licensecheck.License) bool {
		return l.ID != patentGrant && !slices.Contains(allowed, l.ID)
	}))
})

func newScanner() (scanner, error) {
	licenses, err := allowedLicenses()
	if err != nil {
		return scanner{}, fmt.Errorf("read the allowed licenses: %w", err)
	}

	return scanner{licenses, map[string]licensecheck.Coverage{}}, nil
}

func (l scanner) scan(text []byte) licensecheck.Coverage {
	coverage, ok := l.found[string(text)]
	if !ok {
		coverage = l.licenses.Scan(text)
		l.found[string(text)] = coverage
	}

	return coverage
}

// identify returns the licenses in the files of a module. A license that is not allowed is
// an error, and so is a module without any.
func (l scanner) identify(files []document) ([]string, error) {
	var ids []string
	for _, f := range files {
		coverage := l.scan(f.text)
		if coverage.Percent < leastKnown && !remark.MatchString(filepath.Base(f.name)) {
			return nil, fmt.Errorf("%.0f %% of %s are one of the licenses %s, want %d %%", coverage.Percent, f.name, strings.Join(allowed, ", "), leastKnown)
		}
		for _, match := range coverage.Match {
			if match.ID != patentGrant && !slices.Contains(ids, match.ID) {
				ids = append(ids, match.ID)
			}
		}
	}
	if len(ids) == 0 {
		return nil, errors.New("no file has a license")
	}
	slices.Sort(ids)

	return ids, nil
}
