package papers

func lbe() []Experiment       { return nil }
func multipath() []Experiment { return nil }
func vpn() []Experiment       { return nil }
