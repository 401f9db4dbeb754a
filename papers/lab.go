package papers

import (
	"fmt"

	"github.com/millrace/millrace/papers/score"
	"github.com/millrace/millrace/scenario"
)

// measure is where the lab measured what a row is about: a metric of a scenario, or its ratio to another, in the
// row's unit. A lab is scaled down, so that windows and bursts are a few frames: its value stands beside the twin's
// and is not judged here; the scenario's own expectations judge it.
type measure struct {
	scenario, metric, of string
	times                float64
}

// scales are the labs' rates to the papers'.
var scales = map[string]string{
	"hntes-exp1": "1:100", "hntes-exp2": "1:100", "hntes-exp3": "1:100", "hntes-exp4": "1:100", "hntes-exp5": "1:100", "hntes-exp6": "1:100", "hntes-exp7": "1:100",
	"i2vfc-single": "1:5", "i2vfc-intra": "1:1", "i2vfc-multi": "1:1",
	"geant-lbe-congestion": "1:50", "geant-lbe-credit": "1:62", "geant-lbe-tables": "1:25", "multipath-per-packet": "1:5",
}

// toGbit makes Gbit/s at full scale of Mbit/s at 1:100.
const toGbit = 0.1

// measures are by experiment and row.
func measures() map[string]map[string]measure {
	return map[string]map[string]measure{
		"002-exp1": measures1(), "002-exp2": measures2(), "002-exp3": measures3(), "002-exp4": measures4(),
		"002-exp5a": measures5("alike"), "002-exp5b": measures5("apart"), "002-exp6": measures6(), "002-exp7": measures7(),
		"000-parallel": measuresParallel(), "003-parallel": measuresParallel(),
		"001-single": measuresSingle(), "001-intra": measuresIntra(), "001-multi": measuresMulti(),
		"004-congestion": measuresCongestion(), "004-wrr": measuresWRR(),
	}
}

func measures1() map[string]measure {
	const s = "hntes-exp1"
	return map[string]measure{
		"idle": {s, "idle/ping/rtt_mean_ms", "", 1}, "full100": {s, "buffer-100/ping/rtt_p50_ms@2s-6s", "", 1}, "full20": {s, "buffer-20/ping/rtt_p50_ms@2s-6s", "", 1},
		"strict": {s, "strict/ping/rtt_p50_ms@3s-8s", "", 1}, "strictrate": {s, "strict/udp/goodput_mbps", "", toGbit}, "conserving": {s, "conserving/ping/rtt_mean_ms", "", 1},
		"udp W1": {s, "buffer-100/udp1/goodput_mbps", "", toGbit}, "udp E2": {s, "buffer-100/udp2/goodput_mbps", "", toGbit},
	}
}

func measures2() map[string]measure {
	const s = "hntes-exp2"
	return map[string]measure{
		"1qmean": {s, "one-queue/ping/rtt_mean_ms", "", 1}, "1qsd": {s, "one-queue/ping/rtt_sd_ms", "", 1},
		"2qmean": {s, "two-queues/ping/rtt_mean_ms", "", 1}, "2qsd": {s, "two-queues/ping/rtt_sd_ms", "", 1},
		"sum21": {s, "one-queue/tcp/goodput_mbps", "", toGbit},
	}
}

func measures3() map[string]measure {
	out := map[string]measure{}
	for name, phase := range map[string]string{"(50,50)": "c50-50", "(49,50,1)": "c49-50-1", "(30,50,20)": "c30-50-20", "(10,30,60)": "c10-30-60"} {
		for udp, part := range []string{"1s-5s", "7s-10s", "13s-16s", "19s-22s"} {
			out[fmt.Sprintf("%s %d", name, udp)] = measure{"hntes-exp3", phase + "/tcp/goodput_mbps@" + part, "", toGbit}
		}
	}
	return out
}

func measures4() map[string]measure {
	out := map[string]measure{}
	for _, name := range []string{"2-queues", "policing1", "policing2", "wred"} {
		phase := name
		if name == "2-queues" {
			phase = "two-queues"
		}
		out[name+" through"] = measure{"hntes-exp4", phase + "/tcp/goodput_mbps", "", toGbit}
		out[name+" order"] = measure{"hntes-exp4", phase + "/tcp/out_of_order", "", 1}
	}
	out["wred lost"] = measure{"hntes-exp4", "wred/WR:ge-w1:alpha/dropped_pkts", "", 1}
	return out
}

func measures5(phase string) map[string]measure {
	const s = "hntes-exp5"
	out := map[string]measure{
		"jain 2q": {s, phase + "/tcp/jain@5s-20s", "", 1}, "jain wred": {s, phase + "-wred/tcp/jain@5s-20s", "", 1},
	}
	if phase == "apart" {
		out = map[string]measure{
			"2q jain": {s, "apart/tcp/jain@5s-20s", "", 1}, "wred jain": {s, "apart-wred/tcp/jain@5s-20s", "", 1},
			"2q mean1": {s, "apart/tcp1/goodput_mbps@5s-20s", "", toGbit}, "2q mean2": {s, "apart/tcp2/goodput_mbps@5s-20s", "", toGbit},
			"wred mean1": {s, "apart-wred/tcp1/goodput_mbps@5s-20s", "", toGbit}, "wred mean2": {s, "apart-wred/tcp2/goodput_mbps@5s-20s", "", toGbit},
		}
	}
	return out
}

func measures6() map[string]measure {
	const s = "hntes-exp6"
	out := map[string]measure{}
	for _, c := range []struct{ row, phase string }{
		{"Reno 20 2", "reno-20-2g"}, {"Reno 30 2", "reno-30-2g"}, {"Reno 20 3", "reno-20-3g"}, {"Reno 30 3", "reno-30-3g"}, {"Reno 40 3", "reno-40-3g"},
		{"H-TCP 20 3", "htcp-20-3g"}, {"H-TCP 30 3", "htcp-30-3g"},
	} {
		out[c.row+" before"] = measure{s, c.phase + "/ping/rtt_p50_ms@0s-3s", "", 1}
		out[c.row+" during"] = measure{s, c.phase + "/ping/rtt_p50_ms@7s-12s", "", 1}
		switch c.row {
		case "Reno 20 2", "Reno 20 3", "Reno 30 3", "H-TCP 20 3", "H-TCP 30 3":
			out[c.row+" loss"] = measure{s, c.phase + "/udp/loss_percent@7s-12s", "", 1}
		}
		switch c.row {
		case "Reno 30 2", "Reno 30 3", "Reno 40 3", "H-TCP 30 3":
			out[c.row+" through"] = measure{s, c.phase + "/tcp/goodput_mbps@7s-12s", "", toGbit}
		}
	}
	return out
}

func measures7() map[string]measure {
	const s = "hntes-exp7"
	return map[string]measure{
		"1q mean1": {s, "one-queue/tcp1/goodput_mbps@10s-19s", "", toGbit}, "2q mean1": {s, "two-queues/tcp1/goodput_mbps@10s-19s", "", toGbit},
		"1q ping 0": {s, "one-queue/ping/rtt_p50_ms@0s-3s", "", 1}, "1q ping 22": {s, "one-queue/ping/rtt_p99_ms@3s-9s", "", 1},
		"2q ping 22": {s, "two-queues/ping/rtt_p50_ms@3s-9s", "", 1}, "2q ping most": {s, "two-queues/ping/rtt_p99_ms@9s-19s", "", 1},
	}
}

// measuresParallel: three paths of 10, 15 and 20 ms, the paper's 50 and 100 % longer ones.
func measuresParallel() map[string]measure {
	const s, single = "multipath-per-packet", "single/tcp/goodput_mbps"
	return map[string]measure{
		"delayed 3 1 0": {s, "per-packet-t3/tcp/goodput_mbps", single, 1}, "threshold 3 1 0": {s, "per-packet-t6/tcp/goodput_mbps", single, 1},
		"flow-level 3 1 0": {s, "flow/tcp/goodput_mbps", single, 1},
	}
}

func measuresSingle() map[string]measure {
	const s, full = "i2vfc-single", 6.64 // goodput, Mbit/s, when beside the background's 3 of 10 nothing is idle
	out := map[string]measure{"none": {s, "without/inter_f", "", 1}}
	for _, a := range []float64{0.01, 0.1, 1} {
		for _, b := range []float64{0.1, 0.25} {
			cell := fmt.Sprintf("a%g-b%g", a, b)
			out[setting(a, b)] = measure{s, cell + "/inter_f", "", 1}
			out[setting(a, b)+" use"] = measure{s, cell + "/goodput_mbps", "", 100 / full}
		}
	}
	return out
}

func measuresIntra() map[string]measure {
	const s = "i2vfc-intra"
	return map[string]measure{"none 2": {s, "without/intra_f", "", 1}, setting(0.1, 0.1) + " 2": {s, "a0.1-b0.1/intra_f", "", 1}}
}

func measuresMulti() map[string]measure {
	out := map[string]measure{}
	for _, b3 := range []int{10, 20, 30} {
		out[fmt.Sprintf("B3=%d", b3)] = measure{"i2vfc-multi", fmt.Sprintf("B3-%d-a0.5-b0.05/inter_f", b3), "", 1}
	}
	return out
}

// measuresCongestion: the lab's link has no production traffic, so that its 110 % stands for the paper's 100 %;
// three quarters of the packets are LBE. Its delays are of frames of 9000 bytes at 50 Mbit/s and compare with nothing.
func measuresCongestion() map[string]measure {
	const s = "geant-lbe-congestion"
	return map[string]measure{
		"BE 95": {s, "load-95/be/loss_percent", "", 1}, "BE 100": {s, "load-110/be/loss_percent", "", 1}, "LBE 100": {s, "load-110/all-lbe/loss_percent@2s-8s", "", 0.75},
	}
}

func measuresWRR() map[string]measure {
	const line = 39.81 // what a link of 40 Mbit/s carries of frames whose payload is 8958 of 9000 bytes
	return map[string]measure{
		"table 1 kept": {"geant-lbe-tables", "table1-tcp/tcp/goodput_mbps@2s-10s", "tcp-alone/tcp/goodput_mbps", 1},
		"table 2 kept": {"geant-lbe-tables", "table2-tcp/tcp/goodput_mbps@2s-10s", "tcp-alone/tcp/goodput_mbps", 1},
		"be1":          {"geant-lbe-credit", "table1-be-lbe/be/goodput_mbps@2s-7s", "", 100 / line}, "lbe1": {"geant-lbe-credit", "table1-be-lbe/lbe/goodput_mbps@2s-7s", "", 100 / line},
		"be2": {"geant-lbe-credit", "table2-be-lbe/be/goodput_mbps@2s-7s", "", 100 / line}, "lbe2": {"geant-lbe-credit", "table2-be-lbe/lbe/goodput_mbps@2s-7s", "", 100 / line},
	}
}

// labValues are what the lab measured for an experiment's rows; rows it does not run have none.
func labValues(experiment string) (map[string]*score.Lab, error) {
	out := map[string]*score.Lab{}
	for key, m := range measures()[experiment] {
		kept, err := scenario.MeasuredIn(m.scenario)
		if err != nil {
			return nil, err
		}
		v, ok := kept.Metrics[m.metric]
		if m.of != "" {
			base, known := kept.Metrics[m.of]
			ok = ok && known && base != 0
			v /= base
		}
		if !ok {
			continue // a run that broke off before this phase
		}
		out[key] = &score.Lab{Value: v * m.times, Scenario: m.scenario, Scale: scales[m.scenario], Measured: kept.Started.UTC().Format("2006-01-02 15:04")}
	}
	return out, nil
}
