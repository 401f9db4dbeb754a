package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	plotting "github.com/millrace/millrace/internal/plot"
)

//go:embed report.html.tmpl
var page string

func (r *Report) html() ([]byte, error) {
	t, err := template.New("report").Funcs(template.FuncMap{
		"plot":   plot,
		"lines":  diffLines,
		"f1":     func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"f2":     func(v float64) string { return fmt.Sprintf("%.2f", v) },
		"mb":     func(v uint64) string { return fmt.Sprintf("%.2f MB", float64(v)/1e6) },
		"join":   strings.Join,
		"series": func(name, class string, p []Point) curve { return curve{name, class, p} },
	}).Parse(page)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, r)
	return out.Bytes(), err
}

// diffLine is one line of a unified diff with the class that colours it.
type diffLine struct{ Class, Text string }

func diffLines(diff string) []diffLine {
	var out []diffLine
	for _, l := range strings.Split(strings.TrimRight(diff, "\n"), "\n") {
		class := "same"
		switch {
		case strings.HasPrefix(l, "+"):
			class = "add"
		case strings.HasPrefix(l, "-"):
			class = "del"
		case strings.HasPrefix(l, "@"):
			class = "hunk"
		}
		out = append(out, diffLine{class, l})
	}
	return out
}

type curve struct {
	Name, Class string
	Points      []Point
}

// Plot geometry, in SVG user units.
const (
	plotWidth, plotHeight = 720, 240
	plotLeft, plotBottom  = 56, 34
	plotTop, plotRight    = 12, 12
	innerWidth            = plotWidth - plotLeft - plotRight
	innerHeight           = plotHeight - plotTop - plotBottom
	gridLines             = 4
)

// plot draws time series as one SVG line chart with axes from zero.
func plot(unit string, curves ...curve) template.HTML {
	maxT, maxV := extent(curves)
	x := func(t float64) float64 { return plotLeft + t/maxT*innerWidth }
	y := func(v float64) float64 { return plotTop + (1-v/maxV)*innerHeight }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s over time">`, plotWidth, plotHeight, template.HTMLEscapeString(unit))
	for i := 0; i <= gridLines; i++ {
		v := maxV * float64(i) / gridLines
		fmt.Fprintf(&b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`, plotLeft, plotWidth-plotRight, y(v), y(v))
		fmt.Fprintf(&b, `<text class="tick" text-anchor="end" x="%d" y="%.1f">%.4g</text>`, plotLeft-6, y(v)+4, v)
	}
	for _, t := range plotting.Marks(maxT) {
		fmt.Fprintf(&b, `<text class="tick" text-anchor="middle" x="%.1f" y="%d">%.4g s</text>`, x(t), plotHeight-plotBottom+18, t)
	}
	fmt.Fprintf(&b, `<text class="tick" x="%d" y="%d">%s</text>`, plotLeft+6, plotTop+10, template.HTMLEscapeString(unit))
	for _, c := range curves {
		fmt.Fprintf(&b, `<polyline class="curve %s" points="`, c.Class)
		for _, p := range c.Points {
			fmt.Fprintf(&b, "%.1f,%.1f ", x(p.T), y(p.V))
		}
		fmt.Fprintf(&b, `"><title>%s</title></polyline>`, template.HTMLEscapeString(c.Name))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // numbers and escaped text only
}

// extent returns the upper ends of both axes.
func extent(curves []curve) (maxT, maxV float64) {
	maxT, maxV = 1, 1e-9
	for _, c := range curves {
		for _, p := range c.Points {
			maxT, maxV = max(maxT, p.T), max(maxV, p.V)
		}
	}
	return maxT, plotting.Top(maxV)
}
