package ports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The VLAN ids of IEEE 802.1Q that are no others' business.
const (
	minVLAN = 1
	maxVLAN = 4094
)

// VLANs are some VLAN ids as ranges, first and last included. Frames without a tag are VLAN 0, by itself.
type VLANs [][2]int

// Any are all that a frame's tag can have.
var Any = VLANs{{minVLAN, maxVLAN}}

// Untagged are frames without a tag.
var Untagged = VLANs{{0, 0}}

// Parse reads 100, 1780-1790, 10,20-30 and any; empty are frames without a tag.
func Parse(text string) (VLANs, error) {
	switch strings.TrimSpace(text) {
	case "":
		return Untagged, nil
	case "any":
		return Any, nil
	}
	var out VLANs
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			to = from
		}
		first, err := vlan(from)
		if err != nil {
			return nil, err
		}
		last, err := vlan(to)
		switch {
		case err != nil:
			return nil, err
		case first > last:
			return nil, fmt.Errorf("%s: the first is above the last", part)
		}
		out = append(out, [2]int{first, last})
	}
	slices.SortFunc(out, func(a, b [2]int) int { return a[0] - b[0] })
	return out, nil
}

func vlan(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < minVLAN || n > maxVLAN {
		return 0, fmt.Errorf("%q is no VLAN id, %d to %d", text, minVLAN, maxVLAN)
	}
	return n, nil
}

// Each is each of them, lowest first; one that is in two ranges may come twice.
func (v VLANs) Each(yield func(int) bool) {
	for _, r := range v {
		for n := r[0]; n <= r[1]; n++ {
			if !yield(n) {
				return
			}
		}
	}
}

// Text is how people write one VLAN id; empty for frames without a tag.
func Text(vlan int) string {
	if vlan == 0 {
		return ""
	}
	return strconv.Itoa(vlan)
}
