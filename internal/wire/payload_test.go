package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/cluster"
)

func zip(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func zstandard(tb testing.TB, data []byte) []byte {
	tb.Helper()
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() {
		if err := z.Close(); err != nil {
			tb.Error(err)
		}
	}()
	return z.EncodeAll(data, nil)
}

// All that any release of Storm writes is read.
func TestPayloadsOfAllKinds(t *testing.T) {
	raw := hand(t, goldenBase)
	want, err := DecodeBase(raw)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"gzip": zip(t, raw), "zstd": zstandard(t, raw)} {
		got, err := DecodeBase(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantEqual(t, got, want)
	}
}

func TestPayloadIsGzipWithoutTime(t *testing.T) {
	data, err := EncodeNimbus(cluster.NimbusRecord{Host: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	// RFC 1952: magic, deflate, no flags, no time.
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0}) {
		t.Errorf("the payload begins with %x", data[:8])
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer
	if _, err := plain.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	if want := hand(t, `0b0001 'n1' 080002 00000000 080003 00000000 020004 00 0b0005 '' 00`); !bytes.Equal(plain.Bytes(), want) {
		t.Errorf("the payload has %x, want %x", plain.Bytes(), want)
	}
}

func TestPayloadIsBounded(t *testing.T) {
	const limit = 100_000
	whole := make([]byte, limit+1)
	for name, pack := range map[string]func(testing.TB, []byte) []byte{
		"gzip": zip, "zstd": zstandard, "raw": func(_ testing.TB, data []byte) []byte { return data },
	} {
		_, err := decompressUpTo(pack(t, whole), limit)
		if want := "wire: a payload may have 100000 bytes once it is decompressed, this one has more"; err == nil || err.Error() != want {
			t.Errorf("%s: error is %v, want %s", name, err, want)
		}
		if got, err := decompressUpTo(pack(t, whole[1:]), limit); err != nil || len(got) != limit {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, limit)
		}
	}
	_, err := DecodeBase(make([]byte, MaxPayloadBytes+1))
	if want := "wire: a payload may have 67108864 bytes once it is decompressed, this one has more"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func TestBrokenPayloads(t *testing.T) {
	raw := hand(t, goldenBase)
	for name, whole := range map[string][]byte{"gzip": zip(t, raw), "zstd": zstandard(t, raw), "raw": raw} {
		for n := range whole {
			if _, err := DecodeBase(whole[:n]); err == nil {
				t.Errorf("%s: the first %d of %d bytes are taken for a base", name, n, len(whole))
			}
		}
	}
}

func TestConf(t *testing.T) {
	c := map[string]any{
		"topology.workers":           int64(2),
		"topology.big":               int64(math.MaxInt64),
		"topology.stats.sample.rate": 1.0,
		"topology.half":              0.5,
		"topology.huge":              1e300,
		"topology.zero":              math.Copysign(0, -1),
		"name":                       "<&>",
		"nothing":                    nil,
		"list":                       []any{int64(1), 2.0, map[string]any{"x": true}},
	}
	data, err := EncodeConf(c)
	if err != nil {
		t.Fatal(err)
	}
	text, err := decompress(data)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"list":[1,2.0,{"x":true}],"name":"<&>","nothing":null,"topology.big":9223372036854775807,"topology.half":0.5,` +
		`"topology.huge":1e+300,"topology.stats.sample.rate":1.0,"topology.workers":2,"topology.zero":-0.0}`
	if string(text) != want {
		t.Errorf("the text is\n%s, want\n%s", text, want)
	}
	for _, data := range [][]byte{data, text, zstandard(t, text)} {
		got, err := DecodeConf(data)
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("got %v, %v, want %v", got, err, c)
		}
	}
	if data, err = EncodeConf(nil); err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeConf(data); err != nil || len(got) != 0 || got == nil {
		t.Errorf("an empty configuration comes back as %v, %v", got, err)
	}
	for _, bad := range []any{math.NaN(), math.Inf(1), func() {}} {
		if _, err := EncodeConf(map[string]any{"k": bad}); err == nil || !strings.HasPrefix(err.Error(), "wire: stormconf.ser: ") {
			t.Errorf("%v is written as JSON, %v", bad, err)
		}
	}
	for _, bad := range []string{"", "[]", "{", `{"a":1} 2`} {
		if _, err := DecodeConf([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "wire: stormconf.ser: ") {
			t.Errorf("%s is taken for a configuration, %v", bad, err)
		}
	}
}

func TestConfKeepsNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := map[string]any{"i": rapid.Int64().Draw(t, "int"), "f": rapid.Float64().Draw(t, "float"), "s": rapid.String().Draw(t, "text")}
		data, err := EncodeConf(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeConf(data)
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Fatalf("got %v, %v, want %v", got, err, c)
		}
	})
}

// What a fuzzer finds readable can be written, and read again as the same.
func fuzzCodec[T any](f *testing.F, decode func([]byte) (T, error), encode func(T) ([]byte, error)) {
	f.Helper()
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := decode(data)
		if err != nil {
			return
		}
		first, err := encode(v)
		if err != nil {
			t.Fatalf("%+v cannot be written: %v", v, err)
		}
		again, err := decode(first)
		if err != nil {
			t.Fatalf("%+v cannot be read again: %v", v, err)
		}
		second, err := encode(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("written again it is\n%x, %v, not\n%x", second, err, first)
		}
	})
}

func seeds(f *testing.F, golden string) {
	f.Helper()
	raw := hand(&testing.T{}, golden)
	f.Add(raw)
	f.Add(zip(f, raw))
	f.Add(zstandard(f, raw))
}

func FuzzTopology(f *testing.F) {
	seeds(f, goldenTopology)
	fuzzCodec(f, DecodeTopology, EncodeTopology)
}

func FuzzCode(f *testing.F) {
	seeds(f, goldenTopology)
	fuzzCodec(f, DecodeCode, EncodeTopology)
}

func FuzzBase(f *testing.F) {
	seeds(f, goldenBase)
	fuzzCodec(f, DecodeBase, EncodeBase)
}

func FuzzAssignment(f *testing.F) {
	seeds(f, goldenAssignment)
	fuzzCodec(f, DecodeAssignment, EncodeAssignment)
}

func FuzzSupervisor(f *testing.F) {
	seeds(f, `0a0001 0000000000000001 0b0002 'host1' 0f0004 0a 00000001 0000000000001a2c 00`)
	fuzzCodec(f, DecodeSupervisor, EncodeSupervisor)
}

func FuzzNimbus(f *testing.F) {
	seeds(f, `0b0001 'n1' 080002 00000000 080003 00000000 020004 00 0b0005 '' 00`)
	fuzzCodec(f, DecodeNimbus, EncodeNimbus)
}

func FuzzCredentials(f *testing.F) {
	seeds(f, `0d0001 0b0b 00000001 'a' 'b' 0b0002 'ann' 00`)
	fuzzCodec(f, DecodeCredentials, EncodeCredentials)
}

func FuzzLogConfig(f *testing.F) {
	seeds(f, goldenLog)
	fuzzCodec(f, DecodeLogConfig, EncodeLogConfig)
}

func FuzzError(f *testing.F) {
	seeds(f, `0b0001 'x' 080002 00000001 0b0003 'host1' 080004 00001a2c 00`)
	fuzzCodec(f, DecodeError, EncodeError)
}

func FuzzConf(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[1.0,null,"x"],"c":{"d":1e99}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := DecodeConf(data)
		if err != nil {
			return
		}
		text, err := EncodeConf(c)
		if err != nil {
			t.Fatal(err)
		}
		if text, err = decompress(text); err != nil || !json.Valid(text) {
			t.Fatalf("%v becomes %q, %v", c, text, err)
		}
		if again, err := DecodeConf(text); err != nil || !reflect.DeepEqual(again, c) {
			t.Fatalf("%v comes back as %v, %v", c, again, err)
		}
	})
}

type up struct {
	hello *cluster.Hello
	pulse *cluster.Pulse
}

func FuzzUp(f *testing.F) {
	seeds(f, goldenUp)
	seeds(f, `0c0002 0a0001 0000000000000001 080002 00000001 0f0003 0c 00000000 0f0004 0c 00000000 0b0005 'x' 00 00`)
	fuzzCodec(f, func(data []byte) (up, error) {
		h, p, err := DecodeUp(data)
		return up{h, p}, err
	}, func(u up) ([]byte, error) { return EncodeUp(u.hello, u.pulse) })
}

func FuzzDown(f *testing.F) {
	seeds(f, `0c0001 080001 00000001 0a0002 0000000000000001 0f0003 0c 00000001 0c0001 080001 00000001 080002 00000002 00 0b0002 's1' 0b0003 'host1' 080004 00001a2c 00 00 00`)
	fuzzCodec(f, DecodeDown, EncodeDown)
}
