package tagging

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func manyTags(n int) []string {
	tags := make([]string, n)
	for i := range tags {
		tags[i] = fmt.Sprintf("key-%d=v", i)
	}

	return tags
}

func TestValidate(t *testing.T) {
	t.Parallel()
	const good = "--tags=a=b --resources=instance "
	tests := map[string]struct {
		reason string
		args   string
		want   []string
	}{
		"good":            {"AWS-TAG-1: both are there", good, nil},
		"several":         {"a list of tags", "--tags=a=b,c=d --tags=e= --resources=instance", nil},
		"nothing":         {"required when enabled", "", []string{"--tags is required", "--resources is required"}},
		"other resource":  {"only instance", "--tags=a=b --resources=volume", []string{`--resources=volume: the only kind is "instance"`}},
		"negative limits": {"negative is fatal", good + "--tagging-controller-rate-limit=-1 --tagging-controller-burst-limit=-2", []string{"--tagging-controller-rate-limit=-1", "--tagging-controller-burst-limit=-2"}},
		"no workers":      {"at least 1", good + "--tagging-controller-concurrent-node-syncs=0", []string{"must be at least 1"}},
		"reserved key":    {"EC2 rejects it", "--tags=aws:x=y --resources=instance", []string{`"aws:x": keys that begin with aws: are reserved`}},
		"reserved, upper": {"EC2 rejects any case", "--tags=AWS:x=y --resources=instance", []string{`"AWS:x"`}},
		"too many":        {"no instance can have them", "--resources=instance --tags=" + strings.Join(manyTags(51), ","), []string{"51 tags", "at most 50"}},
		"as many as fit":  {"EC2 accepts them", "--resources=instance --tags=" + strings.Join(manyTags(50), ","), nil},
		"long":            {"EC2 rejects it", "--resources=instance --tags=" + strings.Repeat("k", 129) + "=v,a=" + strings.Repeat("v", 257), []string{"at most 128", "at most 256"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o Options
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.AddFlags(flags)
			if err := flags.Parse(strings.Fields(test.args)); err != nil {
				t.Fatal(err)
			}
			err := o.validate()
			if (err == nil) != (len(test.want) == 0) {
				t.Fatalf("%s: %v", test.reason, err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q is not in: %v", test.reason, want, err)
				}
			}
		})
	}
}

// TestFingerprint is AWS-TAG-2: the MD5 of the sorted pairs, which is on existing
// Nodes. The sums are those of md5sum.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		tags   map[string]string
		want   string
	}{
		"pairs":  {"a=1,b=2", map[string]string{"b": "2", "a": "1"}, "9dc867b7f2bf1e40160f90e46628512e"},
		"prefix": {"team-lead=ann,team=blue: pairs are sorted, not keys", map[string]string{"team": "blue", "team-lead": "ann"}, "09e9824bb11a253834162d6866d791d3"},
		"empty":  {"a=", map[string]string{"a": ""}, "5ba758f9b6f95cbaf66a64bc24859213"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fingerprint(test.tags); got != test.want {
				t.Errorf("%s: fingerprint = %q, want %q", test.reason, got, test.want)
			}
		})
	}
}
