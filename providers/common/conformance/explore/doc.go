// Package explore interrupts an operation at each of its calls to a cloud and
// checks that the next process completes it or cleans up after it.
//
// What it promises: the operation is run once without faults, which is the
// baseline, and then once for each [Injection], always from the same start. A run
// that returns no error must have ended as the baseline did. Whatever a run left,
// the next process must reach the end that it reaches after the baseline. Two
// faults in a row are a case of their own, see [Explorer.InjectPair].
//
// A test brings a [Run]: the cloud, the operation, and what the next process does.
//
//	explorer := explore.Explorer{Begin: func(t testing.TB, _ int) explore.Run {
//		cloud := newCloud(t)
//		return explore.Run{
//			Cloud:   cloud,
//			Operate: func(ctx context.Context) error { return create(ctx, cloud) },
//			Next:    []explore.Process{{Recover: func() { mustCreate(t, cloud) }}},
//		}
//	}}
//	for call := range explorer.Baseline(t).Calls {
//		for _, fault := range explore.Faults() {
//			explorer.Inject(t, explore.Injection{First: call + 1, Fault: fault})
//		}
//	}
//
// A run begins at the call that the fault is injected at: a test that records the
// exchanges of the baseline can restore the cloud and replay them up to there,
// and a test that does not begins each run in a new cloud.
//
// Do not use it for operations that make their calls in no certain order, nor for
// outages of the whole cloud: package conformance has those.
package explore
