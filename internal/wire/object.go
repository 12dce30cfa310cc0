package wire

import (
	"fmt"

	"github.com/stormring/stormring/internal/cluster"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

func objectToThrift(o cluster.Object) (*gen.ComponentObject, error) {
	if err := oneArm("ComponentObject", o.Serialized != nil, o.Shell != nil, o.Class != nil); err != nil {
		return nil, err
	}
	x := &gen.ComponentObject{SerializedJava: o.Serialized}
	if o.Shell != nil {
		x.Shell = &gen.ShellComponent{ExecutionCommand: o.Shell.Command, Script: o.Shell.Script}
	}
	var err error
	x.JavaObject, err = classToThrift(o.Class)
	return x, err
}

func objectFromThrift(x *gen.ComponentObject) (cluster.Object, error) {
	if x == nil {
		return cluster.Object{}, errAbsent
	}
	if err := oneArm("ComponentObject", x.SerializedJava != nil, x.Shell != nil, x.JavaObject != nil); err != nil {
		return cluster.Object{}, err
	}
	o := cluster.Object{Serialized: x.SerializedJava}
	if x.Shell != nil {
		o.Shell = &cluster.Shell{Command: x.Shell.ExecutionCommand, Script: x.Shell.Script}
	}
	var err error
	o.Class, err = classFromThrift(x.JavaObject)
	return o, err
}

func classToThrift(c *cluster.Class) (*gen.JavaObject, error) {
	if c == nil {
		return nil, nil //nolint:nilnil // an arm of a union that is not set
	}
	args, err := tried("args_list", c.Args, argToThrift)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	return &gen.JavaObject{FullClassName: c.Name, ArgsList: args}, nil
}

func classFromThrift(x *gen.JavaObject) (*cluster.Class, error) {
	if x == nil {
		return nil, nil //nolint:nilnil // an arm of a union that is not set
	}
	c := &cluster.Class{Name: x.FullClassName}
	for i, a := range x.ArgsList {
		arg, err := argFromThrift(a)
		if err != nil {
			return nil, fmt.Errorf("%s: args_list[%d]: %w", c.Name, i, err)
		}
		c.Args = append(c.Args, arg)
	}
	return c, nil
}

func argToThrift(arg any) (*gen.JavaObjectArg, error) {
	switch v := arg.(type) {
	case int32:
		return &gen.JavaObjectArg{IntArg: &v}, nil
	case int64:
		return &gen.JavaObjectArg{LongArg: &v}, nil
	case string:
		return &gen.JavaObjectArg{StringArg: &v}, nil
	case bool:
		return &gen.JavaObjectArg{BoolArg: &v}, nil
	case []byte:
		return &gen.JavaObjectArg{BinaryArg: notNil(v)}, nil
	case float64:
		return &gen.JavaObjectArg{DoubleArg: &v}, nil
	default:
		return nil, fmt.Errorf("a %T cannot be an argument; use int32, int64, string, bool, []byte or float64", arg)
	}
}

func argFromThrift(x *gen.JavaObjectArg) (any, error) {
	err := oneArm("JavaObjectArg", x.IntArg != nil, x.LongArg != nil, x.StringArg != nil,
		x.BoolArg != nil, x.BinaryArg != nil, x.DoubleArg != nil)
	switch {
	case err != nil:
		return nil, err
	case x.IntArg != nil:
		return *x.IntArg, nil
	case x.LongArg != nil:
		return *x.LongArg, nil
	case x.StringArg != nil:
		return *x.StringArg, nil
	case x.BoolArg != nil:
		return *x.BoolArg, nil
	case x.BinaryArg != nil:
		return x.BinaryArg, nil
	default:
		return *x.DoubleArg, nil
	}
}

func groupingToThrift(g cluster.Grouping) (*gen.Grouping, error) {
	switch g.Kind {
	case cluster.GroupFields:
		return &gen.Grouping{Fields: required(g.Fields, same)}, nil
	case cluster.GroupShuffle:
		return &gen.Grouping{Shuffle: &gen.NullStruct{}}, nil
	case cluster.GroupAll:
		return &gen.Grouping{All: &gen.NullStruct{}}, nil
	case cluster.GroupNone:
		return &gen.Grouping{None: &gen.NullStruct{}}, nil
	case cluster.GroupDirect:
		return &gen.Grouping{Direct: &gen.NullStruct{}}, nil
	case cluster.GroupCustomObject:
		if g.Class == nil {
			return nil, fmt.Errorf("custom_object: %w", errAbsent)
		}
		c, err := classToThrift(g.Class)
		return &gen.Grouping{CustomObject: c}, err
	case cluster.GroupCustomSerialized:
		return &gen.Grouping{CustomSerialized: notNil(g.Serialized)}, nil
	case cluster.GroupLocalOrShuffle:
		return &gen.Grouping{LocalOrShuffle: &gen.NullStruct{}}, nil
	default:
		return nil, unknown("grouping", int64(g.Kind))
	}
}

func groupingFromThrift(x *gen.Grouping) (cluster.Grouping, error) {
	err := oneArm("Grouping", x.Fields != nil, x.Shuffle != nil, x.All != nil, x.None != nil,
		x.Direct != nil, x.CustomObject != nil, x.CustomSerialized != nil, x.LocalOrShuffle != nil)
	switch {
	case err != nil:
		return cluster.Grouping{}, err
	case x.Fields != nil:
		return cluster.Grouping{Kind: cluster.GroupFields, Fields: list(x.Fields, same)}, nil
	case x.Shuffle != nil:
		return cluster.Grouping{Kind: cluster.GroupShuffle}, nil
	case x.All != nil:
		return cluster.Grouping{Kind: cluster.GroupAll}, nil
	case x.None != nil:
		return cluster.Grouping{Kind: cluster.GroupNone}, nil
	case x.Direct != nil:
		return cluster.Grouping{Kind: cluster.GroupDirect}, nil
	case x.CustomObject != nil:
		c, err := classFromThrift(x.CustomObject)
		return cluster.Grouping{Kind: cluster.GroupCustomObject, Class: c}, err
	case x.CustomSerialized != nil:
		return cluster.Grouping{Kind: cluster.GroupCustomSerialized, Serialized: x.CustomSerialized}, nil
	default:
		return cluster.Grouping{Kind: cluster.GroupLocalOrShuffle}, nil
	}
}
