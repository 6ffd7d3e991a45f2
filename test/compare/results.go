package main

import (
	"fmt"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

// metric is something to measure.
type metric struct {
	what   string
	format string // of a value
	chart  bool   // whether the chart has it
}

func calls(what string) metric   { return metric{what: what, format: "%.0f"} }
func seconds(what string) metric { return metric{what: what, format: "%.1f s"} }
func memory(what string) metric  { return metric{what: what, format: "%.0f MiB"} }

// charted has the metric in the chart, too.
func (m metric) charted() metric {
	m.chart = true

	return m
}

// row is a metric with what was measured for the upstream controller and for ours.
type row struct {
	metric

	values [2][]float64
}

// results are rows in the order in which they were measured.
type results struct {
	rows []*row
}

// recorder returns the function that records the values of one of the controllers.
func (r *results) recorder(side int) func(metric, float64) {
	return func(m metric, value float64) {
		i := slices.IndexFunc(r.rows, func(known *row) bool { return known.what == m.what })
		if i < 0 {
			i = len(r.rows)
			r.rows = append(r.rows, &row{metric: m})
		}
		r.rows[i].values[side] = append(r.rows[i].values[side], value)
	}
}

// table shows medians, with the lowest and the highest value if they differ. The lower median
// is the better one.
func (r *results) table(names [2]string) scenario.Table {
	t := scenario.Table{{"what", names[0], names[1], "lower"}}
	for _, row := range r.rows {
		lower := "-"
		theirs, ours := median(row.values[0]), median(row.values[1])
		switch {
		case row.text(theirs) == row.text(ours):
		case theirs < ours:
			lower = names[0]
		default:
			lower = names[1]
		}
		t = append(t, []string{row.what, row.cell(0), row.cell(1), lower})
	}

	return t
}

// cell is what the table has of a controller.
func (r *row) cell(side int) string {
	values := r.values[side]
	if len(values) == 0 {
		return "-"
	}
	least, most, middle := r.text(slices.Min(values)), r.text(slices.Max(values)), r.text(median(values))
	if least == most {
		return middle
	}

	return fmt.Sprintf("%s (%s–%s)", middle, least, most)
}

func (m metric) text(value float64) string { return fmt.Sprintf(m.format, value) }

// median returns the value in the middle, zero if there is none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}

	return (sorted[middle-1] + sorted[middle]) / 2
}
