package compare

import (
	"cmp"
	"slices"

	"github.com/stormring/stormring/bench"
)

// Report is what Run returns, and what is kept as JSON.
type Report struct {
	Machine  bench.Machine `json:"machine"`
	Versions Versions      `json:"versions"`
	Settings Settings      `json:"settings"`
	Results  []Result      `json:"results"`
	// Failures are of what could not be measured.
	Failures []string `json:"failures,omitempty"`
}

// Versions are those of what was compared and of what it ran on.
type Versions struct {
	Storm     string `json:"storm"`
	Stormring string `json:"stormring"`
	Java      string `json:"java"`
	Python    string `json:"python"`
	Redis     string `json:"redis"`
	ZooKeeper string `json:"zookeeper"`
}

// Settings are what all systems were given alike.
type Settings struct {
	Runs          int     `json:"runs"`
	Seconds       float64 `json:"seconds"`
	WarmUpSeconds float64 `json:"warm_up_seconds"`
	Workers       int     `json:"workers"`
	Executors     int     `json:"executors"`
	Pending       int     `json:"max_spout_pending"`
	// Rate is that of the spout, in tuples a second, when latency is measured.
	Rate int `json:"rate"`
	// Keys and Size are of the state: how many values, and the bytes of each.
	Keys int `json:"state_keys"`
	Size int `json:"state_value_bytes"`
}

// Result is one topology on one system: the medians of the runs.
type Result struct {
	Topology string `json:"topology"`
	Ack      bool   `json:"ack"`
	System   System `json:"system"`
	Date     string `json:"date"`
	Measures
	Runs []Measures `json:"runs"`
}

// Measures are what was measured in a run; 0 is not measured.
type Measures struct {
	// TuplesPerSec arrived at the last bolt.
	TuplesPerSec float64 `json:"tuples_per_sec,omitempty"`
	// Cores is the processor time of all processes of the system in a second,
	// CPUMicros that for one tuple.
	Cores     float64 `json:"cores,omitempty"`
	CPUMicros float64 `json:"cpu_micros,omitempty"`
	// DaemonsMiB and WorkersMiB are resident: of nimbus and supervisor, and of all
	// processes that the supervisor has started.
	DaemonsMiB float64 `json:"daemons_mib,omitempty"`
	WorkersMiB float64 `json:"workers_mib,omitempty"`
	// P50Micros and P99Micros are from emission to the ack in the spout, at the
	// settings' rate.
	P50Micros float64 `json:"p50_micros,omitempty"`
	P99Micros float64 `json:"p99_micros,omitempty"`
	// Submit is how long the submitting command ran, First when, since its start, the
	// last bolt had its first tuple; in seconds.
	Submit float64 `json:"submit_seconds,omitempty"`
	First  float64 `json:"first_tuple_seconds,omitempty"`
	// Death is from kill -9 of a worker to the first tuple in the last bolt of the next
	// one; if the bolt has state, to the first value read.
	Death float64 `json:"death_seconds,omitempty"`
	// Gone is from the kill of the topology until none of its processes is left and
	// nimbus does not know it any more.
	Gone float64 `json:"gone_seconds,omitempty"`
	// Fill is from the first value put to the first checkpoint with all of them, Whole
	// from the death until each value was read once; StoreMiB is resident in Redis.
	Fill     float64 `json:"fill_seconds,omitempty"`
	Whole    float64 `json:"whole_seconds,omitempty"`
	StoreMiB float64 `json:"store_mib,omitempty"`
	// Load is the machine's load average over the minute before, OtherCores what other
	// processes used while throughput was measured.
	Load       float64 `json:"load,omitempty"`
	OtherCores float64 `json:"other_cores,omitempty"`
}

// all are the fields, to do the same with each.
func (m *Measures) all() []*float64 {
	return []*float64{
		&m.TuplesPerSec, &m.Cores, &m.CPUMicros, &m.DaemonsMiB, &m.WorkersMiB, &m.P50Micros, &m.P99Micros, &m.Submit, &m.First,
		&m.Death, &m.Gone, &m.Fill, &m.Whole, &m.StoreMiB, &m.Load, &m.OtherCores,
	}
}

// medians are those of each field over the runs that have it.
func medians(runs []Measures) Measures {
	var m Measures
	for i, field := range m.all() {
		var values []float64
		for r := range runs {
			if v := *runs[r].all()[i]; v != 0 {
				values = append(values, v)
			}
		}
		*field = middle(values)
	}
	return m
}

// middle is the median, between the two middle ones if need be; 0 of none.
func middle(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	slices.Sort(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// key is what results of the same thing share.
type key struct {
	topology string
	ack      bool
	system   System
}

func (r *Result) key() key { return key{r.Topology, r.Ack, r.System} }

// add puts a run into the report.
func (r *Report) add(k key, date string, m Measures) {
	i := slices.IndexFunc(r.Results, func(x Result) bool { return x.key() == k })
	if i < 0 {
		i = len(r.Results)
		r.Results = append(r.Results, Result{Topology: k.topology, Ack: k.ack, System: k.system})
	}
	x := &r.Results[i]
	x.Date, x.Runs = date, append(x.Runs, m)
	x.Measures = medians(x.Runs)
	r.sort()
}

// Merge puts newer results over older ones; machine, versions and settings are the
// newer ones.
func Merge(older, newer Report) Report {
	fresh := map[key]bool{}
	for i := range newer.Results {
		fresh[newer.Results[i].key()] = true
	}
	r := newer
	r.Results = slices.Clone(newer.Results)
	for _, x := range older.Results {
		if !fresh[x.key()] {
			r.Results = append(r.Results, x)
		}
	}
	r.sort()
	return r
}

func (r *Report) sort() {
	place := map[string]int{}
	for i, s := range Shapes() {
		place[s.Name] = i
	}
	slices.SortStableFunc(r.Results, func(a, b Result) int {
		return cmp.Or(
			cmp.Compare(place[a.Topology], place[b.Topology]), rank(b.Ack)-rank(a.Ack),
			cmp.Compare(slices.Index(Systems(), a.System), slices.Index(Systems(), b.System)))
	})
}

func rank(ack bool) int {
	if ack {
		return 1
	}
	return 0
}

// find is a result, if there is one.
func (r *Report) find(k key) (Result, bool) {
	i := slices.IndexFunc(r.Results, func(x Result) bool { return x.key() == k })
	if i < 0 {
		return Result{}, false
	}
	return r.Results[i], true
}
