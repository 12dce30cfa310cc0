package polyglot

import (
	"fmt"

	"github.com/stormring/stormring/storm"
)

// Register registers the parts of the topology that are in Go:
//
//	polyglot.Lines   a spout of lines (text, line), and of (line) on stream
//	                 settled; its arguments are paths of files, by default the
//	                 scripts of this topology
//	polyglot.Count   a bolt of (word, times, line), and of stream settled, that
//	                 counts: (word, count)
//	polyglot.Report  a bolt of (word, count) that writes the counts to the file
//	                 of its argument, or without one the most frequent to the log
func Register(r *storm.Registry) {
	r.Spout("polyglot.Lines", func(args []storm.Value) (storm.Spout, error) {
		paths, err := texts("polyglot.Lines", args)
		if err != nil {
			return nil, err
		}
		sources, total, err := resolve(paths)
		if err != nil {
			return nil, err
		}
		return &lines{job: newJob(total), sources: sources}, nil
	})
	r.BasicBolt("polyglot.Count", func(args []storm.Value) (storm.BasicBolt, error) {
		if len(args) > 0 {
			return nil, fmt.Errorf("polyglot.Count takes no arguments, but got %d", len(args))
		}
		return &counter{job: newJob(0)}, nil
	})
	r.BasicBolt("polyglot.Report", func(args []storm.Value) (storm.BasicBolt, error) {
		paths, err := texts("polyglot.Report", args)
		switch {
		case err != nil:
			return nil, err
		case len(paths) > 1:
			return nil, fmt.Errorf("polyglot.Report writes one file, but got %d arguments", len(paths))
		case len(paths) == 0 || paths[0] == "":
			return &reporter{job: newJob(0), log: true}, nil
		}
		return &reporter{job: newJob(0), output: paths[0]}, nil
	})
}

// texts are arguments that have to be strings, or lists of them.
func texts(name string, args []storm.Value) ([]string, error) {
	var out []string
	for i, arg := range args {
		if list, ok := arg.AsList(); ok {
			more, err := texts(name, list)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
			continue
		}
		s, ok := arg.AsString()
		if !ok {
			return nil, fmt.Errorf("argument %d of %s is %s; it must be the path of a file", i, name, arg)
		}
		out = append(out, s)
	}
	return out, nil
}
