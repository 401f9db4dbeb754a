package units

import "testing"

func TestRates(t *testing.T) {
	for text, want := range map[string]Rate{
		"100Mbit/s": 100_000_000, "1.5 Gbit/s": 1_500_000_000, "64kbit/s": 64_000, "9bit/s": 9, "0bit/s": 0, "2Tbit/s": 2e12,
	} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "100", "100M", "100Mbps", "-1bit/s", "NaNbit/s", "Infbit/s", "1e30Tbit/s", "Mbit/s"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("ParseRate(%q) = %d, want an error", text, got)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]Size{
		"1.25MB": 1_250_000, "200B": 200, "64KiB": 65536, "2MiB": 2 << 20, "1GiB": 1 << 30, "3kB": 3000,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	if got, err := ParseSize("100Mbit/s"); err == nil {
		t.Errorf("a rate was read as a size of %d", got)
	}
}

func TestPrintedQuantitiesReadBackTheSame(t *testing.T) {
	for _, n := range []uint64{0, 1, 999, 1000, 1500, 62_500, 1_250_000, 100_000_000, 2_500_000_000} {
		if r, err := ParseRate(Rate(n).String()); err != nil || r != Rate(n) {
			t.Errorf("rate %d prints as %s, which reads as %d, %v", n, Rate(n), r, err)
		}
		if s, err := ParseSize(Size(n).String()); err != nil || s != Size(n) {
			t.Errorf("size %d prints as %s, which reads as %d, %v", n, Size(n), s, err)
		}
	}
}
