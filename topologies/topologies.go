// Package topologies lists the sample topologies, one a folder below; each has
// a README. To read one as an example, begin with exclamation, then wordcount.
package topologies

import (
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/advertising"
	"github.com/stormring/stormring/topologies/exclamation"
	"github.com/stormring/stormring/topologies/polyglot"
	"github.com/stormring/stormring/topologies/rollingtopwords"
	"github.com/stormring/stormring/topologies/selfcheck"
	"github.com/stormring/stormring/topologies/statefulwordcount"
	"github.com/stormring/stormring/topologies/throughput/constidnull"
	"github.com/stormring/stormring/topologies/throughput/constnull"
	"github.com/stormring/stormring/topologies/throughput/filewordcount"
	"github.com/stormring/stormring/topologies/throughput/pythonwordcount"
	"github.com/stormring/stormring/topologies/throughput/statehold"
	"github.com/stormring/stormring/topologies/wordcount"
)

// All are the sample topologies, sorted by name.
func All() []storm.Definition {
	return []storm.Definition{
		advertising.Definition(),
		constidnull.Definition(),
		constnull.Definition(),
		exclamation.Definition(),
		filewordcount.Definition(),
		polyglot.Definition(),
		pythonwordcount.Definition(),
		rollingtopwords.Definition(),
		selfcheck.Definition(),
		statefulwordcount.Definition(),
		statehold.Definition(),
		wordcount.Definition(),
	}
}

// Components are the components of the samples that topologies described in
// YAML may name.
func Components() *storm.Registry {
	r := storm.NewRegistry()
	polyglot.Register(r)
	return r
}
