package request

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/uuid"
)

// id reads an ID. An empty annotation counts as a missing one.
func (p *parser) id(name annotation.Name) string {
	id := name.Value(p.svc)
	if id != "" && !uuid.IsID(id) {
		p.strict.Reject(name, "an ID, which is a UUID")

		return ""
	}

	return id
}

// text reads a text. An empty annotation counts as a missing one.
func (p *parser) text(name annotation.Name, fallback string) string {
	if value := name.Value(p.svc); value != "" {
		return value
	}

	return fallback
}

// textOrEmpty reads a text. An empty annotation is the empty text.
func (p *parser) textOrEmpty(name annotation.Name, fallback string) string {
	if name.IsSet(p.svc) {
		return name.Value(p.svc)
	}

	return fallback
}

// boolean reads true or false. Another value has the effect of a missing one, and
// causes a warning.
func (p *parser) boolean(name annotation.Name, fallback bool) bool {
	reader := annotation.NewReader(p.svc)
	value := reader.TrueFalse(name)
	if reader.Err() != nil {
		p.ignoreValue(name, "true or false", fmt.Sprint(fallback))
	}
	if value == nil {
		return fallback
	}

	return *value
}

// between is a range of numbers, with its ends.
type between struct{ least, most int32 }

func (b between) String() string {
	if b.most == maxInt32 {
		return fmt.Sprintf("a number of at least %d", b.least)
	}

	return fmt.Sprintf("a number from %d to %d", b.least, b.most)
}

func (b between) has(number int) bool { return number >= int(b.least) && number <= int(b.most) }

// number reads a number. A text that is none has the effect of a missing annotation, and
// causes a warning; a number outside of the range is an error, as Octavia refuses it.
func (p *parser) number(name annotation.Name, fallback int32, valid between) int32 {
	reader := annotation.NewReader(p.svc)
	value := reader.Int32(name)
	switch {
	case reader.Err() != nil:
		p.ignoreValue(name, "a whole number", fmt.Sprint(fallback))

		return fallback
	case value == nil:
		return fallback
	case !valid.has(int(*value)):
		p.strict.Reject(name, valid.String())
	}

	return *value
}

// ignoreValue warns of a value that cannot be read, and what has effect instead.
func (p *parser) ignoreValue(name annotation.Name, want, used string) {
	bad := &annotation.Error{Name: name, Value: name.Value(p.svc), Want: want}
	p.warn(IgnoredAnnotation, "%s: %s is used", capital(bad.Error()), used)
}

// ignore warns of an annotation without effect, if it is set.
func (p *parser) ignore(name annotation.Name, why string) {
	if name.Value(p.svc) != "" {
		p.warn(IgnoredAnnotation, "Annotation %s is ignored: %s", name, why)
	}
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// labels parses a list such as k=v,k2. Blanks around keys and values do not count.
func labels(list string) map[string]string {
	const name annotation.Name = "labels"
	parsed := name.KeyValues(&metav1.ObjectMeta{Annotations: map[string]string{string(name): list}})
	trimmed := make(map[string]string, len(parsed))
	for key, value := range parsed {
		if key = strings.TrimSpace(key); key != "" {
			trimmed[key] = strings.TrimSpace(value)
		}
	}

	return trimmed
}
