// Package plot draws line charts as self-contained SVG.
//
// In: curves. Out: SVG text. Next: papers and services/twin/predict put it into pages.
package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Point of a curve.
type Point struct{ X, Y float64 }

// Curve is one line of a plot.
type Curve struct {
	Name   string
	Points []Point
}

// Plot is one figure.
type Plot struct {
	Figure, Unit string
	// X is what the horizontal axis counts; seconds where empty.
	X      string
	Curves []Curve
}

// Merge joins the curves of the same figure.
func Merge(all, more []Plot) []Plot {
	for _, p := range more {
		i := slices.IndexFunc(all, func(q Plot) bool { return q.Figure == p.Figure })
		if i < 0 {
			all = append(all, Plot{Figure: p.Figure, Unit: p.Unit, X: p.X})
			i = len(all) - 1
		}
		all[i].Curves = append(all[i].Curves, p.Curves...)
	}
	return all
}

// Geometry in SVG user units.
const (
	width, height            = 720, 260
	left, right, top, bottom = 56, 150, 24, 34
	grid                     = 4
)

// palette keeps its contrast for people who see few colours.
var palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999"}

// SVG draws the plot with axes from zero.
func (p Plot) SVG() string {
	maxX, maxY := 1e-9, 1e-9
	for _, c := range p.Curves {
		for _, pt := range c.Points {
			maxX, maxY = max(maxX, pt.X), max(maxY, pt.Y)
		}
	}
	maxY = Top(maxY)
	x := func(v float64) float64 { return left + v/maxX*(width-left-right) }
	y := func(v float64) float64 { return top + (1-v/maxY)*(height-top-bottom) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11"><rect width="100%%" height="100%%" fill="#fff"/>`, width, height)
	fmt.Fprintf(&b, `<text x="%d" y="14" font-weight="bold">%s (%s)</text>`, left, escape(p.Figure), escape(p.Unit))
	for i := 0; i <= grid; i++ {
		v := maxY * float64(i) / grid
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/>`, left, width-right, y(v), y(v))
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%.4g</text>`, left-6, y(v)+4, v)
	}
	for _, v := range Marks(maxX) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%.4g</text>`, x(v), height-bottom+15, v)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, width-right, height-4, escape(cmp.Or(p.X, "seconds")))
	for i, c := range p.Curves {
		colour := palette[i%len(palette)]
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="1.5" points="`, colour)
		for _, pt := range c.Points {
			fmt.Fprintf(&b, "%.1f,%.1f ", x(pt.X), y(pt.Y))
		}
		fmt.Fprintf(&b, `"/><text x="%d" y="%d" fill="%s">%s</text>`, width-right+8, top+12+16*i, colour, escape(c.Name))
	}
	return b.String() + "</svg>\n"
}

// Marks are what an axis from zero shows up to most.
func Marks(most float64) (all []float64) {
	every := step(most)
	for i := 0; float64(i)*every <= most; i++ {
		all = append(all, float64(i)*every)
	}
	return all
}

// step is the distance of marks that people read easily: one, two or
// five of a power of ten, no more than eight up to most.
func step(most float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(most)))
	for _, m := range []float64{0.2, 0.5, 1} {
		if most/(m*power) <= 8 {
			return m * power
		}
	}
	return 2 * power
}

// Top is the upper end of an axis whose fourths people read easily.
func Top(v float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10} {
		if m*step >= v {
			return m * step
		}
	}
	return v
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}
