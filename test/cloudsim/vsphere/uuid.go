package vsphere

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// makeUUID derives a UUID from names, the same one in every run.
func makeUUID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	sum[6] = sum[6]&0x0f | 0x50 // version 5: derived from a name
	sum[8] = sum[8]&0x3f | 0x80 // the usual variant

	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
