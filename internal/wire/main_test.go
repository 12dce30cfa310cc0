package wire

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain keeps the many property tests short: nouns are large, and most of
// what can go wrong with them goes wrong at once. -rapid.checks asks for more.
func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if !asked {
		if err := flag.Set("rapid.checks", "30"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
