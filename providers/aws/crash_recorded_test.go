package aws

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// recordingFile returns the golden file of a scenario.
func recordingFile(name string) string {
	for _, kind := range []string{"classic", "network"} {
		if strings.HasPrefix(name, kind) {
			return kind
		}
	}

	return "other"
}

// golden describes the baseline for the recordings, which go test -run '^TestCrash$' -update writes
// without the race detector: the different reads, the writes in order, and what has come
// and gone in the region.
func (c *crash) golden(before regionState) string {
	reads := map[string]bool{}
	var writes []string
	for _, one := range c.recording.exchanges[c.primed:] {
		input, _ := json.Marshal(one.input)
		line := one.op + " " + withoutNulls(input)
		if sim.Mutating(one.op) {
			writes = append(writes, line)
		} else {
			reads[line] = true
		}
	}
	then, now := strings.Split(before.dump, "\n"), strings.Split(c.want.dump, "\n")
	var b strings.Builder
	for _, part := range []struct {
		name, prefix string
		lines        []string
	}{
		{"reads", "", slices.Sorted(maps.Keys(reads))},
		{"writes", "", writes},
		{"events", "", c.events},
		{"blocked", "", c.unreached},
		{"gone", "- ", lists.Without(then, now)},
		{"new", "+ ", lists.Without(now, then)},
	} {
		b.WriteString("== " + part.name + "\n")
		for _, line := range part.lines {
			b.WriteString(part.prefix + line + "\n")
		}
	}

	return b.String()
}

// withoutNulls returns an input of the SDK without what is not set.
func withoutNulls(input []byte) string {
	var value any
	if json.Unmarshal(input, &value) != nil {
		return string(input)
	}
	text, _ := json.Marshal(pruned(value))

	return string(text)
}

func pruned(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			if v[key] = pruned(field); v[key] == nil || v[key] == "" {
				delete(v, key)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = pruned(v[i])
		}
	}

	return value
}
