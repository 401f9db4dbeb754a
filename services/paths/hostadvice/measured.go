package hostadvice

// Scenario is the lab's experiment whose measurements back the advice: three paths of 10, 15 and 20 ms.
const Scenario = "multipath-per-packet"

// Gain is what one kind of sender reached in it.
type Gain struct {
	Sender string
	// Goodput is in Mbit/s, Share in parts of what one path alone reached.
	Goodput, Share, Retransmits float64
}

// rows are the phases of the scenario in the order of the table.
var rows = []struct{ phase, sender string }{
	{"single", "one path"},
	{"flow", "three paths, flows hashed"},
	{"per-packet-t3", "per packet, NewReno, threshold 3"},
	{"per-packet-t6", "per packet, NewReno, threshold 6"},
	{"per-packet-linux", "per packet, Linux's defaults"},
	{"per-packet-advised", "per packet, with these settings"},
}

// Gains reads the table from the scenario's metrics.
func Gains(metrics map[string]float64) []Gain {
	one := metrics["single/tcp/goodput_mbps"]
	var out []Gain
	for _, r := range rows {
		mbps := metrics[r.phase+"/tcp/goodput_mbps"]
		out = append(out, Gain{Sender: r.sender, Goodput: mbps, Share: mbps / one, Retransmits: metrics[r.phase+"/tcp/retransmits"]})
	}
	return out
}
