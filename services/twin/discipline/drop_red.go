package discipline

// RED drops by one profile, whatever the packet's colour (RFC 7567).
type RED DropProfile

func (r RED) probability(_ uint8, fill float64) float64 { return (*DropProfile)(&r).at(fill) }

func (r RED) check() error { return (*DropProfile)(&r).check() }
