package contract

import (
	"strings"
	"testing"
)

// TestScrubbed checks that no golden file contains an ID, a token or a time of
// the cloud that it was recorded from.
func TestScrubbed(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios(t) {
		records, err := Recorded(s.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			for _, id := range idPattern.FindAllString(r.Text, -1) {
				if !strings.Contains(s.text, id) {
					t.Errorf("%s, step %q: contains %s", s.Name, r.Step, id)
				}
			}
			if strings.Contains(r.Text, "gAAAA") || strings.Contains(r.Text, "127.0.0.1:") {
				t.Errorf("%s, step %q: contains a token or an endpoint", s.Name, r.Step)
			}
		}
	}
}

func scenarios(t *testing.T) []*Scenario {
	t.Helper()
	all, err := Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no scenarios")
	}

	return all
}
