package kubetest

import "k8s.io/client-go/tools/record"

// Events returns the Events that a recorder has got since the last call, in order. It does not
// wait for others.
func Events(recorder *record.FakeRecorder) []string {
	var all []string
	for {
		select {
		case event := <-recorder.Events:
			all = append(all, event)
		default:
			return all
		}
	}
}
