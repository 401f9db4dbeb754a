package scenario

// Storm is a crowd of clients that request circuits between the routers of the file while servers are killed. Nobody
// sends packets, so it needs no virtual routers and no phases.
type Storm struct {
	// Clients send at the same time, Requests are all that they send together.
	Clients  int `yaml:"clients"`
	Requests int `yaml:"requests"`
	// Replicas of the circuit service, and Members of etcd, which are odd in number so that one can be missing.
	Replicas int `yaml:"replicas"`
	Members  int `yaml:"members"`
	// Kills come in turns: a replica, the leader of etcd. The last one is both at once.
	Kills int `yaml:"kills"`
}

func (c *checker) storm(s *Storm) {
	switch {
	case s == nil:
	case s.Clients < 1 || s.Requests < s.Clients || s.Kills < 0 || s.Requests < 10*(s.Kills+1):
		c.add("$.storm", "%d requests of %d clients with %d kills: at least one for each client, and ten for each kill and one more", s.Requests, s.Clients, s.Kills)
	case s.Replicas < 2 || s.Replicas > 9:
		c.add("$.storm.replicas", "%d replicas: 2 to 9, so that one of them is there while another one is not", s.Replicas)
	case s.Members != 3 && s.Members != 5:
		c.add("$.storm.members", "%d members: 3 or 5, so that the others are a majority without the leader", s.Members)
	}
}
