package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/stormring/stormring/internal/conf"
)

// EncodeConf is a stormconf.ser: the configuration as compressed JSON, with
// sorted keys. What was a fraction stays one: 1.0 is not written as 1. It
// fails for values that JSON does not have.
func EncodeConf(c map[string]any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(fractions(set(c))); err != nil {
		return nil, fmt.Errorf("wire: stormconf.ser: %w", err)
	}
	return compress(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

// DecodeConf reads a stormconf.ser. Whole numbers are int64 and keep all their
// digits, others are float64.
func DecodeConf(data []byte) (map[string]any, error) {
	text, err := decompress(data)
	if err != nil {
		return nil, err
	}
	if len(text) == 0 { // half written, rather than without any key
		return nil, errors.New("wire: stormconf.ser: there is nothing to read")
	}
	c, err := conf.ParseJSON(string(text))
	if err != nil {
		return nil, fmt.Errorf("wire: stormconf.ser: %w", err)
	}
	return c, nil
}

// fractions is v with those numbers as text that JSON would write as if they
// were whole.
func fractions(v any) any {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e21 {
			return json.RawMessage(strconv.FormatFloat(v, 'f', 1, 64))
		}
	case map[string]any:
		return dict(v, fractions)
	case []any:
		return required(v, fractions)
	}
	return v
}
