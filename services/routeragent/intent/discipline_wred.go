package intent

import "github.com/millrace/millrace/services/routeragent/kernel"

// wred is a drop profile for each loss priority.
var wred = discipline{"wred/drop-profiles/drop-profile", readWRED}

func readWRED(v view) (kernel.Discipline, error) {
	profiles := v.entries()
	if len(profiles) == 0 {
		return nil, nil
	}
	var out kernel.WRED
	for _, p := range profiles {
		profile, err := readDropProfile(p.at("config"))
		if err != nil {
			return nil, err
		}
		out[losses[p.text("loss-priority")]-1] = &profile
	}
	return out, nil
}
