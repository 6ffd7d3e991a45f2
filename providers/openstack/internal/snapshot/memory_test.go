package snapshot_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// BenchmarkMemory reports what a snapshot of 200 pools with 1,000 members each keeps, and
// what its first pass allocates. A member that is stored takes 16 bytes.
func BenchmarkMemory(b *testing.B) {
	f := newFixture(b, openstack.UserCCM)
	clear(f.nodes)
	for i := range 1000 {
		f.nodes[fmt.Sprintf("node-%d.example.com", i)] = fmt.Sprintf("10.0.%d.%d", 200+i/250, 1+i%250)
	}
	ids := f.addAll(100)
	for b.Loop() {
		b.StopTimer()
		f.restart()
		before := heap()
		var total runtime.MemStats
		runtime.ReadMemStats(&total)
		allocated := total.TotalAlloc
		b.StartTimer()
		for _, id := range ids {
			if o := f.observed(id); o == nil || len(firstPool(o).Members) != 1000 {
				b.Fatalf("load balancer %s: %v", id, o)
			}
		}
		b.StopTimer()
		b.ReportMetric(float64(heap()-before)/(1<<20), "MB-kept")
		runtime.ReadMemStats(&total)
		b.ReportMetric(float64(total.TotalAlloc-allocated)/(1<<20), "MB-allocated")
		b.StartTimer()
	}
	runtime.KeepAlive(f.Snapshot)
}

// heap returns how many bytes are in use. Twice, since the first one may only begin to
// drop what was interned.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)

	return int64(stats.HeapAlloc)
}
