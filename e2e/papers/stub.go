package papers

func vpn() []Experiment { return nil }
