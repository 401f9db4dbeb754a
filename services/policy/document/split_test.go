package document

import "testing"

// Whatever beta has, all shares add up as in the file, and no queue of the split is left without rate or buffer.
func TestASplitSharesWhatItsQueuesHave(t *testing.T) {
	for total := uint8(2); total <= 100; total++ {
		for _, buffers := range []uint8{2, 20, total, 100} {
			p := Policy{
				Queues: []Queue{{Name: "beta", Weight: 1, Buffer: 1}, {Name: "alpha", Weight: total - 1, Buffer: buffers - 1}, {Name: "rest", Weight: 100 - total, Buffer: 100 - buffers}},
				Split:  &Split{Alpha: "alpha", Beta: "beta", Min: 1, Max: total - 1},
			}
			for beta := range uint8(101) {
				got := p.Shares(beta)
				share := min(max(beta, 1), total-1)
				if got[0].Weight != share || got[0].Weight+got[1].Weight != total || got[0].Buffer+got[1].Buffer != buffers || got[0].Buffer < 1 || got[1].Buffer < 1 {
					t.Fatalf("%d of %d %%, buffers %d: %+v", beta, total, buffers, got)
				}
				if want := float64(buffers) * float64(share) / float64(total); float64(got[0].Buffer) > max(want, 1)+0.5 || float64(got[0].Buffer) < min(want, float64(buffers-1))-0.5 {
					t.Fatalf("%d of %d %%: a buffer of %d, want %.2f", beta, total, got[0].Buffer, want)
				}
				if got[2].Weight != p.Queues[2].Weight || got[2].Buffer != p.Queues[2].Buffer {
					t.Fatalf("a queue that is no part of the split changed: %+v", got[2])
				}
			}
		}
	}
}

func TestTheLeastThatAQueueHasUnderASplit(t *testing.T) {
	p := Policy{
		Queues: []Queue{{Name: "beta", Weight: 5, Buffer: 5}, {Name: "alpha", Weight: 75, Buffer: 75}, {Name: "rest", Weight: 20, Buffer: 20}},
		Split:  &Split{Alpha: "alpha", Beta: "beta", Min: 3, Max: 50},
	}
	for name, want := range map[string]uint8{"beta": 3, "alpha": 30, "rest": 20} {
		if q, found := p.QueueAtLeast(name); !found || q.Weight != want {
			t.Errorf("%s: %d %%, want %d", name, q.Weight, want)
		}
	}
	p.Split = nil
	if q, _ := p.QueueAtLeast("alpha"); q.Weight != 75 {
		t.Errorf("without a split: %d %%", q.Weight)
	}
}
