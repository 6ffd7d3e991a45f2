package main

import (
	"runtime/debug"
	"testing"
)

// GOGC of the user has precedence.
func TestSetGCPercent(t *testing.T) {
	const usual = 100
	before := debug.SetGCPercent(usual)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for gogc, want := range map[string]int{"": gcPercent, "off": usual, "200": usual} {
		debug.SetGCPercent(usual)
		setGCPercent(gogc)
		if got := debug.SetGCPercent(usual); got != want {
			t.Errorf("GOGC=%q: %d%%, want %d%%", gogc, got, want)
		}
	}
}
