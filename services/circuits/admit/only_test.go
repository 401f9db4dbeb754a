package admit

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// Without offers a request is granted or refused as it is with them.
func TestDecideOnlyIsDecideWithoutOffers(t *testing.T) {
	granted, refused := 0, 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 3))
		w := newWorld(t, r)
		q := w.ask(r)
		want, refusal := w.Decide(q)
		got, why := w.DecideOnly(q)
		if refusal != nil {
			refusal.Offers, refusal.GivenUp = nil, nil
			refused++
		} else {
			granted++
		}
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(why, refusal) {
			t.Fatalf("seed %d: %v, %v; want %v, %v", seed, got, why, want, refusal)
		}
	}
	if granted < 20 || refused < 20 {
		t.Errorf("%d granted, %d refused", granted, refused)
	}
}
