package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
)

// noLink reports whether an error is that an interface is not there.
func noLink(err error) bool {
	_, is := errors.AsType[netlink.LinkNotFoundError](err)
	return is
}

// pathRule leads packets marked with a path into the path's table. A table
// without a route falls through to the main table: a broken LSP loses nothing.
func pathRule(id, family int) *netlink.Rule {
	r := netlink.NewRule()
	mask := uint32(pathMask)
	r.Family, r.Priority, r.Table = family, TableBase+id, TableBase+id
	r.Mark, r.Mask, r.Protocol = uint32(id)<<pathShift, &mask, RouteProtocol
	return r
}

// heldRules lists our rules by path id. Rules of other programs in our
// range are a conflict only at the same preference.
func (k *Kernel) heldRules(family int) (map[int]netlink.Rule, error) {
	list, err := k.conn.RuleList(family)
	if err != nil {
		return nil, fmt.Errorf("list ip rules: %w", err)
	}
	out := map[int]netlink.Rule{}
	for _, r := range list {
		// A kernel without IPv6 answers with the rules of IPv4.
		if id := r.Priority - TableBase; id > 0 && id <= MaxPath && r.Family == family {
			out[id] = r
		}
	}
	return out, nil
}

func isOurs(id int, r netlink.Rule) bool {
	return r.Protocol == RouteProtocol && r.Table == TableBase+id && r.Mark == uint32(id)<<pathShift && r.Mask != nil && *r.Mask == pathMask
}

func (k *Kernel) ensureRules(paths []int, family int) error {
	have, err := k.heldRules(family)
	if err != nil {
		return err
	}
	for _, id := range paths {
		if r, ok := have[id]; ok {
			if isOurs(id, r) {
				continue
			}
			return fmt.Errorf("%w: ip rule with preference %d", ErrConflict, r.Priority)
		}
		err := k.step(fmt.Sprintf("add ip rule %d", TableBase+id), func() error { return k.conn.RuleAdd(pathRule(id, family)) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *Kernel) pruneRules(keep []int, family int) error {
	have, err := k.heldRules(family)
	if err != nil {
		return err
	}
	for id, r := range have {
		if slices.Contains(keep, id) || !isOurs(id, r) {
			continue
		}
		err := k.step(fmt.Sprintf("remove ip rule %d", TableBase+id), func() error { return k.conn.RuleDel(pathRule(id, family)) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *Kernel) verifyRules(paths []int, family int) error {
	have, err := k.heldRules(family)
	if err != nil {
		return err
	}
	for _, id := range paths {
		if r, ok := have[id]; !ok || !isOurs(id, r) {
			return fmt.Errorf("ip rule %d is missing", TableBase+id)
		}
	}
	for id, r := range have {
		if isOurs(id, r) && !slices.Contains(paths, id) {
			return fmt.Errorf("ip rule %d should not be there", TableBase+id)
		}
	}
	return nil
}
