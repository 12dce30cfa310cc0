package transport

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

type point struct{ X, Y int }

// pointCodec is a Codecs for point alone.
type pointCodec struct{}

func (pointCodec) Encode(dst []byte, x any) ([]byte, error) {
	if _, ok := x.(point); !ok {
		return nil, errors.New("not registered")
	}
	b, err := json.Marshal(x)
	return append(dst, b...), err
}

func (pointCodec) Decode(b []byte) (any, error) {
	var p point
	err := json.Unmarshal(b, &p)
	return p, err
}

func genForeign() *rapid.Generator[storm.Value] {
	return rapid.Custom(func(t *rapid.T) storm.Value {
		switch rapid.IntRange(0, 10).Draw(t, "type") {
		case 0:
			return storm.Any(rapid.Int8().Draw(t, "int8"))
		case 1:
			return storm.Any(rapid.Int16().Draw(t, "int16"))
		case 2:
			return storm.Any(rapid.Uint8().Draw(t, "uint8"))
		case 3:
			return storm.Any(rapid.Uint16().Draw(t, "uint16"))
		case 4:
			return storm.Any(rapid.Uint32().Draw(t, "uint32"))
		case 5:
			return storm.Any(rapid.Uint64().Draw(t, "uint64"))
		case 6:
			return storm.Any(rapid.Uint().Draw(t, "uint"))
		case 7:
			return storm.Any(rapid.Float32().Draw(t, "float32"))
		case 8:
			x := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "big"))
			if rapid.Bool().Draw(t, "negative") {
				x.Neg(x)
			}
			return storm.Any(x)
		case 9:
			return storm.Any(time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "secs"), rapid.Int64Range(0, 1e9-1).Draw(t, "nanos")).UTC())
		default:
			return storm.Any(point{rapid.Int().Draw(t, "x"), rapid.Int().Draw(t, "y")})
		}
	})
}

func genValue(depth int) *rapid.Generator[storm.Value] {
	return rapid.Custom(func(t *rapid.T) storm.Value {
		most := 7
		if depth > 0 {
			most = 9
		}
		switch rapid.IntRange(0, most).Draw(t, "kind") {
		case 0:
			return storm.Nil()
		case 1:
			return storm.Bool(rapid.Bool().Draw(t, "bool"))
		case 2:
			return storm.Int32(rapid.Int32().Draw(t, "int32"))
		case 3:
			return storm.Int(rapid.Int64().Draw(t, "int64"))
		case 4:
			return storm.Float(rapid.Float64().Draw(t, "float64"))
		case 5:
			return storm.String(strings.Repeat(rapid.String().Draw(t, "string"), rapid.IntRange(0, 20).Draw(t, "times")))
		case 6:
			return storm.Bytes(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		case 7:
			return genForeign().Draw(t, "foreign")
		case 8:
			return storm.List(rapid.SliceOfN(genValue(depth-1), 0, 5).Draw(t, "list")...)
		default:
			return storm.Map(rapid.MapOfN(rapid.String(), genValue(depth-1), 0, 5).Draw(t, "map"))
		}
	})
}

func genTuple(origins streams) *rapid.Generator[storm.Tuple] {
	anchor := rapid.Custom(func(t *rapid.T) track.Anchor {
		return track.Anchor{
			Root: track.MakeRoot(rapid.Int32Range(1, track.MaxTask).Draw(t, "spout"), rapid.Uint64Range(0, track.SeqMask).Draw(t, "seq")),
			Edge: rapid.Uint64().Draw(t, "edge"),
		}
	})
	return rapid.Custom(func(t *rapid.T) storm.Tuple {
		o := origins.Origin(rapid.Int32Range(1, 3).Draw(t, "source"), uint16(rapid.IntRange(0, 1).Draw(t, "stream")))
		dst := storm.TaskID(rapid.Int32Range(1, 1<<30).Draw(t, "dst"))
		if rapid.Bool().Draw(t, "one dst") {
			dst = 7
		}
		return storm.NewTuple(o, dst, rapid.SliceOfN(anchor, 0, 4).Draw(t, "anchors"),
			rapid.SliceOfN(genValue(3), 0, 20).Draw(t, "values")...)
	})
}

func sameTuples(got, want []storm.Tuple) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d tuples, want %d", len(got), len(want))
	}
	for i := range want {
		g, w := &got[i], &want[i]
		if from, want := g.Origin(), w.Origin(); from.Task != want.Task || from.StreamIndex != want.StreamIndex || g.Dst() != w.Dst() {
			return fmt.Errorf("tuple %d goes from %v to %d, want %v to %d", i, g.Origin(), g.Dst(), w.Origin(), w.Dst())
		}
		if g.Anchor() != w.Anchor() || !slices.Equal(g.Anchors(), w.Anchors()) {
			return fmt.Errorf("tuple %d has anchors %v %v, want %v %v", i, g.Anchor(), g.Anchors(), w.Anchor(), w.Anchors())
		}
		if !slices.EqualFunc(g.Values(), w.Values(), storm.Value.Equal) {
			return fmt.Errorf("tuple %d is %v, want %v", i, g, w)
		}
	}
	return nil
}

// decodeTuples decodes one record and returns the rest.
func decodeTuples(d *decoder, b []byte) (ExecutorID, []storm.Tuple, []byte, error) {
	r := reader{b: b}
	if kind := recordKind(r.byte()); kind != recordTuples {
		return 0, nil, nil, fmt.Errorf("record kind %d", kind)
	}
	ex, n := r.tuplesHead()
	if r.err != nil {
		return 0, nil, nil, r.err
	}
	ts := make([]storm.Tuple, n)
	d.tuples(&r, ex, ts)
	return ex, ts, b[r.off:], r.err
}

func TestTuplesRoundTrip(t *testing.T) {
	origins := testStreams()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(genTuple(origins), 1, 6).Draw(t, "tuples")
		soft := rapid.IntRange(1, 2000).Draw(t, "soft")
		e := encoder{codecs: pointCodec{}, limit: 1 << 30}
		d := decoder{origins: origins, codecs: pointCodec{}}
		var frame []byte
		for rest := want; len(rest) > 0; {
			out, n, err := e.appendTuples(frame, 7, rest, soft)
			if err != nil || n == 0 {
				t.Fatalf("%d encoded: %v", n, err)
			}
			frame, rest = out, rest[n:]
		}
		var got []storm.Tuple
		for rest := slices.Clone(frame); len(rest) > 0; {
			ex, ts, more, err := decodeTuples(&d, rest)
			if err != nil || ex != 7 {
				t.Fatalf("executor %d: %v", ex, err)
			}
			clear(rest[:len(rest)-len(more)]) // nothing may alias the frame
			got, rest = append(got, ts...), more
		}
		if err := sameTuples(got, want); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAckerRoundTrip(t *testing.T) {
	root := rapid.Map(rapid.Uint64(), func(x uint64) track.Root { return track.Root(x) })
	msg := rapid.Custom(func(t *rapid.T) acker.Message {
		return acker.Message{Root: root.Draw(t, "root"), Val: rapid.Uint64().Draw(t, "val")}
	})
	outcome := rapid.Custom(func(t *rapid.T) acker.Outcome {
		return acker.Outcome{Root: root.Draw(t, "root"), Kind: acker.OutcomeKind(rapid.Byte().Draw(t, "kind"))}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := AckerBatch{
			Msgs:   rapid.SliceOf(msg).Draw(t, "msgs"),
			Fails:  rapid.SliceOf(root).Draw(t, "fails"),
			Resets: rapid.SliceOfN(root, 1, 9).Draw(t, "resets"),
		}
		news := rapid.SliceOfN(outcome, 1, 9).Draw(t, "outcomes")
		frame := appendAcker(nil, 5, want.Msgs, want.Fails, want.Resets)
		frame = appendOutcomes(frame, 6, news)
		r := reader{b: frame}
		if kind := r.byte(); kind != byte(recordAcker) {
			t.Fatalf("kind %d", kind)
		}
		var got AckerBatch
		task, m, f, n := r.ackerHead()
		r.acker(&got, m, f, n)
		if r.err != nil || task != 5 || !slices.Equal(got.Msgs, want.Msgs) || !slices.Equal(got.Fails, want.Fails) || !slices.Equal(got.Resets, want.Resets) {
			t.Fatalf("got %v for task %d (%v), want %v", got, task, r.err, want)
		}
		if kind := r.byte(); kind != byte(recordOutcomes) {
			t.Fatalf("kind %d", kind)
		}
		task, gotNews := r.outcomes(nil)
		if r.err != nil || r.remaining() != 0 || task != 6 || !slices.Equal(gotNews, news) {
			t.Fatalf("got %v for task %d (%v), want %v", gotNews, task, r.err, news)
		}
	})
}

// Consecutive roots and small values are what the format is made for.
func TestEncodedLength(t *testing.T) {
	o := testStreams().Origin(1, 0)
	ts := make([]storm.Tuple, 100)
	for i := range ts {
		ts[i] = storm.NewTuple(o, 7, []track.Anchor{{Root: track.MakeRoot(3, uint64(i+1)), Edge: 1}}, storm.String("word"), storm.Int(1))
	}
	e := encoder{limit: 1 << 20}
	buf, n, err := e.appendTuples(nil, 7, ts, 1<<20)
	// Record head 6, tuple: 1 + root 1 + edge 8 + word 5 + count 1; of the first
	// also source 2 and a root of 8 instead of 1.
	if want := 6 + 100*16 + 2 + 7; err != nil || n != 100 || len(buf) != want {
		t.Errorf("%d tuples in %d bytes (%v), want %d", n, len(buf), err, want)
	}
	msgs := make([]acker.Message, 100)
	for i := range msgs {
		msgs[i] = acker.Message{Root: track.MakeRoot(3, uint64(i+1)) | acker.InitFlag, Val: 1}
	}
	if got, want := len(appendAcker(nil, 5, msgs, nil, nil)), 5+100*9+7; got != want {
		t.Errorf("100 messages in %d bytes, want %d", got, want)
	}
}

func TestEncodeErrors(t *testing.T) {
	o := testStreams().Origin(1, 0)
	deep := storm.Int(1)
	for range maxDepth + 1 {
		deep = storm.List(deep)
	}
	one := []storm.Value{storm.Int(1)}
	tests := []struct {
		name   string
		codecs Codecs
		tuple  storm.Tuple
		want   string
	}{
		{"no origin", nil, storm.NewTuple(nil, 7, nil, one...), "it has no origin"},
		{"no codec", nil, storm.NewTuple(o, 7, nil, storm.Int(1), storm.Any(point{})), "value 1: no codec for Go type transport.point: register one, or emit a type that storm.Any knows"},
		{"codec says no", pointCodec{}, storm.NewTuple(o, 7, nil, storm.Any(struct{}{})), "value 0: encode Go type struct {}: not registered"},
		{"too deep", nil, storm.NewTuple(o, 7, nil, deep), "value 0: lists and maps are nested more than 64 deep"},
		{"long string", nil, storm.NewTuple(o, 7, nil, storm.String(strings.Repeat("x", 5000))), "too long"},
		{"long bytes in a list", nil, storm.NewTuple(o, 7, nil, storm.List(storm.Bytes(make([]byte, 5000)))), "too long"},
		{"long key", nil, storm.NewTuple(o, 7, nil, storm.Map(map[string]storm.Value{strings.Repeat("x", 5000): storm.Nil()})), "too long"},
		{"many values", nil, storm.NewTuple(o, 7, nil, slices.Repeat(one, 5000)...), "too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			good := storm.NewTuple(o, 7, nil, one...)
			e := encoder{codecs: tt.codecs, limit: 4096}
			before := []byte("before")
			out, n, err := e.appendTuples(before, 7, []storm.Tuple{tt.tuple, good}, 4096)
			if err == nil || err.Error() != tt.want || n != 0 || string(out) != "before" {
				t.Errorf("n = %d, out = %q, error %v; want 0, nothing new, %q", n, out, err, tt.want)
			}
			out, n, err = e.appendTuples(nil, 7, []storm.Tuple{good, good, tt.tuple}, 4096)
			if err == nil || n != 2 {
				t.Fatalf("n = %d, error %v; want 2 and an error", n, err)
			}
			d := decoder{origins: testStreams()}
			_, got, rest, err := decodeTuples(&d, out)
			if err != nil || len(rest) != 0 {
				t.Fatalf("%d bytes left, error %v", len(rest), err)
			}
			if err := sameTuples(got, []storm.Tuple{good, good}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	tuple := func(b ...byte) []byte { return append([]byte{byte(recordTuples), 7, 1, 0, 0, 0}, b...) }
	deep := tuple(1<<valuesShift|sameDestination, 1, 0)
	for range maxDepth + 2 {
		deep = append(deep, tagList, 1)
	}
	deep = append(deep, tagNil)
	tests := []struct {
		name  string
		frame []byte
		want  string
	}{
		{"unknown record", []byte{99}, "unknown record kind 99"},
		{"no tuples", []byte{byte(recordTuples), 7, 0, 0, 0, 0}, "a record without tuples"},
		{"too many tuples", []byte{byte(recordTuples), 7, 255, 255, 255, 255, 0}, "4294967295 entries do not fit into the rest"},
		{"executor 0", []byte{byte(recordTuples), 0, 1, 0, 0, 0, 0}, "task 0 is out of range"},
		{"unknown stream", tuple(0, 9, 5), "task 9 has no stream number 5 in this worker's topology"},
		{"no source", tuple(sameSource | sameDestination), "the first tuple of a record has no source"},
		{"flags", tuple(3|sameDestination, 1, 0), "unknown flags b of a tuple"},
		{"no root", tuple(1|sameDestination, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8), "an anchor without a root"},
		{"unknown tag", tuple(1<<valuesShift|sameDestination, 1, 0, 0x3f), "unknown tag 63 of a value"},
		{"cut off", tuple(1<<valuesShift|sameDestination, 1, 0, tagShortString|3, 'a'), "the frame ends too early"},
		{"long number", tuple(append([]byte{1<<valuesShift | sameDestination, 1, 0, tagInt}, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255)...), "a number is cut off or longer than 64 bits"},
		{"deep", deep, "lists and maps are nested more than 64 deep"},
		{"list", tuple(1<<valuesShift|sameDestination, 1, 0, tagList, 200, 1, 0), "200 entries do not fit into the rest"},
		{"wide", tuple(valuesMany<<valuesShift|sameDestination, 1, 0, 0), "the frame ends too early"},
		{"codec cut off", tuple(1<<valuesShift|sameDestination, 1, 0, tagCodec, 2, 0, 0, 0, 'x'), "the frame ends too early"},
		{"time", tuple(1<<valuesShift|sameDestination, 1, 0, tagTime, 1, 'x'), "time: Time.UnmarshalBinary: unsupported version"},
		{"no messages", []byte{byte(recordAcker), 5, 0, 0, 0}, "a record without messages"},
		{"too many messages", []byte{byte(recordAcker), 5, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "2 entries do not fit into the rest"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := testSession(4096)
			err := s.decode(tt.frame)
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("error %v, want ... %q", err, tt.want)
			}
			s.discard()
			for _, b := range s.free.tuples {
				for _, left := range b.Tuples[:cap(b.Tuples)] {
					if left.Origin() != nil || left.Len() != 0 || left.IsTracked() {
						t.Errorf("a free batch is not empty: %v", left)
					}
				}
			}
		})
	}
}

func testSession(credits int) *session {
	cfg := DefaultConfig("t", "b")
	cfg.TupleCredits, cfg.AckerCredits = credits, credits
	cfg.Codecs = pointCodec{}
	return newSession(hello{from: "a", life: 1}, 2, &cfg, testStreams(), func(error) {})
}

func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Uint64().Draw(t, "number") >> rapid.IntRange(0, 63).Draw(t, "shift")
		after := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "after")
		b := append(binary.AppendUvarint(nil, want), after...)
		r := reader{b: b}
		if got := r.uvarint(); got != want || r.off != len(b)-len(after) || r.err != nil {
			t.Fatalf("%d from %d bytes (%v), want %d from %d", got, r.off, r.err, want, len(b)-len(after))
		}
	})
}

// No word must be taken for another.
func TestIntern(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var words intern
		for _, w := range rapid.SliceOf(rapid.StringOfN(rapid.RuneFrom([]rune("abé\x00")), 0, 40, 40)).Draw(t, "words") {
			b := []byte(w)
			got := words.string(b)
			clear(b)
			if again := words.string([]byte(w)); got != w || again != w {
				t.Fatalf("got %q and %q, want %q", got, again, w)
			}
		}
	})
}

func TestDecodeRepetitiveDoesNotAllocate(t *testing.T) {
	// Few enough words that none displace each other.
	e := encoder{limit: 1 << 20}
	ts := benchTuples(100, 5)[:20]
	frame, _, _ := e.appendTuples(nil, 7, ts, 1<<20)
	d := decoder{origins: testStreams()}
	out := make([]storm.Tuple, len(ts))
	allocs := testing.AllocsPerRun(100, func() {
		clear(out)
		r := reader{b: frame}
		r.byte()
		ex, _ := r.tuplesHead()
		d.tuples(&r, ex, out)
	})
	if allocs != 0 {
		t.Errorf("%v allocations a batch, want 0", allocs)
	}
}

// FuzzDecode feeds a session frames of any content: it must not panic, not
// allocate out of proportion, and what it accepts must survive another round.
func FuzzDecode(f *testing.F) {
	origins := testStreams()
	o := origins.Origin(1, 1)
	e := encoder{codecs: pointCodec{}, limit: 1 << 20}
	nested := storm.List(storm.Map(map[string]storm.Value{"k": storm.Any([]any{1, "x", nil, 2.5, true})}), storm.Any(point{1, 2}))
	seed, _, err := e.appendTuples(nil, 7, append(benchTuples(3, 5),
		storm.NewTuple(o, 8, []track.Anchor{{Root: 1, Edge: 2}, {Root: 3, Edge: 4}}, storm.Values(int8(1), uint64(math.MaxUint64), float32(1), big.NewInt(-7), time.Unix(1, 2), int32(-1), []byte("b"), nested)...)), 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	seed = appendAcker(seed, 5, []acker.Message{{Root: 1 | acker.InitFlag, Val: 2}}, []track.Root{3}, []track.Root{4})
	seed = appendOutcomes(seed, 6, []acker.Outcome{{Root: 9, Kind: acker.OutcomeFail}})
	f.Add(appendControl(seed, []byte("hi")))
	f.Add([]byte{byte(recordTuples), 7, 1, 0, 0, 0, 1<<valuesShift | sameDestination, 1, 0, tagList, 1, tagMap, 1, 0, 0})
	f.Fuzz(func(t *testing.T, frame []byte) {
		s := testSession(1 << 20)
		s.dec.words.string([]byte("a")) // makes the table
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := s.decode(frame)
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(400*len(frame)+1<<16); got > most {
			t.Fatalf("%d bytes allocated for a frame of %d", got, len(frame))
		}
		if err != nil {
			s.discard()
			return
		}
		for _, a := range s.touched {
			if a.tuples != nil && len(a.tuples.Tuples) > 0 {
				checkAgain(t, a.tuples.Tuples)
			}
		}
	})
}

func checkAgain(t *testing.T, want []storm.Tuple) {
	t.Helper()
	e := encoder{codecs: pointCodec{}, limit: 1 << 30}
	out, n, err := e.appendTuples(nil, 7, want, 1<<30)
	if err != nil || n != len(want) {
		t.Fatalf("%d of %d tuples encoded again: %v", n, len(want), err)
	}
	d := decoder{origins: testStreams(), codecs: pointCodec{}}
	_, got, _, err := decodeTuples(&d, out)
	if err == nil {
		err = sameTuples(got, want)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func FuzzDecodeHello(f *testing.F) {
	h := hello{topology: "t", from: "a", to: "b", life: 7, s2: true}
	f.Add(h.append(nil))
	r := reply{life: 1, received: 2, maxFrame: 3000, window: [creditClasses]int64{4, 5}, grants: []grantNote{{tupleCredits, 7, 8}}}
	f.Add(r.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := parseHello(b); err == nil {
			if again, err := parseHello(h.append(nil)); err != nil || again != h {
				t.Fatalf("%v became %v: %v", h, again, err)
			}
		}
		if r, err := parseReply(b); err == nil && r.refusal == "" {
			again, err := parseReply(r.append(nil))
			if err != nil || fmt.Sprint(again) != fmt.Sprint(r) {
				t.Fatalf("%v became %v: %v", r, again, err)
			}
		}
	})
}
