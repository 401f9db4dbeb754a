package admit

import "fmt"

// Decide grants a request or refuses it. It changes nothing: Enter books what it grants.
func (b *Book) Decide(r Request) (*Grant, *Refusal) {
	a, refusal := b.look(r)
	if refusal != nil {
		return nil, refusal
	}
	if found := a.find(); found.found() {
		return a.granted(found), nil
	} else {
		return nil, a.refuse(found.givenUp)
	}
}

// DecideOnly is Decide for who could take no offer: its refusal has none.
func (b *Book) DecideOnly(r Request) (*Grant, *Refusal) {
	a, refusal := b.look(r)
	if refusal != nil {
		return nil, refusal
	}
	found := a.find()
	if found.found() {
		return a.granted(found), nil
	}
	return nil, a.refuseOnly(found.givenUp)
}

func (a *ask) granted(r route) *Grant {
	return &Grant{ID: a.ID, Slots: r.slots, Path: a.names(r.path), Backup: a.names(r.backup), Cap: a.Cap}
}

// DecideAll grants all of the requests, each beside those before it, or refuses the first that does not fit; refused is
// its index. It leaves the book as it was.
func (b *Book) DecideAll(all []Request) (grants []Grant, refused int, refusal *Refusal) {
	defer func() {
		for _, g := range grants {
			b.mustRemove(g.ID)
		}
		if refusal != nil {
			grants = nil
		}
	}()
	for i, r := range all {
		g, no := b.Decide(r)
		if no != nil {
			return grants, i, no
		}
		if err := b.Enter(*g); err != nil {
			panic("what was granted is free: " + err.Error())
		}
		grants = append(grants, *g)
	}
	return grants, len(all), nil
}

func (b *Book) mustRemove(id string) {
	if err := b.Remove(id); err != nil {
		panic("what was entered is there: " + err.Error())
	}
}

// DecideInstead decides on a request that replaces a circuit: what that one has counts as free. It leaves the book as
// it was. The request may have the same ID.
func (b *Book) DecideInstead(id string, r Request) (*Grant, *Refusal) {
	old, ok := b.Grant(id)
	if !ok {
		return nil, badRequest("id", fmt.Sprintf("there is no circuit %q", id))
	}
	b.mustRemove(id)
	defer func() {
		if err := b.Restore(old); err != nil {
			panic("what was there fits: " + err.Error())
		}
	}()
	return b.Decide(r)
}
