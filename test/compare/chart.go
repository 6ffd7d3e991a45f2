package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"text/template"
)

//go:embed chart.svg.tmpl
var chartText string

var chartTemplate = template.Must(template.New("chart").Parse(chartText))

// The places of the bars, as in the template.
const (
	barsTop   = 56
	barsLeft  = 360
	barWidth  = 290
	barHeight = 12
	rowHeight = 38
)

// bars are those of a metric.
type bars struct {
	What                                    string
	Label, Top, TopText, Bottom, BottomText int
	Widths, Ends                            [2]int
	Texts                                   [2]string
}

// chart draws the medians of some metrics, each in proportion to the larger one, as SVG in
// colors for a light and for a dark background.
func (r *results) chart(title string, names [2]string) ([]byte, error) {
	var all []bars
	for _, row := range r.rows {
		if row.chart {
			all = append(all, row.bars(barsTop+len(all)*rowHeight))
		}
	}
	var b bytes.Buffer
	err := chartTemplate.Execute(&b, map[string]any{
		"Title": title, "Names": names, "Bars": all, "Height": barsTop + len(all)*rowHeight,
	})
	if err != nil {
		return nil, fmt.Errorf("draw the chart: %w", err)
	}

	return b.Bytes(), nil
}

func (r *row) bars(top int) bars {
	const baseline, gap = 11, 14
	b := bars{
		What: r.what, Label: top + baseline + gap/2,
		Top: top, TopText: top + baseline, Bottom: top + gap, BottomText: top + gap + baseline,
	}
	medians := [2]float64{median(r.values[0]), median(r.values[1])}
	for side, value := range medians {
		b.Widths[side] = int(barWidth * value / max(medians[0], medians[1], 1))
		b.Ends[side] = barsLeft + b.Widths[side] + 6
		b.Texts[side] = r.text(value)
	}

	return b
}
