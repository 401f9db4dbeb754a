package hntes

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/millrace/millrace/internal/report"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scenario"
)

// AlphaGroup is the applications' group that stands for huge transfers.
const AlphaGroup = "alpha"

// measured summarises a phase: ping, goodput of the alpha group, its series, its bytes.
func measured(p *lab.PhaseResult) (delay report.Delay, mbps float64, series []report.Point, bytes float64) {
	metrics := lab.Metrics(p)
	for _, a := range p.Applications {
		if a.Ping != nil {
			rtts := make([]float64, 0, len(a.Ping.Echoes))
			for _, e := range a.Ping.Echoes {
				rtts = append(rtts, e.RTT)
			}
			delay = report.Summarise(rtts, a.Ping.Sent)
		}
	}
	return delay, metrics[p.Phase+"/"+AlphaGroup+"/goodput_mbps"], goodput(p), metrics[p.Phase+"/"+AlphaGroup+"/bytes"]
}

// goodput sums the alpha transfers' rates second by second.
func goodput(p *lab.PhaseResult) []report.Point {
	sum := map[int]float64{}
	for _, a := range p.Applications {
		if a.Group != AlphaGroup || a.TCP == nil {
			continue
		}
		offset := a.Start.Sub(p.Start).Seconds()
		for _, i := range a.TCP.Intervals {
			if i.End-i.Start > 0.5 { // the last, partial second says nothing about a rate
				sum[int(offset+i.Start+0.5)] += i.Mbps
			}
		}
	}
	var out []report.Point
	for _, t := range slices.Sorted(maps.Keys(sum)) {
		out = append(out, report.Point{T: float64(t), V: sum[t]})
	}
	return out
}

func pings(p *lab.PhaseResult) []report.Point {
	var out []report.Point
	for _, a := range p.Applications {
		if a.Ping == nil {
			continue
		}
		for _, e := range a.Ping.Echoes {
			out = append(out, report.Point{T: e.At.Sub(p.Start).Seconds(), V: e.RTT})
		}
	}
	return out
}

// conclude fills the report and holds every expectation against it.
func (r *run) conclude(s *scenario.Scenario) error {
	rep := r.report
	var delays, goodputs = &rep.PingMS, &rep.AlphaGoodputMbps
	delays.Idle, _, _, _ = measured(r.phases["idle"])
	delays.Day1, goodputs.Day1, rep.Series.Goodput.Day1, _ = measured(r.phases["day1"])
	delays.Day2, goodputs.Day2, rep.Series.Goodput.Day2, _ = measured(r.phases["day2"])
	rep.Series.Ping.Idle, rep.Series.Ping.Day1, rep.Series.Ping.Day2 = pings(r.phases["idle"]), pings(r.phases["day1"]), pings(r.phases["day2"])
	rep.PortCounters = r.corePorts(s)

	maps.Copy(r.metrics, lab.Metrics(r.phases["idle"], r.phases["day1"], r.phases["day2"]))
	r.metrics["external/rollback/clean"] = 0
	if rep.RollbackClean {
		r.metrics["external/rollback/clean"] = 1
	}
	for _, v := range s.Judge(r.metrics) {
		measured := number(v.Got)
		if v.Skipped != "" {
			measured = v.Skipped
		}
		rep.Checks = append(rep.Checks, report.Check{
			Name: v.Name, Measured: measured, Bound: v.Op + " " + number(v.Want), Source: v.Source, Pass: v.Pass,
		})
	}
	rep.Judge()
	rep.SecondsTotal = time.Since(r.began).Seconds()
	return rep.Write(r.Output)
}

// number prints whole numbers whole and others with four digits.
func number(v float64) string {
	if v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return fmt.Sprintf("%.4g", v)
}

// corePorts lists what each port between routers sent in each day.
func (r *run) corePorts(s *scenario.Scenario) []report.PortCounter {
	var out []report.PortCounter
	for _, l := range s.Links {
		for _, e := range []scenario.Endpoint{l.A, l.B} {
			_, a := s.Router(l.A.Node)
			_, b := s.Router(l.B.Node)
			if p := (port{e.Node, e.Interface}); a && b {
				out = append(out, report.PortCounter{Router: p.router, Port: p.name, Day1: r.ports["day1"][p], Day2: r.ports["day2"][p]})
			}
		}
	}
	return out
}
