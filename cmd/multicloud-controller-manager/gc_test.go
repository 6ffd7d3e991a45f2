package main

import (
	"runtime/debug"
	"testing"
)

// Memory is saved unless the user has set a limit.
func TestSaveMemory(t *testing.T) {
	const usual = 100
	before := debug.SetGCPercent(usual)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for gogc, want := range map[string]int{"": gcPercent, "off": usual, "200": usual} {
		debug.SetGCPercent(usual)
		saveMemory(gogc)
		if got := debug.SetGCPercent(usual); got != want {
			t.Errorf("GOGC=%q: %d%%, want %d%%", gogc, got, want)
		}
	}
}
