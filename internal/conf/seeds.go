package conf

import (
	"net"
	"strconv"
)

// SeedsOfStorm are the hosts of nimbus.seeds and their port, as Storm's own clients
// and workers have them. Ours may name a port with each host; Storm knows one for all,
// so that of seeds with several ports those that have the first one's are left. Any of
// them names the leader, with its own port.
func SeedsOfStorm(c *Conf) (hosts []string, port int) {
	port = -1
	for _, seed := range c.Strings(NimbusSeeds) {
		host, own := seed, c.Int(NimbusThriftPort)
		if h, text, err := net.SplitHostPort(seed); err == nil {
			n, err := strconv.Atoi(text)
			if err != nil {
				continue
			}
			host, own = h, n
		}
		if port < 0 {
			port = own
		}
		if own == port {
			hosts = append(hosts, host)
		}
	}
	if port < 0 {
		port = c.Int(NimbusThriftPort)
	}
	return hosts, port
}
