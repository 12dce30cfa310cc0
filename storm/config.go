package storm

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Config is a topology's or a component's configuration by Storm key. The Set
// methods and the Conf keys put values of the right type into it; keys of your
// own are welcome too and reach every component of the topology:
//
//	conf := storm.Config{"my.greeting": "hello"}
//	conf.SetNumWorkers(2)
//	storm.ConfTopologyBackpressureCheckMillis.Set(conf, 20)
//
// Values are what JSON can express. What is not set here comes from the
// cluster's storm.yaml, and then from the default that each key names.
type Config map[string]any

// Setting is a type that a configuration value can have.
type Setting interface {
	bool | int | float64 | string | []string | []any | map[string]any
}

// Key names a setting whose values are of type T. A constant of type Key keeps
// a wrong type out at compile time.
type Key[T Setting] string

// Set sets k in c.
func (k Key[T]) Set(c Config, value T) { c[string(k)] = value }

// Get is the value of k in c; ok is false if it is absent, null or of another
// type. Conversions are those of Parse.
func (k Key[T]) Get(c Config) (value T, ok bool) {
	v := c[string(k)]
	if v == nil {
		return value, false
	}
	value, err := k.Parse(v)
	return value, err == nil
}

// Parse is v as a T, with the latitude that Storm gives: a number may come as
// any of Go's or JSON's kinds of number as long as nothing is lost, a list of
// strings as a list of any or as one string. The error names key, wanted type
// and given value.
func (k Key[T]) Parse(v any) (T, error) {
	if t, ok := v.(T); ok {
		return t, nil
	}
	var (
		zero T
		got  any
		ok   bool
	)
	switch any(zero).(type) {
	case int:
		got, ok = wholeNumber(v)
	case float64:
		got, ok = number(v)
	case []string:
		got, ok = stringList(v)
	case []any:
		got, ok = anyList(v)
	case map[string]any:
		got, ok = anyMap(v)
	}
	if !ok {
		return zero, fmt.Errorf("%s wants %s, not %s", string(k), k.Wants(), showSetting(v))
	}
	return got.(T), nil
}

// Wants is the type of k's values in words, for messages.
func (k Key[T]) Wants() string {
	var zero T
	switch any(zero).(type) {
	case bool:
		return "true or false"
	case int:
		return "a whole number"
	case float64:
		return "a number"
	case string:
		return "a string"
	case []string:
		return "a list of strings"
	case []any:
		return "a list"
	default:
		return "a map"
	}
}

// showSetting is a value as error messages show it: with its type, and short.
func showSetting(v any) string {
	const limit = 60
	var text string
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		text = fmt.Sprintf("the string %q", v)
	case bool:
		return fmt.Sprintf("the boolean %t", v)
	case map[string]any, Config:
		text = fmt.Sprintf("the map %v", v)
	case []any, []string:
		text = fmt.Sprintf("the list %v", v)
	default:
		text = fmt.Sprintf("%v (%T)", v, v)
	}
	if r := []rune(text); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return text
}

// wholeNumber is v as an int if it is a number without a fraction that fits.
func wholeNumber(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case int32:
		return int(v), true
	case int64:
		return int(v), int64(int(v)) == v
	case uint64:
		return int(v), v <= math.MaxInt
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return wholeNumber(n)
		}
		f, err := v.Float64()
		if err != nil {
			return 0, false
		}
		return wholeNumber(f)
	case float64:
		// The bounds are powers of two, so that they are exact as floats.
		const limit = 1 << 63
		if v != math.Trunc(v) || v < -limit || v >= limit {
			return 0, false
		}
		return wholeNumber(int64(v))
	}
	return 0, false
}

// number is v as a float64 if it is a number.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	case int:
		return float64(v), true
	case int32:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}

func stringList(v any) ([]string, bool) {
	switch v := v.(type) {
	case []string:
		return v, true
	case string:
		return []string{v}, true
	case []any:
		list := make([]string, len(v))
		for i, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, false
			}
			list[i] = s
		}
		return list, true
	}
	return nil, false
}

func anyList(v any) ([]any, bool) {
	switch v := v.(type) {
	case []string:
		return boxed(v), true
	case []map[string]any:
		return boxed(v), true
	case []int:
		return boxed(v), true
	}
	return nil, false
}

func boxed[T any](xs []T) []any {
	list := make([]any, len(xs))
	for i, x := range xs {
		list[i] = x
	}
	return list
}

func anyMap(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case Config:
		return v, true
	case map[string]string:
		return boxedMap(v), true
	case map[string]int:
		return boxedMap(v), true
	}
	return nil, false
}

func boxedMap[T any](m map[string]T) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// SetDebug makes every emitted tuple be logged by the workers.
func (c Config) SetDebug(on bool) { ConfTopologyDebug.Set(c, on) }

// SetNumWorkers is how many worker processes the topology wants.
func (c Config) SetNumWorkers(n int) { ConfTopologyWorkers.Set(c, n) }

// SetNumAckers is how many acker executors follow tuple trees: 0 acks every
// tuple as soon as it leaves its spout, unset means one a worker.
func (c Config) SetNumAckers(n int) { ConfTopologyAckerExecutors.Set(c, n) }

// SetNumEventLoggers is how many event logger executors record sampled tuples.
func (c Config) SetNumEventLoggers(n int) { ConfTopologyEventloggerExecutors.Set(c, n) }

// SetMessageTimeoutSecs is how long, in seconds, a tuple tree may take before
// it fails at its spout.
func (c Config) SetMessageTimeoutSecs(secs int) { ConfTopologyMessageTimeoutSecs.Set(c, secs) }

// SetMaxTaskParallelism caps the tasks and executors of every component.
func (c Config) SetMaxTaskParallelism(n int) { ConfTopologyMaxTaskParallelism.Set(c, n) }

// SetMaxSpoutPending caps the tracked tuples that one spout task may have
// under way; unset means no cap.
func (c Config) SetMaxSpoutPending(n int) { ConfTopologyMaxSpoutPending.Set(c, n) }

// SetTickTupleFreqSecs makes a component get a tick tuple every secs seconds,
// see Tuple.IsTick. It belongs into a component's configuration.
func (c Config) SetTickTupleFreqSecs(secs int) { ConfTopologyTickTupleFreqSecs.Set(c, secs) }

// SetStatsSampleRate is the share of tuples, from 0 to 1, whose latency is
// measured. Counts are exact whatever it is.
func (c Config) SetStatsSampleRate(rate float64) { ConfTopologyStatsSampleRate.Set(c, rate) }

// SetEnvironment sets environment variables of the topology's workers.
func (c Config) SetEnvironment(env map[string]string) {
	ConfTopologyEnvironment.Set(c, boxedMap(env))
}

// SetTopologyPriority ranks the topology for the resource aware scheduler;
// lower numbers go first.
func (c Config) SetTopologyPriority(priority int) { ConfTopologyPriority.Set(c, priority) }

// SetTopologyStrategy names the class of the resource aware scheduler's
// strategy.
func (c Config) SetTopologyStrategy(class string) { ConfTopologySchedulerStrategy.Set(c, class) }

// RegisterMetricsConsumer adds a metrics consumer: the registered name of the
// consumer, its argument (nil for none) and how many executors run it.
func (c Config) RegisterMetricsConsumer(class string, argument any, parallelism int) {
	entry := map[string]any{"class": class, "parallelism.hint": parallelism}
	if argument != nil {
		entry["argument"] = argument
	}
	list, _ := ConfTopologyMetricsConsumerRegister.Get(c)
	// A list of its own each time: another Config may share the old one.
	ConfTopologyMetricsConsumerRegister.Set(c, append(slices.Clip(list), entry))
}
