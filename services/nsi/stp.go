package nsi

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// set is one bit per VLAN id.
type set [4096 / 64]uint64

func (s *set) add(vlan int)     { s[vlan/64] |= 1 << (vlan % 64) }
func (s set) has(vlan int) bool { return s[vlan/64]&(1<<(vlan%64)) != 0 }

var errVLANs = errors.New("write VLAN ids from 1 to 4094, such as 100, 1780-1790 or 10,20-30")

// parseVLANs reads a list of ids and ranges; an empty one is an empty set.
func parseVLANs(text string) (out set, err error) {
	if text == "" {
		return out, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		low, high, ranged := strings.Cut(part, "-")
		a, err := strconv.ParseUint(low, 10, 16)
		b := a
		if err == nil && ranged {
			b, err = strconv.ParseUint(high, 10, 16)
		}
		if err != nil || a < 1 || b > 4094 || a > b {
			return out, fmt.Errorf("%q: %w", text, errVLANs)
		}
		for v := a; v <= b; v++ {
			out.add(int(v))
		}
	}
	return out, nil
}

// and are the ids that are in both.
func (s set) and(t set) (out set) {
	for i := range s {
		out[i] = s[i] & t[i]
	}
	return out
}

// String writes a set as parseVLANs reads it.
func (s set) String() string {
	var parts []string
	for v := 1; v <= 4094; v++ {
		if !s.has(v) {
			continue
		}
		first := v
		for v < 4094 && s.has(v+1) {
			v++
		}
		if first == v {
			parts = append(parts, strconv.Itoa(v))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", first, v))
		}
	}
	return strings.Join(parts, ",")
}

// end is an STP of a request: the configured one, and the VLANs that are both wanted and allowed.
type end struct {
	STP
	// id is without a label.
	id    string
	vlans string
}

// end finds an STP by its id with label.
func (c Configuration) end(variable, text string) (end, *exception) {
	id, query, labelled := strings.Cut(text, "?")
	name, ours := strings.CutPrefix(id, c.Topology+":")
	stp, known := c.STPs[name]
	switch {
	case text == "":
		return end{}, fail(missing, "%s is missing", variable)
	case !ours || !known:
		return end{}, fail(unknownSTP, "there is no STP %s", text).with(variable, text)
	}
	out := end{STP: stp, id: id}
	allowed, _ := parseVLANs(stp.VLANs)
	wanted := allowed
	if labelled {
		labels, err := url.ParseQuery(query)
		if err != nil || len(labels) != 1 || len(labels["vlan"]) != 1 {
			return end{}, fail(unknownLabel, "%s: the label is vlan=, and there is one", text).with(variable, text)
		}
		if wanted, err = parseVLANs(labels.Get("vlan")); err != nil {
			return end{}, fail(invalidLabel, "%s: %s", text, err).with(variable, text)
		}
	}
	switch {
	case stp.VLANs == "" && labelled:
		return end{}, fail(unknownLabel, "%s has no VLANs", id).with(variable, text)
	case stp.VLANs != "" && wanted.and(allowed) == set{}:
		return end{}, fail(stpInUse, "%s has the VLANs %s", id, stp.VLANs).with(variable, text)
	}
	out.vlans = wanted.and(allowed).String()
	return out, nil
}

// labelled is the id of an STP with the VLAN that was booked.
func (e end) labelled(vlan int32) string {
	if vlan == 0 {
		return e.id
	}
	return fmt.Sprintf("%s?vlan=%d", e.id, vlan)
}
