package papers

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/papers/score"
	"github.com/millrace/millrace/services/twin/engine"
	"github.com/millrace/millrace/services/twin/tcp"
)

func thresholdRule(paper string) Experiment {
	e := Experiment{ID: paper + "-threshold", Title: "The threshold by the number of paths (equation 1)", Cases: []Case{{Name: "rule", Quick: true, Run: func(r *Recorder) error {
		for n := 1; n <= 15; n++ {
			r.Set(fmt.Sprint(n), float64(tcp.Threshold(n)))
		}
		return nil
	}}}}
	for n, want := range []float64{0, 3, 6, 6, 9, 9, 9, 9, 12, 12, 12, 12, 12, 12, 12, 12} {
		if n > 0 {
			e.Rows = append(e.Rows, score.Row{Key: fmt.Sprint(n), Item: "eq. 1", What: fmt.Sprintf("threshold for %d paths", n), Paper: want, Rationale: "arithmetic"})
		}
	}
	return e
}

// oneFlow is the law both papers quote in section 3.1.2 (III-A.2): an acknowledgement
// per b segments costs one connection on one path a factor of the root of b.
func oneFlow(paper string) Experiment {
	const seeds, until = 4, 400
	run := func(r *Recorder, p tcp.Policy) (sum float64, _ error) {
		for seed := range uint64(seeds) {
			n := engine.New(seed)
			there, err := n.AddPort(engine.PortConfig{Name: "there", Rate: 1e9, Delay: engine.Second / 20, Loss: 0.001})
			if err != nil {
				return 0, err
			}
			back, err := n.AddPort(engine.PortConfig{Name: "back", Rate: 1e9, Delay: engine.Second / 20})
			if err != nil {
				return 0, err
			}
			f, err := n.AddTCP(engine.TCPConfig{Name: "ftp", Config: tcp.Config{NS2: true, Window: 1000, Initial: 1}, Receiver: p, Payload: segment, Header: header, Stop: engine.Never,
				Forward: engine.Route{Hops: []engine.Hop{engine.At(there)}}, Back: engine.Route{Hops: []engine.Hop{engine.At(back)}}})
			if err != nil {
				return 0, err
			}
			if err := r.Play(n, until); err != nil {
				return 0, err
			}
			sum += n.TCP(f).Series.Mean(warmUp, until)
		}
		return sum, nil
	}
	return Experiment{ID: paper + "-one", Title: "One connection, one path: what delayed acknowledgements cost", Cases: []Case{{Name: "b = 2", Quick: true, Run: func(r *Recorder) error {
		each, err := run(r, tcp.Immediate)
		if err != nil {
			return err
		}
		second, err := run(r, tcp.Delayed)
		r.Set("root", second/each)
		return err
	}}}, Rows: []score.Row{{Key: "root", Item: pick(paper == "003", "section III-A.2", "section 3.1.2"), What: "goodput with an acknowledgement per two segments over one per segment, loss 0.001", Unit: "times", Paper: 1 / math.Sqrt2, Relative: 0.1,
		Rationale: "the formula's authors call agreement within a tenth good; it leaves out timeouts"}}}
}
