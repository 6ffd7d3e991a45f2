package instance

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// notInLabel finds what a label value cannot hold.
var notInLabel = regexp.MustCompile(`[^-A-Za-z0-9_.]+`)

// labelValue makes a valid label value of any text.
func labelValue(text string) string {
	const ends = "-_."
	text = strings.Trim(notInLabel.ReplaceAllString(text, "-"), ends)

	return strings.TrimRight(text[:min(len(text), validation.LabelValueMaxLength)], ends)
}

// validLabels copies the labels with valid values, without those whose key is
// none.
func validLabels(labels map[string]string) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	kept := make(map[string]string, len(labels))
	for key, value := range labels {
		if len(validation.IsQualifiedName(key)) == 0 {
			kept[key] = labelValue(value)
		}
	}

	return kept
}
