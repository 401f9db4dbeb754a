package shares

import "testing"

func TestABufferHoldsAPacketAndNoMoreThanTheKernelTakes(t *testing.T) {
	for bytes, want := range map[uint64]uint64{
		0: 1600, 1599: 1600, 1600: 1600, 1601: 1601, 1 << 30: 1 << 30, 1<<30 + 1: 1 << 30, 1 << 63: 1 << 30,
	} {
		if got := Buffer(bytes); got != want {
			t.Errorf("%d bytes: %d, want %d", bytes, got, want)
		}
	}
}
