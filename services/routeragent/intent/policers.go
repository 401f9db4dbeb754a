package intent

// polices tells a policer from a scheduler of queues: it says POLICE, or has two rates.
func polices(policy view) bool {
	for _, s := range policy.at("schedulers", "scheduler").entries() {
		if s.text("config", "type") == "TWO_RATE_THREE_COLOR" || s.text("one-rate-two-color", "config", "queuing-behavior") == "POLICE" {
			return true
		}
	}
	return false
}
