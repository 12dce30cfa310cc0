package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stormring/stormring/flux"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/storm"
)

// submitter is a leader that takes topologies; *client.Client is one.
type submitter interface {
	Submit(ctx context.Context, s client.Submission) error
}

// sendFlux submits a topology with its resources.
func (v *verbs) sendFlux(ctx context.Context, t *flux.Topology, settings storm.Config, p *pack, f *fluxFlags) error {
	c, _, err := f.load()
	if err != nil {
		return err
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return fmt.Errorf("the topology's configuration cannot be sent: %w", err)
	}
	jar, err := p.upload(ctx, t.Registered)
	if err != nil {
		return err
	}
	s := client.Submission{Name: t.Name, Conf: string(text), Topology: t.Description, Inactive: f.inactive}
	if jar != nil {
		defer jar.Close()
		s.Jar = jar
	}
	return v.askAt(ctx, c, func(ctx context.Context, n leader) error {
		to, ok := n.(submitter)
		if !ok {
			return errors.New("this nimbus takes no topologies")
		}
		if err := to.Submit(ctx, s); err != nil {
			return err
		}
		v.say("submitted topology %s", t.Name)
		return nil
	})
}

// fluxComponent is a component as --dry-run shows it.
type fluxComponent struct {
	ID          string         `json:"id"`
	Kind        string         `json:"kind"`
	Code        string         `json:"code"`
	Parallelism int            `json:"parallelism"`
	Conf        map[string]any `json:"conf"`
	Streams     []fluxStream   `json:"streams"`
	Inputs      []fluxInput    `json:"inputs"`
}

type fluxStream struct {
	ID     string   `json:"id"`
	Fields []string `json:"fields"`
	Direct bool     `json:"direct"`
}

type fluxInput struct {
	Component string `json:"component"`
	Stream    string `json:"stream"`
	Grouping  string `json:"grouping"`
}

// fluxShown is a topology as --dry-run shows it.
type fluxShown struct {
	Name       string          `json:"name"`
	Conf       storm.Config    `json:"conf"`
	Components []fluxComponent `json:"components"`
}

// showFlux prints a topology.
func (v *verbs) showFlux(t *flux.Topology, settings storm.Config, asJSON bool) error {
	out := fluxShown{Name: t.Name, Conf: settings, Components: []fluxComponent{}}
	for _, vertex := range t.Vertices {
		one, err := shownComponent(vertex, t.Description.Components[vertex.ID])
		if err != nil {
			return err
		}
		out.Components = append(out.Components, one)
	}
	if asJSON {
		return v.printJSON(out)
	}
	return v.printFlux(out)
}

func shownComponent(vertex flux.Vertex, c cluster.Component) (fluxComponent, error) {
	one := fluxComponent{
		ID: vertex.ID, Kind: "bolt", Code: vertex.Class, Parallelism: c.Parallelism,
		Conf: map[string]any{}, Streams: []fluxStream{}, Inputs: []fluxInput{},
	}
	if c.Kind == cluster.Spout {
		one.Kind = "spout"
	}
	if len(vertex.Command) > 0 {
		one.Code = strings.Join(vertex.Command, " ")
	}
	if c.Conf != "" {
		if err := json.Unmarshal([]byte(c.Conf), &one.Conf); err != nil {
			return one, fmt.Errorf("component %q: its configuration: %w", vertex.ID, err)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Streams)) {
		one.Streams = append(one.Streams, fluxStream{ID: id, Fields: append([]string{}, c.Streams[id].Fields...), Direct: c.Streams[id].Direct})
	}
	for _, in := range c.Inputs {
		one.Inputs = append(one.Inputs, fluxInput{Component: in.Component, Stream: in.Stream, Grouping: groupingOf(in.Grouping)})
	}
	return one, nil
}

// printFlux prints a topology for people.
func (v *verbs) printFlux(t fluxShown) error {
	fmt.Fprintf(v.stdout, "topology %s\n\n", t.Name)
	rows := [][]string{{"COMPONENT", "KIND", "PARALLELISM", "RUNS", "OUTPUT"}}
	streams := [][]string{{"FROM", "STREAM", "TO", "GROUPING"}}
	var settings [][]string
	for _, c := range t.Components {
		var outputs []string
		for _, s := range c.Streams {
			text := s.ID + "(" + strings.Join(s.Fields, " ") + ")"
			if s.Direct {
				text += " direct"
			}
			outputs = append(outputs, text)
		}
		rows = append(rows, []string{c.ID, c.Kind, fmt.Sprint(c.Parallelism), c.Code, cmp.Or(strings.Join(outputs, ", "), none)})
		for _, in := range c.Inputs {
			streams = append(streams, []string{in.Component, in.Stream, c.ID, in.Grouping})
		}
		for _, key := range slices.Sorted(maps.Keys(c.Conf)) {
			settings = append(settings, []string{c.ID, key, jsonText(c.Conf[key])})
		}
	}
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(t.Conf))) {
		settings = slices.Insert(settings, 0, []string{"", key, jsonText(t.Conf[key])})
	}
	if err := v.table(rows); err != nil {
		return err
	}
	if len(streams) > 1 {
		fmt.Fprintln(v.stdout)
		if err := v.table(streams); err != nil {
			return err
		}
	}
	if len(settings) == 0 {
		return nil
	}
	fmt.Fprintln(v.stdout)
	return v.table(slices.Insert(settings, 0, []string{"OF", "CONFIGURATION KEY", "VALUE"}))
}

// jsonText is a value of a configuration as JSON.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
