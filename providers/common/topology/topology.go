// Package topology converts names from a cloud to label values.
//
// What it promises: every value it returns is one that the API server accepts
// as a label value (at most 63 of A-Z a-z 0-9 - _ . with a letter or digit at
// both ends, or empty), since one bad value keeps a whole Node from being
// updated. The same name always has the same value, a valid name is not
// changed, and callers see whether it was.
package topology

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

const (
	maxLength = 63
	hashChars = 8
)

// Valid reports whether name can be a label value as it is.
func Valid(name string) bool { return len(content.IsLabelValue(name)) == 0 }

// Clean makes a label value of name, the way OpenStack nodes have always been
// labeled:
//
//	each run of other characters   becomes one -
//	- _ . at both ends             are cut off
//	what is beyond 63 characters   is cut off, and - _ . before it
//
// Different names can have the same value, and the value of a name without a
// single valid character is empty. See [CleanUnique] for names where that
// matters.
func Clean(name string) (value string, changed bool) {
	if Valid(name) {
		return name, false
	}

	return cut(replace(name), maxLength), true
}

// CleanUnique makes a label value of name that, if it had to be changed, ends
// in eight hexadecimal digits of the SHA-256 of the name:
//
//	rack 7     becomes   rack-7-447c3153
//	Zürich     becomes   Z-rich-4251685e
//
// Thus two zones never become one by accident.
func CleanUnique(name string) (value string, changed bool) {
	if Valid(name) {
		return name, false
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:])[:hashChars]
	readable := cut(replace(name), maxLength-len("-")-hashChars)
	if readable == "" {
		return hash, true
	}

	return readable + "-" + hash, true
}

// replace makes one - of each run of characters that no label value has, and
// cuts off what no label value begins or ends with.
func replace(name string) string {
	var b strings.Builder
	inRun := false
	for _, r := range name {
		valid := isValid(r)
		switch {
		case valid:
			b.WriteRune(r)
		case !inRun:
			b.WriteByte('-')
		}
		inRun = !valid
	}

	return strings.Trim(b.String(), "-_.")
}

func isValid(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r)
}

func cut(value string, length int) string {
	return strings.TrimRight(value[:min(len(value), length)], "-_.")
}

// ParseLabels reads the labels that a flag sets on all nodes, as in
// "k=v,k2=v2". A key alone has an empty value, blanks around keys and values do
// not count, empty items are skipped and the last of equal keys wins. The error
// names the flag, and every key and value that the API server would reject.
func ParseLabels(flag, text string) (map[string]string, error) {
	labels := map[string]string{}
	var errs []error
	for item := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		key, value, _ := strings.Cut(item, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if problems := content.IsLabelKey(key); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("invalid %s key %q: %s", flag, key, strings.Join(problems, "; ")))
		}
		if problems := content.IsLabelValue(value); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("invalid %s value %q of key %q: %s", flag, value, key, strings.Join(problems, "; ")))
		}
		labels[key] = value
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}

	return labels, nil
}
