package protocol

import (
	"fmt"
	"math/big"
	"strconv"

	"github.com/stormring/stormring/storm"
)

// number reads a number, by JSON's rules.
func (p *jsonParser) number() storm.Value {
	start := p.at
	if p.b[p.at] == '-' {
		p.at++
		if p.at < len(p.b) && p.b[p.at] == 'I' {
			p.notNumber()
			return storm.Nil()
		}
	}
	whole := p.digits()
	if whole == 0 || whole > 1 && p.b[p.at-whole] == '0' {
		if p.at >= len(p.b) && whole == 0 {
			p.ends()
		}
		p.failf("no value at byte %d", start)
		return storm.Nil()
	}
	float := false
	if p.at < len(p.b) && p.b[p.at] == '.' {
		float = true
		p.at++
		p.mustDigits()
	}
	if p.at < len(p.b) && p.b[p.at]|0x20 == 'e' {
		float = true
		p.at++
		if p.at < len(p.b) && (p.b[p.at] == '+' || p.b[p.at] == '-') {
			p.at++
		}
		p.mustDigits()
	}
	if p.hard != nil {
		return storm.Nil()
	}
	text := p.b[start:p.at]
	if float {
		return p.float(text)
	}
	return p.integer(text, whole)
}

func (p *jsonParser) digits() int {
	start := p.at
	for p.at < len(p.b) && p.b[p.at] >= '0' && p.b[p.at] <= '9' {
		p.at++
	}
	return p.at - start
}

func (p *jsonParser) mustDigits() {
	if p.digits() > 0 {
		return
	}
	if p.at >= len(p.b) {
		p.ends()
	}
	p.failf("a number without digits at byte %d", p.at)
}

func (p *jsonParser) float(text []byte) storm.Value {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		p.spoil(fmt.Errorf("the number %s is beyond a float", excerpt(text)))
		return storm.Nil()
	}
	return storm.Float(f)
}

// integer is an integer of any size.
func (p *jsonParser) integer(text []byte, digits int) storm.Value {
	if digits <= 18 {
		var n int64
		for _, c := range text[len(text)-digits:] {
			n = n*10 + int64(c-'0')
		}
		if text[0] == '-' {
			n = -n
		}
		if p.short && n == int64(int32(n)) {
			return storm.Int32(int32(n))
		}
		return storm.Int(n)
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return storm.Int(n)
	}
	n, _ := new(big.Int).SetString(string(text), 10) // digits only
	return storm.Any(n)
}
