// Package grouping maps an emitted tuple to the tasks that are to execute it:
// Storm's stream groupings. It decides as Storm does on the JVM, down to the
// hash of each value, so that a topology may be spread over both.
//
// Start at New: one Grouping serves one emitting task, one of its streams and
// one component that subscribes to it. Grouping.One is the hot path. The hash
// is in hash.go and hashany.go, the load-aware schedule in shuffle.go, the
// two-choices rule in partialkey.go.
package grouping

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/stormring/stormring/storm"
)

// Kind names a rule for choosing target tasks.
type Kind uint8

// The kinds of groupings.
const (
	// Shuffle takes the targets in turn, see Grouping.SetLoad.
	Shuffle Kind = iota
	// LocalOrShuffle is Shuffle over the targets in the emitter's worker, or
	// over all if there are none.
	LocalOrShuffle
	// Fields takes the target by the hash of the grouping fields; with no
	// fields it is Global.
	Fields
	// Global takes the lowest task id.
	Global
	// All takes every target.
	All
	// None takes a random target.
	None
	// Direct leaves the choice to the emitter.
	Direct
	// PartialKey takes, of two targets that the key decides, the one that had
	// fewer tuples; without fields the key is the first value.
	PartialKey
	// Custom asks Spec.Custom.
	Custom
)

var kindNames = [...]string{
	"shuffle", "local or shuffle", "fields", "global", "all", "none", "direct", "partial key", "custom",
}

// String is the kind's name as error messages show it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "grouping kind " + strconv.Itoa(int(k))
}

// CustomChooser is a grouping of the topology author.
type CustomChooser interface {
	// Choose names the tasks that are to get t, which task from emits. They
	// must be targets of the grouping; a task named twice gets t twice.
	Choose(from storm.TaskID, t *storm.Tuple) []storm.TaskID
}

// Spec says what a Grouping is to do.
type Spec struct {
	Kind Kind
	// Fields are the positions of the grouping fields in the emitted tuple, in
	// the order in which the user listed them. Only Fields and PartialKey look
	// at them.
	Fields []int
	// Custom is needed for kind Custom, and for no other.
	Custom CustomChooser
	// Targets are the tasks of the subscriber, ascending. All results are
	// indexes into this list.
	Targets []storm.TaskID
	// Local tells for each target whether it lives in the emitter's worker. Nil
	// means that none does.
	Local []bool
	// Rand is drawn from in New only. The shuffles and None need it.
	Rand *rand.Rand
	// HigherBound and LowerBound are the mean loads of the local targets at
	// which a load-aware shuffle goes over to all targets and comes back to the
	// local ones (topology.localityaware.{higher,lower}.bound). If both are 0,
	// Storm's defaults hold: 0.8 and 0.2.
	HigherBound, LowerBound float64
}

// ErrDirect is what Choose returns for a stream with direct grouping.
var ErrDirect = errors.New("grouping: emit to a direct stream, use EmitDirect")

// op is what One does. Several kinds share one, and a single target makes
// most of them the same.
type op uint8

const (
	opMany op = iota // not single: see Choose
	opFirst
	opRing
	opHash
	opRandom
	opPartialKey
)

// Grouping chooses target tasks. It belongs to one goroutine.
type Grouping struct {
	op     op
	kind   Kind
	n      int32 // number of targets
	need   int32 // number of values that a tuple must have
	next   int   // position in ring
	ring   []int32
	fields []int
	sent   []int64 // PartialKey: tuples sent to each target
	pcg    rand.PCG

	targets []storm.TaskID
	custom  CustomChooser
	balance *balance // of the shuffles
}

// New makes a Grouping. It fails if the Spec is incomplete or contradicts
// itself.
func New(s Spec) (*Grouping, error) {
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("grouping: %s: %w", s.Kind, err)
	}
	g := &Grouping{
		kind:    s.Kind,
		n:       int32(len(s.Targets)),
		targets: slices.Clone(s.Targets),
	}
	if s.Rand != nil {
		g.pcg = *rand.NewPCG(s.Rand.Uint64(), s.Rand.Uint64())
	}
	switch s.Kind {
	case Shuffle, LocalOrShuffle:
		g.op = opRing
		g.balance = newBalance(s)
		g.ring = slices.Clone(g.balance.order)
	case Fields:
		g.op = opHash
		if len(s.Fields) == 0 {
			g.op = opFirst
		}
		g.setFields(s.Fields)
	case PartialKey:
		g.op = opPartialKey
		g.sent = make([]int64, len(s.Targets))
		g.setFields(s.Fields)
	case Global:
		g.op = opFirst
	case None:
		g.op = opRandom
	case All, Direct, Custom:
		g.custom = s.Custom
	}
	if g.n == 1 && g.kind != Direct && g.kind != Custom {
		g.op = opFirst
	}
	return g, nil
}

func (g *Grouping) setFields(fields []int) {
	g.fields = slices.Clone(fields)
	for _, f := range fields {
		g.need = max(g.need, int32(f)+1)
	}
}

func (s *Spec) validate() error {
	switch {
	case s.Kind > Custom:
		return errors.New("no such kind")
	case len(s.Targets) == 0:
		return errors.New("no target tasks; the subscriber needs at least one")
	case len(s.Targets) > math.MaxInt32:
		return fmt.Errorf("%d target tasks are too many", len(s.Targets))
	case s.Local != nil && len(s.Local) != len(s.Targets):
		return fmt.Errorf("locality is given for %d of %d target tasks", len(s.Local), len(s.Targets))
	case s.Kind == Custom && s.Custom == nil:
		return errors.New("no chooser is given")
	case s.Rand == nil && (s.Kind == Shuffle || s.Kind == LocalOrShuffle || s.Kind == None):
		return errors.New("no source of randomness is given")
	case !(0 <= s.LowerBound && s.LowerBound <= s.HigherBound && s.HigherBound <= 1):
		return fmt.Errorf("load bounds %v (lower) and %v (higher) are not in order within 0 to 1", s.LowerBound, s.HigherBound)
	}
	for i, f := range s.Fields {
		if f < 0 || f >= math.MaxInt32 {
			return fmt.Errorf("grouping field %d has position %d", i, f)
		}
	}
	for i, task := range s.Targets[1:] {
		if s.Targets[i] >= task {
			return fmt.Errorf("target task %d comes before %d; sort the tasks and name each once", s.Targets[i], task)
		}
	}
	return nil
}

// Kind is the kind that the Grouping was made for.
func (g *Grouping) Kind() Kind { return g.kind }

// Targets are the target tasks, ascending. The slice must not be changed.
func (g *Grouping) Targets() []storm.TaskID { return g.targets }

// Single reports whether each tuple goes to exactly one target, so that One
// may be used. That is so for all kinds but Direct, Custom, and All of more
// than one target.
func (g *Grouping) Single() bool { return g.op != opMany }

// One is the index of the target of t, or -1 if the Grouping is not Single. It
// does not allocate for values of Value's own kinds. It panics if t lacks a
// grouping field.
func (g *Grouping) One(t *storm.Tuple) int {
	switch g.op {
	case opFirst:
		return 0
	case opRing:
		i := g.next
		if i >= len(g.ring) {
			i = 0
		}
		g.next = i + 1
		return int(g.ring[i])
	case opHash:
		h := uint32(1)
		for _, f := range g.fields {
			h = 31*h + uint32(Hash(t.Value(f)))
		}
		return int(floorMod(int32(h), g.n))
	case opRandom:
		i, _ := bits.Mul64(g.pcg.Uint64(), uint64(g.n))
		return int(i)
	case opPartialKey:
		return g.partialKey(t)
	default:
		return -1
	}
}

// Choose appends the indexes of the targets of t to dst. It fails with
// ErrDirect for Direct, if t lacks a grouping field, and if a custom chooser
// names tasks that are no targets; dst is then returned as it was.
func (g *Grouping) Choose(t *storm.Tuple, dst []int32) ([]int32, error) {
	if t.Len() < int(g.need) {
		return dst, fmt.Errorf("grouping: %s: the tuple has %d values, the grouping fields need %d", g.kind, t.Len(), g.need)
	}
	if g.op != opMany {
		return append(dst, int32(g.One(t))), nil
	}
	switch g.kind {
	case All:
		for i := range g.n {
			dst = append(dst, i)
		}
		return dst, nil
	case Custom:
		return g.chooseCustom(t, dst)
	default:
		return dst, ErrDirect
	}
}

func (g *Grouping) chooseCustom(t *storm.Tuple, dst []int32) ([]int32, error) {
	start := len(dst)
	var bad []storm.TaskID
	for _, task := range g.custom.Choose(t.SourceTask(), t) {
		i, ok := slices.BinarySearch(g.targets, task)
		if !ok {
			bad = append(bad, task)
			continue
		}
		dst = append(dst, int32(i))
	}
	if bad != nil {
		return dst[:start], fmt.Errorf("grouping: the custom chooser named tasks %d, which are none of its targets %d", bad, g.targets)
	}
	return dst, nil
}
