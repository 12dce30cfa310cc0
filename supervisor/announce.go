package supervisor

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/storm"
)

// resourcesKey names further resources of this host and how much it has.
const resourcesKey = "supervisor.resources.map"

// record is the supervisor's sign of life.
func (s *Supervisor) record() cluster.SupervisorRecord {
	now := s.cfg.Clock.Now()
	r := cluster.SupervisorRecord{
		TimeSecs: now.Unix(), Host: s.cfg.Host, AssignmentID: string(s.id),
		UsedPorts: s.hub.used(), Ports: s.ports, SchedulerMeta: map[string]string{},
		UptimeSecs: int64(now.Sub(s.started).Seconds()), Version: s.cfg.Version,
		Resources: resourcesOf(s.cfg.Conf), ThriftPort: s.thriftPort(),
	}
	if releases := s.cfg.JVMs(); len(releases) > 0 {
		r.SchedulerMeta[cluster.JVMsMeta] = strings.Join(releases, " ")
		if s.cfg.JVMState() {
			r.SchedulerMeta[cluster.JVMStateMeta] = "true"
		}
	}
	for name, v := range s.cfg.Conf.Map(conf.SupervisorSchedulerMeta) {
		r.SchedulerMeta[name] = fmt.Sprint(v)
	}
	return r
}

func (s *Supervisor) thriftPort() int {
	return cmp.Or(s.cfg.ThriftPort, s.cfg.Conf.Int(conf.SupervisorThriftPort))
}

// resourcesOf are what the host has, by Storm's names.
func resourcesOf(c *conf.Conf) map[string]float64 {
	out := map[string]float64{}
	if generic, ok := c.Value(resourcesKey).(map[string]any); ok {
		for name, v := range generic {
			if n, err := storm.Key[float64](resourcesKey).Parse(v); err == nil {
				out[name] = n
			}
		}
	}
	maps.Copy(out, map[string]float64{
		cluster.MemoryName: c.Float(conf.SupervisorMemoryCapacityMB),
		cluster.CPUName:    c.Float(conf.SupervisorCPUCapacity),
	})
	return out
}
