package shares

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClassesOfAPort(t *testing.T) {
	const mbit = 1_000_000
	for _, c := range []struct {
		name   string
		speed  uint64
		excess Excess
		queues []Queue
		want   []string // rate/ceil, priority, quantum
	}{
		{"paper 004, table 2: LBE has no share and the lowest priority; the excess is shared equally", 100 * mbit, Equal,
			[]Queue{{Weight: 5}, {Weight: 90}, {Priority: 4}, {Weight: 5}},
			[]string{"5000000/100000000 0 1514", "90000000/100000000 0 1514", "8000/100000000 1 1514", "5000000/100000000 0 1514"}},
		{"quanta in proportion to the weights", 100 * mbit, Weighted,
			[]Queue{{Weight: 10}, {Weight: 30}, {Weight: 60}},
			[]string{"10000000/100000000 0 1514", "30000000/100000000 0 4542", "60000000/100000000 0 9084"}},
		{"weights are parts of their sum, whatever it is", 100 * mbit, Weighted,
			[]Queue{{Weight: 1}, {Weight: 3}}, []string{"25000000/100000000 0 1514", "75000000/100000000 0 4542"}},
		{"paper 002, experiment 1: a strict partition is a ceiling at the guarantee", 100 * mbit, Weighted,
			[]Queue{{Weight: 20, Max: Limit{Percent: 20}}, {Weight: 80, Max: Limit{Percent: 80}}},
			[]string{"20000000/20000000 0 1514", "80000000/80000000 0 6056"}},
		{"a ceiling below the guarantee lowers it", 100 * mbit, Weighted,
			[]Queue{{Weight: 60, Max: Limit{Rate: mbit}}, {Weight: 40, Priority: 1}},
			[]string{"1000000/1000000 0 2271", "40000000/100000000 1 1514"}},
		{"a ceiling above the port speed is none", 100 * mbit, Weighted, []Queue{{Weight: 1, Max: Limit{Rate: 200 * mbit}}}, []string{"100000000/100000000 0 1514"}},
		{"STRICT queues by weight, then the others without a guarantee (featureprofiles DP-1.10)", 100 * mbit, Weighted,
			[]Queue{{Weight: 6, Strict: true}, {Weight: 64, Priority: 1}, {Weight: 16, Priority: 1}, {Weight: 7, Strict: true}},
			[]string{"8000/100000000 1 1514", "8000/100000000 2 6056", "8000/100000000 2 1514", "8000/100000000 0 1514"}},
		{"the least ceiling", 100 * mbit, Weighted, []Queue{{Weight: 1, Max: Limit{Rate: 1}}}, []string{"1/1 0 1514"}},
		{"a STRICT queue goes before the others of its priority", 100 * mbit, Weighted,
			[]Queue{{Weight: 10}, {Weight: 1, Strict: true}}, []string{"8000/100000000 1 1514", "8000/100000000 0 1514"}},
		{"no quantum below a frame, however unequal the weights", 100 * mbit, Weighted,
			[]Queue{{Weight: 10000}, {Weight: 1}}, []string{"99990000/100000000 0 199980", "9999/100000000 0 1514"}},
		{"a queue of weight 0 has the share of the excess of the least weight", 100 * mbit, Weighted,
			[]Queue{{Weight: 100}, {}}, []string{"100000000/100000000 0 1514", "8000/100000000 0 1514"}},
		{"nobody has a weight", 100 * mbit, Weighted, []Queue{{}, {}}, []string{"8000/100000000 0 1514", "8000/100000000 0 1514"}},
		{"a port slower than the least rate", 5000, Weighted, []Queue{{Weight: 1}}, []string{"5000/5000 0 1514"}},
		{"no queues", mbit, Weighted, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, k := range Classes(c.queues, c.speed, c.excess) {
				got = append(got, fmt.Sprintf("%d/%d %d %d", k.Rate, k.Ceil, k.Priority, k.Quantum))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("classes (-want +got):\n%s", diff)
			}
		})
	}
}

func randomQueues(r *rand.Rand) []Queue {
	queues := make([]Queue, 1+r.IntN(8))
	for i := range queues {
		queues[i] = Queue{Weight: r.Uint64N(5) * r.Uint64N(MaxWeight/4), Priority: r.IntN(4) * 3, Strict: r.IntN(6) == 0}
		switch r.IntN(4) {
		case 0:
			queues[i].Max.Percent = r.Uint64N(120)
		case 1:
			queues[i].Max.Rate = 1 + r.Uint64N(1e12)
		}
	}
	return queues
}

func TestTheOrderOfServiceIsAnOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		a, b := randomQueues(r)[0], randomQueues(r)[0]
		if Compare(a, b) != -Compare(b, a) || Compare(a, a) != 0 {
			t.Fatalf("%+v and %+v compare as %d and %d", a, b, Compare(a, b), Compare(b, a))
		}
	}
}

// Rates and priorities by their definitions, in exact and slow arithmetic.
func TestClassesAgreeWithTheirDefinitions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		queues, speed := randomQueues(r), 1+r.Uint64N(1e12)
		for i, c := range Classes(queues, speed, Weighted) {
			ceil := min(oracleCeil(queues[i].Max, speed), speed)
			if want := min(oracleRate(queues, i, speed), ceil); c.Rate != want || c.Ceil != ceil {
				t.Fatalf("%+v at %d bit/s: queue %d has rate %d and ceiling %d, want %d and %d", queues, speed, i, c.Rate, c.Ceil, want, ceil)
			}
			if want := oraclePriority(queues, i); c.Priority != want {
				t.Fatalf("%+v: queue %d has priority %d, want %d", queues, i, c.Priority, want)
			}
		}
	}
}

func part(n, part, whole uint64) uint64 {
	x := new(big.Int).Mul(new(big.Int).SetUint64(n), new(big.Int).SetUint64(part))
	return x.Div(x, new(big.Int).SetUint64(whole)).Uint64()
}

func oracleCeil(l Limit, speed uint64) uint64 {
	if l.Percent > 0 {
		return part(speed, l.Percent, 100)
	}
	if l.Rate > 0 {
		return l.Rate
	}
	return speed
}

func oracleRate(queues []Queue, i int, speed uint64) uint64 {
	sum := uint64(0)
	for _, q := range queues {
		if q.Strict {
			return MinRate
		}
		sum += q.Weight
	}
	if sum == 0 {
		return MinRate
	}
	return max(part(speed, queues[i].Weight, sum), MinRate)
}

// oraclePriority counts what is served before queue i: each strict queue, and each priority of other queues.
func oraclePriority(queues []Queue, i int) int {
	q, strict, others := queues[i], 0, map[int]bool{}
	for j, o := range queues {
		switch {
		case o.Strict && (o.Priority < q.Priority || o.Priority == q.Priority && (!q.Strict || o.Weight > q.Weight || o.Weight == q.Weight && j < i)):
			strict++
		case !o.Strict && o.Priority < q.Priority:
			others[o.Priority] = true
		}
	}
	return strict + len(others)
}

// What HTB needs of quanta: a frame at least, rounds that end, and the proportions of the weights.
func TestQuantaAreFairWithinARound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		queues := randomQueues(r)
		classes, round := Classes(queues, 1e9, Weighted), 0
		for i, c := range classes {
			round += int(c.Quantum)
			if c.Quantum < MinQuantum {
				t.Fatalf("%+v: queue %d has a quantum of %d bytes", queues, i, c.Quantum)
			}
			for j, o := range classes {
				a, b := queues[i], queues[j]
				if a.Strict || b.Strict || c.Quantum <= MinQuantum || o.Quantum <= MinQuantum || a.Weight < b.Weight {
					continue
				}
				if got, want := float64(c.Quantum)/float64(o.Quantum), float64(a.Weight)/float64(b.Weight); got > want*1.001 || got < want*0.999 {
					t.Fatalf("%+v: quanta of queues %d and %d are as %.4f, the weights as %.4f", queues, i, j, got, want)
				}
			}
		}
		if round > MaxRound+len(queues)*MinQuantum {
			t.Fatalf("%+v: a round of %d bytes", queues, round)
		}
		for i, c := range Classes(queues, 1e9, Equal) {
			if c.Quantum != MinQuantum {
				t.Fatalf("%+v: queue %d of an equal excess has a quantum of %d bytes", queues, i, c.Quantum)
			}
		}
	}
}

func TestTheSpeedForAGuaranteeIsTheLeast(t *testing.T) {
	for _, c := range []struct{ guarantee, weight, want uint64 }{
		{12e9, 50, 24e9}, {15e9, 95, 15_789_473_685}, {7, 100, 7}, {0, 30, 0}, {1, 3, 34}, {1 << 62, 1, 1<<63 - 1}, {1 << 62, 40, 1<<63 - 1}, {1 << 60, 50, 1 << 61}, {1, 0, 1<<63 - 1},
	} {
		got := SpeedFor(c.guarantee, c.weight)
		if got != c.want {
			t.Errorf("%d bit/s at %d %%: %d, want %d", c.guarantee, c.weight, got, c.want)
		}
		if least := Guarantee(got, c.weight) >= c.guarantee && (got == 0 || Guarantee(got-1, c.weight) < c.guarantee); got < 1<<62 && !least {
			t.Errorf("%d bit/s at %d %%: %d is not the least speed", c.guarantee, c.weight, got)
		}
	}
}

func TestAGuaranteeIsPercentOfThePortSpeed(t *testing.T) {
	for _, c := range []struct{ speed, weight, want uint64 }{
		{100_000_000, 30, 30_000_000}, {99, 50, 49}, {400_000_000_000, 100, 400_000_000_000}, {0, 100, 0}, {100, 0, 0}, {1 << 62, 100, 1 << 62},
	} {
		if got := Guarantee(c.speed, c.weight); got != c.want {
			t.Errorf("%d %% of %d bit/s: %d, want %d", c.weight, c.speed, got, c.want)
		}
	}
}
