package contract

import (
	"strings"
	"testing"
)

// TestGolden checks that each scenario has the responses of all its steps.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			records, err := Recorded(s.Name)
			if err != nil {
				t.Fatal(err)
			}
			var steps []*Step
			for i := range s.Steps {
				if s.Steps[i].Fixture == "" {
					steps = append(steps, &s.Steps[i])
				}
			}
			if len(records) != len(steps) {
				t.Fatalf("%d responses for %d requests", len(records), len(steps))
			}
			for i, r := range records {
				request := steps[i].Request
				if steps[i].As != "ccm" {
					request = "as " + steps[i].As + " " + request
				}
				if r.Step != steps[i].Name || !strings.HasPrefix(r.Text, request+"\n") {
					t.Errorf("response %d is of %q, not of %q %s", i, r.Step, steps[i].Name, request)
				}
			}
		})
	}
}

// TestVolume checks that the contract covers what it must, and stays small.
func TestVolume(t *testing.T) {
	t.Parallel()
	requests, kinds, lists, size := 0, map[string]int{}, map[string]int{}, 0
	for _, s := range scenarios(t) {
		for i := range s.Steps {
			if s.Steps[i].Fixture != "" {
				continue
			}
			requests++
			for _, k := range s.Steps[i].Kinds {
				kinds[k]++
				if k == "list" {
					lists[s.API()]++
				}
			}
		}
		records, err := Recorded(s.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			size += len(r.Step) + len(r.Text)
		}
	}
	t.Logf("%d requests, kinds %v, lists %v, %d bytes of responses", requests, kinds, lists, size)
	if requests < 160 || kinds["state"] < 10 || kinds["policy"] < 10 || kinds["version"] < 6 {
		t.Errorf("too few: %d requests, %v", requests, kinds)
	}
	for _, api := range []string{"nova", "neutron", "octavia"} {
		if lists[api] < 8 {
			t.Errorf("%s has %d lists, want 8", api, lists[api])
		}
	}
	if size > 400<<10 {
		t.Errorf("responses are %d bytes, want at most 400 KiB", size)
	}
}

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
