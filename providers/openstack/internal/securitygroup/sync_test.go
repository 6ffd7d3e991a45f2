package securitygroup

import (
	"testing"
)

const webRules = "tcp 30080 from 10.0.0.0/16, tcp 30443 from 10.0.0.0/16"

// callsOf returns the calls of a function.
func callsOf(f *fixture, fn func()) string {
	f.Interceptor().Reset()
	fn()

	return f.calls()
}

func (f *fixture) mustSyncOnce(t *testing.T) {
	t.Helper()
	must(t, f.sync(bounded(t), f.client).err)
}
