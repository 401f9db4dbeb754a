package intent

import "github.com/millrace/millrace/services/routeragent/kernel"

// red is one drop profile for all packets of a queue.
var red = discipline{"wred/uniform/config", readRED}

func readRED(v view) (kernel.Discipline, error) {
	if v.text("drop") != "true" {
		return nil, unsupported(v.path+"/drop", "is false, which means that packets without ECN are not dropped early; only true is implemented")
	}
	profile, err := readDropProfile(v)
	if err != nil {
		return nil, err
	}
	profile.ECN = v.text("enable-ecn") == "true"
	return kernel.RED(profile), nil
}
