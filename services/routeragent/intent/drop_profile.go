package intent

import "github.com/millrace/millrace/services/routeragent/kernel"

// readDropProfile reads thresholds and probability, which red and wred spell alike.
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
