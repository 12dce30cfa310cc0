package adapters_test

import (
	"fmt"
	"strings"
	"testing"
)

// exchange is what is sent and what comes back.
type exchange struct {
	send []string
	want []string
}

// TestBolt has every adapter do the same, in one process.
func TestBolt(t *testing.T) {
	each(t, languages, func(t *testing.T, l language) {
		p := connect(t, l, "bolt", "")
		for _, x := range []exchange{
			{[]string{tuple(`["echo","a b","*"]`)}, []string{emits(`["a b","*"]`, ""), acks}},
			{[]string{tuple(`["echo"]`)}, []string{emits(`[]`, ""), acks}},
			{[]string{heartbeat}, []string{syncs}},
			{[]string{tick}, []string{logs("tick", 2), `{"command":"ack","id":"8"}`}},
			{[]string{tuple(`["stream"]`)}, []string{emits(`["s"]`, `,"stream":"other"`), acks}},
			{[]string{tuple(`["direct"]`)}, []string{emits(`["d"]`, `,"task":7`), acks}},
			{[]string{tuple(`["anchors"]`)}, []string{`{"command":"emit","tuple":["a"],"anchors":["7","99"],"need_task_ids":false}`, acks}},
			{[]string{tuple(`["logs"]`)}, []string{
				logs("0", 0), logs("1", 1), logs("2", 2), logs("3", 3), logs("4", 4),
				`{"command":"metrics","name":"m","params":{"n":1}}`, `{"command":"error","msg":"e"}`, acks,
			}},
			{[]string{`{"checkpoint":"prepare","txid":12}`}, []string{logs("prepare 12", 2), `{"command":"checkpointed","txid":12}`}},
			// All of one piece are answered in order.
			{[]string{tuple(`["echo","1"]`), heartbeat, tuple(`["echo","2"]`)}, []string{emits(`["1"]`, ""), acks, syncs, emits(`["2"]`, ""), acks}},
			{[]string{`{"command":"dance"}`, heartbeat}, []string{`{"command":"log","msg":"~that this adapter does not know","level":1}`, syncs}},
		} {
			p.send(x.send...)
			p.expect(x.want...)
		}
		if stderr := p.end(0, true); stderr != "" {
			t.Errorf("stderr: %s", stderr)
		}
	})
}

// TestAnswersAmongTuples has answers come behind tuples that were under way.
func TestAnswersAmongTuples(t *testing.T) {
	each(t, languages, func(t *testing.T, l language) {
		p := connect(t, l, "bolt", "")
		wants := `{"command":"emit","tuple":["x"],"anchors":["7"]}`
		p.send(tuple(`["ids"]`))
		p.expect(wants)
		p.send(strings.Replace(tuple(`["echo","later"]`), `"7"`, `"9"`, 1), heartbeat, `[4,5]`)
		first := []string{emits(`[[4,5]]`, ""), acks}
		second := []string{`{"command":"emit","tuple":["later"],"anchors":["9"],"need_task_ids":false}`, `{"command":"ack","id":"9"}`, syncs}
		if l.name == node.name { // it processes them side by side, but not with state
			second[0], second[1], second[2] = second[2], second[0], second[1]
			p.expect(second[0])
			p.expect(first...)
			p.expect(second[1:]...)
		} else {
			p.expect(first...)
			p.expect(second...)
		}

		p.send(tuple(`["remember"]`))
		p.expect(`{"command":"state","op":"get","key":"k"}`)
		p.send(heartbeat, `{"state":"k","found":true,"value":{"n":[1,null]}}`)
		if l.name == node.name {
			p.expect(syncs)
		}
		p.expect(
			`{"command":"state","op":"put","key":"k","value":{"n":1}}`,
			`{"command":"state","op":"delete","key":"old"}`,
			emits(`[{"n":[1,null]}]`, ""), acks)
		if l.name != node.name {
			p.expect(syncs)
		}
		p.send(tuple(`["remember"]`))
		p.expect(`{"command":"state","op":"get","key":"k"}`)
		p.send(`{"state":"k","found":false,"value":null}`)
		p.expect(
			`{"command":"state","op":"put","key":"k","value":{"n":1}}`,
			`{"command":"state","op":"delete","key":"old"}`,
			emits(`[null]`, ""), acks)
		p.end(0, true)
	})
}

// TestValues sends values there and back.
func TestValues(t *testing.T) {
	text := `"é✓\u2028😀","\"\\\t\u0000\u007f","\nend\n","",null,true,{"a":[0.1,{"b":null}],"é":-5}`
	each(t, full, func(t *testing.T, l language) {
		p := connect(t, l, "bolt", "")
		numbers := `1,-5,9007199254740993,9223372036854775808,-1000000000000000000000000000000,0.1,-1.5,1.0`
		back := numbers
		if l.name == node.name {
			back = strings.Replace(numbers, "1.0", "1", 1) // JavaScript does not know the difference
		}
		p.send(tuple(`["echo",` + text + `,` + numbers + `]`))
		p.expect(emits(`[`+text+`,`+back+`]`, ""), acks)

		big := strings.Repeat("0123456789ü", 300<<10/12)
		p.send(tuple(`["echo","`+big+`","`+big+`"]`), heartbeat)
		p.expect(emits(`["`+big+`","`+big+`"]`, ""), acks, syncs)
		p.end(0, true)
	})
	t.Run("posix", func(t *testing.T) {
		t.Parallel()
		posix.require(t)
		p := connect(t, posix, "bolt", "")
		p.send(tuple(`["echo","é✓😀","\"\\\t'$(id)` + "`id`" + `","a\nb","-x","",null,1.5,{"a":[1]}]`))
		p.expect(emits(`["é✓😀","\"\\\t'$(id)`+"`id`"+`","a\nb","-x","","null","1.5","{\"a\":[1]}"]`, ""), acks)
		p.send(tuple(`["json","1","\"x\"","{\"a\":[1]}"]`))
		p.expect(emits(`[1,"x",{"a":[1]}]`, ""), acks)
		p.send(tuple(`["echo","1234567890123456789",9007199254740993]`))
		p.expect(reports("jq cannot carry the integer 9007199254740993"), fails)
		p.send(tuple(`["echo","a\u0000b"]`))
		p.expect(reports("a shell cannot hold a text with NUL"), fails)
		p.send(tuple(`["echo",["a\u0000b"]]`)) // as JSON text it can
		p.expect(emits(`["[\"a\\u0000b\"]"]`, ""), acks)
		p.end(0, true)
	})
}

// TestMistakes makes errors in a bolt. They fail the tuple and say what is wrong.
func TestMistakes(t *testing.T) {
	each(t, full, func(t *testing.T, l language) {
		p := connect(t, l, "bolt", "")
		for _, x := range []exchange{
			{[]string{tuple(`["throw"]`)}, []string{reports("on purpose"), fails}},
			{[]string{tuple(`["nan"]`)}, []string{reports("value 1 on stream other: "), fails}},
			{[]string{tuple(`["object"]`)}, []string{reports("value 1 on stream default: "), fails}},
			{[]string{tuple(`["wild"]`)}, []string{reports("a key is a string"), fails}},
			{[]string{tuple(`["failing"]`)}, []string{fails}},
			{[]string{tuple(`["twice"]`)}, []string{acks}},
			{[]string{tuple(`["echo",1]`)}, []string{emits(`[1]`, ""), acks}},
		} {
			p.send(x.send...)
			want := x.want
			if strings.Contains(x.send[0], "failing") {
				want = want[:1:1] // and no ack behind it
			}
			p.expect(want...)
		}
		p.end(0, true)
	})
	t.Run("posix", func(t *testing.T) {
		t.Parallel()
		posix.require(t)
		p := connect(t, posix, "bolt", "")
		p.send(tuple(`["throw"]`))
		p.expect(fails)
		p.end(0, true)
	})
}

// TestNoState runs under a parent that has no state, such as Storm.
func TestNoState(t *testing.T) {
	each(t, full, func(t *testing.T, l language) {
		p := start(t, l, "bolt", "")
		p.send(`{"pidDir":"","conf":{"greeting":1},"context":{"taskid":5}}`)
		if got := p.next(); strings.Contains(got, "stormring") {
			t.Errorf("the child asks for what was not offered: %s", got)
		}
		p.expect(`{"command":"emit","tuple":[1,5],"need_task_ids":false}`)
		p.send(tuple(`["remember"]`))
		p.expect(reports("there is no state"), fails)
		p.end(0, true)
	})
}

// TestPrints prints from the component, and past it.
func TestPrints(t *testing.T) {
	each(t, full, func(t *testing.T, l language) {
		p := connect(t, l, "bolt", "")
		p.send(tuple(`["print"]`))
		p.expect(logs("naïve ✓", 2), logs("two", 2), logs("lines", 2), acks)
		p.send(tuple(`["outside"]`))
		p.expect(logs("True", 2), acks)
		if got := p.end(0, true); got != "from a child\n" {
			t.Errorf("stderr is %q", got)
		}
	})
	t.Run("posix", func(t *testing.T) {
		t.Parallel()
		posix.require(t)
		p := connect(t, posix, "bolt", "")
		p.send(tuple(`["outside"]`))
		p.expect(acks)
		if got := p.end(0, true); got != "from a child\n" {
			t.Errorf("stderr is %q", got)
		}
	})
}

// TestPieces cuts the input at every byte.
func TestPieces(t *testing.T) {
	each(t, full, func(t *testing.T, l language) {
		p := connect(t, l, "bolt", "")
		text := tuple(`["echo","é✓😀 end"]`) + "\nend\n" + heartbeat + "\nend\n"
		for i := range len(text) {
			if _, err := p.in.Write([]byte(text[i : i+1])); err != nil {
				t.Fatal(err)
			}
		}
		p.expect(emits(`["é✓😀 end"]`, ""), acks, syncs)
		p.send("  {\r\n \"id\" : \"7\", \"comp\":\"c\",\"stream\":\"s\",\"task\":1,\"tuple\":[\"echo\",2]} ", heartbeat)
		p.expect(emits(`[2]`, ""), acks, syncs)
		p.end(0, true)
	})
}

// TestMany emits much for one tuple, and leaves then.
func TestMany(t *testing.T) {
	const n = 3000
	each(t, full, func(t *testing.T, l language) {
		p := connect(t, l, "bolt", "")
		p.send(tuple(fmt.Sprintf(`["many",%d]`, n)))
		for i := range n {
			p.expect(emits(fmt.Sprintf(`[%d,"%s"]`, i, strings.Repeat("x", 100)), ""))
		}
		p.expect(acks)
		p.send(tuple(`["leave"]`))
		p.expect(emits(`["bye"]`, ""))
		p.end(3, false)
	})
}

// TestVanished closes the pipes while the child has something to say.
func TestVanished(t *testing.T) {
	each(t, full, func(t *testing.T, l language) {
		p := connect(t, l, "bolt", "")
		p.pipe.Close()
		p.send(tuple(`["many",3000]`))
		if got := p.end(0, false); got != "" {
			t.Errorf("stderr: %s", got)
		}
	})
}

// TestGarbage sends what is no message.
func TestGarbage(t *testing.T) {
	for _, text := range []string{`{"id":`, `[1,2]`, `{"value":1}`} {
		t.Run(text, func(t *testing.T) {
			each(t, full, func(t *testing.T, l language) {
				p := connect(t, l, "bolt", "")
				p.send(text)
				p.expect(reports(""))
				if got := p.end(1, false); !strings.Contains(got, "rotocolError") {
					t.Errorf("stderr: %s", got)
				}
			})
		})
	}
}
