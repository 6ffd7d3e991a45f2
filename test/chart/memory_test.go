package chart

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

// memoryLimitOfGo is the line of the manifests that limits the memory of Go.
var memoryLimitOfGo = regexp.MustCompile(`name: GOMEMLIMIT\n +value: "(\d+)"\n`)

// GOMEMLIMIT is 90 % of what Kubernetes reads in a limit, and what it cannot read is an error.
func TestMemoryLimitOfGo(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		limits []string
	}{
		"binary":      {"powers of 1024", []string{"2048Ki", "256Mi", "1.5Gi", "0.1Ti", "1Pi", "1Ei"}},
		"decimal":     {"powers of 1000, and the empty suffix", []string{"2000000", "2048k", "300M", "1G", ".5T", "5.P", "+2E"}},
		"fractions":   {"what a quantity becomes by arithmetic", []string{"128974848000m", "300000000000000u", "300000000000000000n"}},
		"exponents":   {"E with digits is an exponent", []string{"1e9", "1E9", "2.5e+08", "5000000000e-1"}},
		"huge":        {"a number has 64 bits", []string{"100E", "12Ei"}},
		"none":        {"0 and the empty text are no limit", []string{"0", "0Gi", ""}},
		"wrong":       {"Kubernetes refuses them, too", []string{"256MB", "1ki", "1 Gi", "1e3Ki", "1.2.3Gi", "0x10Mi"}},
		"too small":   {"the container could not start: a unit is wrong", []string{"256m", "500", "1023Ki"}},
		"less than 0": {"Kubernetes refuses them, too", []string{"-1Gi", "-256m"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, limit := range tc.limits {
				want, ok := memoryOfGo(limit)
				manifest, err := helm.Release{
					Program: helm.Four, Values: "provider: aws\ntest: {enabled: false}\nresources: {limits: {memory: '" + limit + "'}}\n",
				}.Template(t.Context())
				if !ok {
					if err == nil || !strings.Contains(err.Error(), "resources.limits.memory is ") {
						t.Errorf("%s: %q: want an error that names the value, got %v", tc.reason, limit, err)
					}

					continue
				}
				if err != nil {
					t.Errorf("%s: %q: %v", tc.reason, limit, err)
				}
				if got := renderedMemory(t, manifest); math.Abs(float64(got)-want) > 1+want*1e-15 {
					t.Errorf("%s: %q: want %.0f bytes, got %d", tc.reason, limit, want, got)
				}
			}
		})
	}
}

// memoryOfGo is 90 % of a limit, which is 0 for none. Without ok, it is no limit for a container.
func memoryOfGo(limit string) (want float64, ok bool) {
	const least, part = 1 << 20, 0.9
	if limit == "" {
		return 0, true
	}
	quantity, err := resource.ParseQuantity(limit)
	if err != nil {
		return 0, false
	}
	bytes := min(quantity.AsApproximateFloat64(), math.MaxInt64)

	return bytes * part, bytes == 0 || bytes >= least
}

// renderedMemory is the limit in the manifests, which is 0 for none.
func renderedMemory(t *testing.T, manifest []byte) int64 {
	t.Helper()
	found := memoryLimitOfGo.FindSubmatch(manifest)
	if found == nil {
		return 0
	}
	bytes, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}

	return bytes
}
