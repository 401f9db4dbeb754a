package discipline

import (
	"math/rand/v2"
	"testing"
)

// A ring is a slice that is appended to and cut at the front.
func TestARingIsAQueue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var ring Ring[int]
	var slice []int
	for i := range 5000 {
		if grow := i/1000%2 == 0; random.IntN(10) < 7 == grow || len(slice) == 0 {
			ring.Push(i)
			slice = append(slice, i)
		} else if got := ring.Pop(); got != slice[0] {
			t.Fatalf("step %d: popped %d, want %d", i, got, slice[0])
		} else {
			slice = slice[1:]
		}
		if ring.Len() != len(slice) {
			t.Fatalf("step %d: %d wait, want %d", i, ring.Len(), len(slice))
		}
		for j, want := range slice {
			if got := *ring.At(j); got != want {
				t.Fatalf("step %d: %d at %d, want %d", i, got, j, want)
			}
		}
		if len(slice) > 0 && *ring.First() != slice[0] {
			t.Fatalf("step %d: %d is first, want %d", i, *ring.First(), slice[0])
		}
	}
}
