package service

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// TestReport shows FW-LB-8.
func TestReport(t *testing.T) {
	t.Parallel()
	web := kubetest.Service("default", "web")
	again := kubetest.Service("default", "web", kubetest.ServiceUID("second life"))
	ignored := Warn("Ignored", "annotation %s has no effect", "x")
	skipped := Warn("Skipped", "node a has no instance")
	const ignoredText, skippedText = "Warning Ignored annotation x has no effect", "Warning Skipped node a has no instance"

	recorder := record.NewFakeRecorder(100)
	reporter := NewReporter()
	reporter.Report(web, []Warning{ignored})
	reporter.SetRecorder(recorder)
	for _, step := range []struct {
		reason string
		report func()
		want   []string
	}{
		{
			reason: "what came before there was a recorder is told once there is one",
			report: func() { reporter.Report(web, []Warning{ignored}) },
			want:   []string{ignoredText},
		},
		{
			reason: "a resync repeats nothing",
			report: func() { reporter.Report(web, []Warning{ignored}) },
		},
		{
			reason: "what is new is told, once, and what stands is not",
			report: func() { reporter.Report(web, []Warning{skipped, ignored, skipped}) },
			want:   []string{skippedText},
		},
		{
			reason: "what is gone makes no Event",
			report: func() { reporter.Report(web, []Warning{ignored}) },
		},
		{
			reason: "a part of the warnings does not end the others",
			report: func() { reporter.Add(web, nil); reporter.Report(web, []Warning{ignored}) },
		},
		{
			reason: "a new one among a part is told, once",
			report: func() {
				reporter.Add(web, []Warning{skipped})
				reporter.Add(web, []Warning{skipped})
				reporter.Report(web, []Warning{ignored})
			},
			want: []string{skippedText},
		},
		{
			reason: "what comes back is told again",
			report: func() { reporter.Report(web, []Warning{ignored, skipped}) },
			want:   []string{skippedText},
		},
		{
			reason: "a Service of the same name that was made anew knows nothing of the old one",
			report: func() { reporter.Report(again, []Warning{ignored}) },
			want:   []string{ignoredText},
		},
		{
			reason: "nothing stands after a report without warnings",
			report: func() { reporter.Report(web, nil); reporter.Report(web, []Warning{skipped}) },
			want:   []string{skippedText},
		},
		{
			reason: "without a recorder nothing is told, and nothing panics",
			report: func() { reporter.SetRecorder(nil); reporter.Report(web, []Warning{ignored}) },
		},
	} {
		step.report()
		if diff := cmp.Diff(step.want, kubetest.Events(recorder)); diff != "" {
			t.Errorf("%s: %s", step.reason, diff)
		}
	}
}

func TestReportShortens(t *testing.T) {
	t.Parallel()
	recorder := record.NewFakeRecorder(1)
	reporter := NewReporter()
	reporter.SetRecorder(recorder)
	reporter.Report(kubetest.Service("default", "web"), []Warning{Warn("Long", "a%s", strings.Repeat("é", 1000))})
	want := "Warning Long a" + strings.Repeat("é", 511)
	if diff := cmp.Diff([]string{want}, kubetest.Events(recorder)); diff != "" {
		t.Errorf("a text is cut between two characters: %s", diff)
	}
}

func TestReportConcurrently(t *testing.T) {
	t.Parallel()
	recorder := record.NewFakeRecorder(1000)
	reporter := NewReporter()
	reporter.SetRecorder(recorder)
	service := kubetest.Service("default", "web")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { reporter.Report(service, []Warning{Warn("Ignored", "x")}) })
	}
	wg.Wait()
	if diff := cmp.Diff([]string{"Warning Ignored x"}, kubetest.Events(recorder)); diff != "" {
		t.Errorf("one warning is one Event: %s", diff)
	}
}
