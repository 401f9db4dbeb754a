package admit

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
