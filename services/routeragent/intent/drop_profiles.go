package intent

import "github.com/millrace/millrace/services/routeragent/kernel"

// readDropProfiles reads the drop profiles of a port's queues, by queue.
func (c *compiler) readDropProfiles(port view, shares []share) (map[string]func(*kernel.Queue), error) {
	out := map[string]func(*kernel.Queue){}
	known := map[string]bool{}
	for _, s := range shares {
		known[s.queue] = true
	}
	for _, q := range port.at("output", "queues", "queue").entries() {
		name := q.text("config", "queue-management-profile")
		if name == "" {
			continue
		}
		if !known[q.text("name")] {
			return nil, invalid(q.path, "no scheduler of the port serves this queue")
		}
		profile := c.root.at("qos", "queue-management-profiles", "queue-management-profile").entry(name)
		if !profile.exists() {
			return nil, invalid(q.path+"/config/queue-management-profile", "there is no profile %q", name)
		}
		set, err := readProfile(profile)
		if err != nil {
			return nil, err
		}
		out[q.text("name")] = set
	}
	return out, nil
}

// readProfile reads RED (one profile for all) or WRED (a profile per loss priority).
func readProfile(profile view) (func(*kernel.Queue), error) {
	uniform, profiles := profile.at("wred", "uniform", "config"), profile.at("wred", "drop-profiles", "drop-profile").entries()
	switch {
	case uniform.exists() && len(profiles) > 0:
		return nil, invalid(profile.path+"/wred", "has a uniform profile and profiles by loss priority; give one or the other")
	case uniform.exists():
		red, err := readRED(uniform)
		return func(q *kernel.Queue) { q.RED = &red }, err
	case len(profiles) > 0:
		return readWRED(profiles)
	}
	return func(*kernel.Queue) {}, nil
}

func readRED(v view) (kernel.DropProfile, error) {
	if v.text("drop") != "true" {
		return kernel.DropProfile{}, unsupported(v.path+"/drop", "is false, which means that packets without ECN are not dropped early; only true is implemented")
	}
	red, err := readDropProfile(v)
	red.ECN = v.text("enable-ecn") == "true"
	return red, err
}

func readWRED(profiles []view) (func(*kernel.Queue), error) {
	var wred kernel.Queue
	for _, v := range profiles {
		one, err := readDropProfile(v.at("config"))
		if err != nil {
			return nil, err
		}
		wred.WRED[losses[v.text("loss-priority")]-1] = &one
	}
	return func(q *kernel.Queue) { q.WRED = wred.WRED }, nil
}

func readDropProfile(v view) (kernel.DropProfile, error) {
	low, hasLow := v.number("min-threshold-percent")
	high, hasHigh := v.number("max-threshold-percent")
	probability, hasProbability := v.number("max-drop-probability-percent")
	switch {
	case !hasLow || !hasHigh || !hasProbability:
		return kernel.DropProfile{}, invalid(v.path, "needs min-threshold-percent, max-threshold-percent and max-drop-probability-percent")
	case low > high:
		return kernel.DropProfile{}, invalid(v.path+"/min-threshold-percent", "is above max-threshold-percent")
	case high == 0:
		return kernel.DropProfile{}, invalid(v.path+"/max-threshold-percent", "is 0, so every packet would be dropped")
	case high > 100 || probability > 100:
		return kernel.DropProfile{}, invalid(v.path, "percentages end at 100")
	}
	return kernel.DropProfile{Min: uint8(low), Max: uint8(high), Probability: uint8(probability)}, nil
}
