package multilang

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stormring/stormring/multilang/protocol"
	"github.com/stormring/stormring/storm"
)

// The tests of this file are about complaints that were made in public: see
// docs/multilang-reports.md.

func (r *rig) reported(way string, tune func(*settings)) *ShellBolt {
	r.t.Helper()
	return r.bolt(Spec{tune: tune}, "report_child.py", way)
}

func (r *rig) noErrors() {
	r.t.Helper()
	if len(r.errs) > 0 || r.panicky != "" {
		r.t.Errorf("errors %q, %s", r.errs, r.panicky)
	}
}

func TestReportSettledTwiceAndAnchoredAfterwards(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.reported("settles_twice", nil)
	r.send(b, 1, 2, word("a")...)
	r.until("two emissions", func() bool { return len(r.emitted) == 2 })
	if want := []string{"0 [late 1] <", "0 [late 1] <"}; !slices.Equal(r.emitted, want) || !slices.Equal(r.settled, []string{"ack 1", "ack 2"}) {
		t.Errorf("emitted %q, settled %q", r.emitted, r.settled)
	}
	r.noErrors()
}

func TestReportChildrenThatDoNotKnowHeartbeats(t *testing.T) {
	t.Parallel()
	for way, emitted := range map[string]int{"without_heartbeats": 0, "heartbeats_as_inputs": 2} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			b := r.reported(way, func(s *settings) { s.timeout = 250 * time.Millisecond })
			r.send(b, 1, 1, word("a")...)
			r.until("an ack", r.acked(1))
			<-time.After(600 * time.Millisecond)
			r.send(b, 2, 1, word("a")...)
			r.until("another", r.acked(2))
			if n := slices.DeleteFunc(slices.Clone(r.emitted), func(e string) bool { return strings.HasSuffix(e, "<") }); len(n) != emitted {
				t.Errorf("emitted %q", r.emitted)
			}
			r.noErrors()
		})
	}
}

// TestReportHungChildThatKnewNoHeartbeats is the other side of that.
func TestReportHungChildThatKnewNoHeartbeats(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{tune: func(s *settings) { s.timeout = 250 * time.Millisecond }}, "sh", "-c", `read x; echo '{"pid":1}'; echo end; exec sleep 1000`)
	<-time.After(400 * time.Millisecond)
	r.noErrors()
	start := time.Now()
	r.send(b, 1, 1, word("a")...)
	r.until("a fail", func() bool { return slices.Equal(r.settled, []string{"fail 1"}) })
	if took := time.Since(start); took < 200*time.Millisecond {
		t.Errorf("it was given %v only", took)
	}
}

func TestReportSilentChildIsNotTakenForAHungOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.reported("silent", func(s *settings) { s.timeout = 600 * time.Millisecond })
	r.send(b, 1, 30, word("a")...)
	r.until("the end", func() bool { return slices.Equal(r.emitted, []string{"0 [done 30] <"}) })
	r.noErrors()
}

func TestReportBusyChildIsNotTakenForAHungOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.reported("slow", func(s *settings) { s.timeout = 300 * time.Millisecond })
	r.send(b, 1, 30, word("a")...) // more than a time-out's worth at once
	r.until("30 acks", r.acked(30))
	r.noErrors()
}

func TestReportByteOrderMarkAndLinesOfWindows(t *testing.T) {
	t.Parallel()
	r := newRig(t, storm.Config{string(storm.ConfMultilangStrict): true})
	b := r.reported("dot_net", nil)
	r.send(b, 1, 2, word("a")...)
	r.until("two acks", r.acked(2))
	if want := []string{"0 [ü😀 1] <1", "0 [ü😀 1] <2"}; !slices.Equal(r.emitted, want) {
		t.Errorf("emitted %q", r.emitted)
	}
	r.noErrors()
}

func TestReportWrongSerializer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ way, want string }{
		"json":    {"msgpack", "it speaks msgpack, and the worker JSON; set topology.multilang.serializer to msgpack"},
		"msgpack": {"", "it speaks JSON, and the worker msgpack; set topology.multilang.serializer to json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, storm.Config{string(storm.ConfTopologyMultilangSerializer): name, string(storm.ConfMultilangMaxRestarts): 0})
			argv := []string{"report_child.py", tt.way}
			if tt.way == "" {
				argv = []string{"sh", "-c", `echo '{"pid":1}'; echo end; exec sleep 1000`}
			}
			_, err := r.tryBolt(Spec{}, argv...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Prepare: %v", err)
			}
		})
	}
}

func TestReportMessageWithoutEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.reported("without_end", func(s *settings) { s.timeout = 250 * time.Millisecond })
	r.send(b, 1, 1, word("a")...)
	r.until("the error", r.says("did not answer", `it has written 27 bytes that are no message`, `a line "end"`))
	r.until("a fail", func() bool { return slices.Contains(r.settled, "fail 1") })
}

func TestReportLogLevelsAndMetrics(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.reported("logs", nil)
	r.send(b, 1, 1, word("a")...)
	r.until("an ack", r.acked(1))
	r.until("the log", func() bool { return strings.Contains(r.logs.String(), "to standard error") })
	for _, part := range []string{"level=INFO msg=without", "level=ERROR msg=named"} {
		if !strings.Contains(r.logs.String(), part) {
			t.Errorf("the log has no %s:\n%s", part, r.logs.String())
		}
	}
	r.noErrors()
}

func TestReportPathAndFolder(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{Env: []string{"PATH=/of/the/component"}}, "report_child.py", "environment")
	r.send(b, 1, 1, word("a")...)
	r.until("an ack", r.acked(1))
	want := "0 [" + os.Getenv("PATH") + string(filepath.ListSeparator) + "/of/the/component "
	if len(r.emitted) != 1 || !strings.HasPrefix(r.emitted[0], want) || strings.HasSuffix(r.emitted[0], " 0] <") {
		t.Errorf("emitted %q, not %q", r.emitted, want)
	}
}

func TestReportProgramsAreFound(t *testing.T) {
	t.Parallel()
	dir, bin := t.TempDir(), t.TempDir()
	for path, mode := range map[string]fs.FileMode{filepath.Join(dir, "bolt.sh"): 0o700, filepath.Join(bin, "stormring-interpreter"): 0o700, filepath.Join(dir, "stormring-interpreter"): 0o700} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, env, want string }{
		{"sh", "", "sh"},
		{"./bolt.sh", "", "./bolt.sh"},
		{"bolt.sh", "", "./bolt.sh"},
		{"stormring-interpreter", "PATH=" + bin, filepath.Join(bin, "stormring-interpreter")},
		{"stormring-interpreter", "", "./stormring-interpreter"},
		{"no-such-program", "PATH=" + bin, "no-such-program"},
	} {
		if got := program(Spec{Argv: []string{tt.name}, Dir: dir, Env: []string{tt.env}}); got != tt.want {
			t.Errorf("%s with %s is %s, not %s", tt.name, tt.env, got, tt.want)
		}
	}
}

func TestReportInterpreterThatIsNotThere(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bolt.sh"), []byte("#!/bin/sh\r\necho\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "bolt.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := r.tryBolt(Spec{Dir: dir}, "./bolt.sh")
	if err == nil || !strings.Contains(err.Error(), `its first line, "#!/bin/sh\r", names an interpreter`) {
		t.Errorf("Prepare: %v", err)
	}
}

func TestReportSpoutThatEmitsWhatCannotBe(t *testing.T) {
	t.Parallel()
	r := newSpoutRig(t)
	p := r.openScript(Spec{}, "report_child.py", "odd_spout")
	r.next(p, "three fails", func() bool { return strings.Count(r.logs.String(), "failed {") == 3 })
	for _, parts := range [][]string{{`stream "nowhere" cannot be emitted`}, {"wrong number of values"}, {`field "word"`, "no NaN and no infinity"}} {
		if !r.says(parts...)() {
			t.Errorf("no error says %q: %q", parts, r.errs)
		}
	}
}

func TestReportSpoutThatWasDeactivatedForLong(t *testing.T) {
	t.Parallel()
	r := newSpoutRig(t)
	p := r.open(Spec{tune: func(s *settings) { s.timeout = 100 * time.Millisecond }}, "plain")
	for range 2 {
		r.on(p.Activate)
		r.next(p, "a tuple", func() bool { return len(r.emitted) > 0 })
		r.on(p.Deactivate)
		<-time.After(250 * time.Millisecond)
	}
	r.noErrors()
	if got := strings.Count(r.logs.String(), "activate None"); got != 4 {
		t.Errorf("it was told %d times:\n%s", got, r.logs.String())
	}
}

// TestReportSpoutThatDoesNotKnowActivation takes a second, which is how long the
// answer is waited for.
func TestReportSpoutThatDoesNotKnowActivation(t *testing.T) {
	t.Parallel()
	r := newSpoutRig(t)
	p := r.openScript(Spec{tune: func(s *settings) { s.timeout = 200 * time.Millisecond }}, "report_child.py", "old_spout")
	r.on(p.Activate)
	r.next(p, "tuples", func() bool { return len(r.emitted) > 2 })
	r.on(p.Deactivate)
	<-time.After(500 * time.Millisecond)
	r.on(p.Activate)
	n := len(r.emitted)
	r.next(p, "more", func() bool { return len(r.emitted) > n })
	r.noErrors()
}

func TestShortIntegers(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"": false, "1.2.4": false, "2.5.0": false, "2.6.0": true, "2.8.8": true, "2.10.0-SNAPSHOT": true, "3.0.0-SNAPSHOT": true, "2.6-SNAPSHOT": true, "x": false, "2": false,
	} {
		if got := ShortIntegers(version); got != want {
			t.Errorf("%q: %t", version, got)
		}
	}
	r := newRig(t, nil)
	b := r.bolt(Spec{ShortIntegers: true}, "nasty.py", "plain")
	if b.sh.set.codec != (protocol.JSON{ShortIntegers: true}) {
		t.Errorf("%+v", b.sh.set.codec)
	}
}

// TestLimitOfChildrenThatSettleNothing is about how much they get at once.
func TestLimitOfChildrenThatSettleNothing(t *testing.T) {
	t.Parallel()
	o := newOutbox(protocol.JSON{}.NewEncoder(), nowhere{}, 20)
	o.patience = time.Hour
	fill := func() (n int) {
		for ; !o.full(); n++ {
			o.mu.Lock()
			o.sent()
			o.mu.Unlock()
		}
		return n
	}
	var got []int
	for range 4 {
		got = append(got, fill())
		o.synced()
	}
	if want := []int{8, 16, 20, 20}; !slices.Equal(got, want) {
		t.Errorf("a fast child gets %v, not %v", got, want)
	}
	got = got[:0]
	o.patience = time.Nanosecond
	for range 6 {
		got = append(got, fill())
		o.synced()
	}
	if want := []int{20, 10, 5, 2, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("a slow child gets %v, not %v", got, want)
	}
}

const pythons = `
import collections, decimal
import stormring

Pair = collections.namedtuple("Pair", "word n")

class Emits(stormring.BasicBolt):
    def process(self, tup):
        what = tup.values[0]  # a heartbeat would have none
        if what == "raise":
            {}["a"]
        print("processes", what)
        self.emit({
            "named": Pair("a", 1), "map": map(len, ["a", "bc"]), "tuple": (what, 1),
            "decimal": [what, decimal.Decimal(1)], "nan": [what, float("nan")], "bytes": [b"a", 1],
        }[what])

Emits().run()
`

// TestReportWhatPythonEmits is about values that Storm's own module, pystorm or
// json made something else of, and about exceptions.
func TestReportWhatPythonEmits(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{Files: fstest.MapFS{"emits.py": {Data: []byte(pythons)}}}, "emits.py")
	for i, tt := range []struct{ what, want string }{
		{"named", "0 [a 1] <1"}, {"map", "0 [1 2] <2"}, {"tuple", "0 [tuple 1] <3"},
		{"decimal", "value 1 on stream default: JSON has no Decimal"}, {"nan", "value 1 on stream default"},
		{"bytes", "value 0 on stream default: JSON has no bytes"}, {"raise", "KeyError: 'a'"},
	} {
		r.send(b, i+1, 1, word(tt.what)...)
		how := "fail"
		if strings.HasPrefix(tt.want, "0 [") {
			how = "ack"
			r.until(tt.what, func() bool { return slices.Contains(r.emitted, tt.want) })
		} else {
			r.until(tt.what, r.says(tt.want))
		}
		r.until(how, func() bool { return slices.Contains(r.settled, fmt.Sprintf("%s %d", how, i+1)) })
	}
	r.until("a print", func() bool { return strings.Contains(r.logs.String(), `msg="processes nan"`) })
	if n := b.Strays(); n != 0 {
		t.Errorf("%d strays", n)
	}
}
