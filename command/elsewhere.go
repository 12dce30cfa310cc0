package command

import (
	"errors"

	"github.com/spf13/cobra"
)

// elsewhere are the commands of Storm that are not here, each with what to use
// in its place. Help does not list them.
func (v *verbs) elsewhere() []*cobra.Command {
	const (
		later  = " comes later"
		shares = "workers tell their supervisors that they live, so nothing of it is in ZooKeeper; "
	)
	var list []*cobra.Command
	for _, c := range []struct{ name, instead string }{
		{"dev-zookeeper", "there is none to run: " + v.name + " local needs no ZooKeeper, and a cluster takes any ZooKeeper"},
		{"heartbeats", shares + v.name + " admin print_assignment TOPOLOGY shows the executors that are heard of"},
		{"pacemaker", shares + "it has nothing to do here"},
		{"kill_workers", "use " + v.name + " drain HOST, which moves the workers elsewhere first; workers end when their topology is killed"},
		{"node-health-check", "supervisors run no health checks yet; this" + later},
		{"drpc", "the DRPC server" + later},
		{"drpc-client", "the DRPC client" + later},
		{"ui", "the UI" + later + "; Storm's own UI can be pointed at this nimbus"},
		{"logviewer", "the log viewer" + later + "; logs are in workers-artifacts of the supervisor's log directory"},
		{"shell", "submitting from a script" + later + "; use a Thrift client such as streamparse, or " + v.name + " jar"},
		{"repl", "there is no Clojure here"},
		{"sql", "there is no SQL here"},
	} {
		list = append(list, instead(c.name, c.instead))
	}
	return list
}

// instead is a command that only tells what to use in its place.
func instead(name, text string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: "Not here: " + text, Hidden: true, DisableFlagParsing: true,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return errors.New(name + ": " + text) },
	}
}
