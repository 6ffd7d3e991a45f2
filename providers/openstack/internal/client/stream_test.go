package client

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// streamed has a field of each kind.
type streamed struct {
	ID   string           `json:"id"`
	IDs  IDs              `json:"ids"`
	Rows Rows[streamed]   `json:"rows"`
	Last map[string][]int `json:"last"`
}

func (s *streamed) stream(d *json.Decoder) error { return readObject(d, pointersOf(s)) }

// What is decoded piece by piece is the same as if it were decoded as a whole, and fields
// that are not needed are skipped, whatever they are.
func TestStream(t *testing.T) {
	t.Parallel()
	const other = `"n": null, "o": {"a": [1, {"b": []}], "c": {}}, "l": [[], {}, "]", 1.5, true], "s": "}"`
	cases := map[string]struct {
		reason, text string
		want         streamed
		fails        bool
	}{
		"all": {
			reason: "fields among others",
			text:   `{` + other + `, "id": "1", "ids": [{` + other + `, "id": "2"}, {"id": "3"}], "rows": [{"id": "4", ` + other + `}], "last": {"x": [1]}}`,
			want:   streamed{ID: "1", IDs: IDs{"2", "3"}, Rows: Rows[streamed]{{ID: "4"}}, Last: map[string][]int{"x": {1}}},
		},
		"empty":       {reason: "an object without fields", text: `{}`},
		"empty lists": {reason: "lists without items", text: `{"ids": [], "rows": []}`, want: streamed{IDs: IDs{}}},
		"null lists":  {reason: "no items either", text: `{"ids": null, "rows": null, "id": "1"}`, want: streamed{ID: "1", IDs: IDs{}}},
		"null in row": {reason: "in a row, too", text: `{"rows": [{"id": "1", "rows": null}]}`, want: streamed{Rows: Rows[streamed]{{ID: "1"}}}},
		"a list":      {reason: "not the kind that is expected", text: `[]`, fails: true},
		"no list":     {reason: "not the kind that is expected", text: `{"rows": {}}`, fails: true},
		"null":        {reason: "not the kind that is expected", text: `null`, fails: true},
		"cut":         {reason: "a part of it", text: `{"id": "1", "o": {"a": [1, `, fails: true},
		"cut in list": {reason: "a part of it", text: `{"rows": [{"id": "1"}`, fails: true},
		"cut in item": {reason: "a part of it", text: `{"l": [{"id": "1"`, fails: true},
		"broken":      {reason: "no JSON", text: `{"o": {1: 2}}`, fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got streamed
			err := got.stream(json.NewDecoder(strings.NewReader(tc.text)))
			if (err != nil) != tc.fails {
				t.Fatalf("%s: error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" && !tc.fails {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
