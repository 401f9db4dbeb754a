package engine

import (
	"testing"

	"github.com/millrace/millrace/services/twin/tcp"
)

// dumbbell is pairs of hosts on access links to two routers with one link between them.
type dumbbell struct {
	*Net
	left, right   int // the link between the routers, either way
	out, in       []int
	back, backOut []int // from receivers to the right router, from the left router to senders
}

type dumbbellConfig struct {
	pairs                  int
	access, core           float64
	accessDelay, coreDelay Time
	limitPackets           int64
	limitBytes             int64
	loss                   float64
	seed                   uint64
}

func newDumbbell(t testing.TB, c dumbbellConfig) *dumbbell {
	d := &dumbbell{Net: New(c.seed)}
	add := func(p PortConfig) int {
		i, err := d.AddPort(p)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	d.left = add(PortConfig{Name: "left", Rate: c.core, Delay: c.coreDelay, LimitPackets: c.limitPackets, LimitBytes: c.limitBytes, Loss: c.loss})
	d.right = add(PortConfig{Name: "right", Rate: c.core, Delay: c.coreDelay, LimitPackets: c.limitPackets, LimitBytes: c.limitBytes})
	for range c.pairs {
		access := PortConfig{Name: "access", Rate: c.access, Delay: c.accessDelay}
		d.out, d.in = append(d.out, add(access)), append(d.in, add(access))
		d.back, d.backOut = append(d.back, add(access)), append(d.backOut, add(access))
	}
	return d
}

func (d *dumbbell) there(pair int) Route {
	return Route{Hops: []Hop{At(d.out[pair]), At(d.left), At(d.in[pair])}}
}

func (d *dumbbell) home(pair int) Route {
	return Route{Hops: []Hop{At(d.back[pair]), At(d.right), At(d.backOut[pair])}}
}

func (d *dumbbell) tcp(t testing.TB, pair int, c TCPConfig) int {
	c.Forward, c.Back = d.there(pair), d.home(pair)
	if c.Payload == 0 {
		c.Payload, c.Header = 1448, 52
	}
	i, err := d.AddTCP(c)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// standard is the dumbbell that the benchmarks of other simulators run: ten pairs with ten NewReno connections
// each, 512 bytes in 552, 100 Mbit/s everywhere, 1 ms and 10 ms, 50 packets of buffer, window 100.
func standard(t testing.TB, seed uint64) *dumbbell {
	d := newDumbbell(t, dumbbellConfig{
		pairs: 10, access: 100e6, core: 100e6, accessDelay: Second / 1000, coreDelay: Second / 100, limitPackets: 50, seed: seed,
	})
	for i := range 100 {
		d.tcp(t, i%10, TCPConfig{
			Config: tcp.Config{Window: 100, Initial: 2}, Payload: 512, Header: 40,
			Start: Time(i) * Second / 1000, Stop: 1000 * Second,
		})
	}
	return d
}
