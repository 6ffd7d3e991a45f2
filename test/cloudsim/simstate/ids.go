package simstate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
)

// IDs makes the IDs of new objects. The zero value is ready to use.
type IDs struct {
	last map[string]int // by kind
}

// Next returns 1, 2, 3 and so on for each kind of object.
func (i *IDs) Next(kind string) int {
	if i.last == nil {
		i.last = make(map[string]int)
	}
	i.last[kind]++

	return i.last[kind]
}

// Hex returns up to 64 hexadecimal digits that look random and are the same in every
// run. With a dozen digits or more, those of a kind differ.
func (i *IDs) Hex(kind string, digits int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, i.Next(kind)))

	return hex.EncodeToString(sum[:])[:digits]
}

// Clone returns a copy.
func (i *IDs) Clone() IDs { return IDs{last: maps.Clone(i.last)} }
