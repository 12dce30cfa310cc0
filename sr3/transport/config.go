package transport

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"
)

const (
	kib = 1 << 10
	mib = 1 << 20

	// slack is what a message may have beyond ChunkBytes, for headers.
	slack = 64 * kib
	// inlineBytes is the largest request or reply that goes as one control
	// frame; larger ones go in parts, as bulk, so that they hold up nobody.
	inlineBytes = 16 * kib
	// maxHeader bounds the header of Open.
	maxHeader = 64 * kib
	// maxText bounds the text of an error on the wire.
	maxText = 1 * kib
	// callSlots is how many calls one connection has unanswered at most.
	callSlots = 256
	// maxStreams is how many streams one connection has at most.
	maxStreams = 1024
	// controlBytes is what waits in the control queue at most; a peer that
	// makes us queue more does not read and is cut.
	controlBytes = 16 * mib
	// messageBytes is what waits in a queue of messages at most, in bytes; more
	// is dropped.
	messageBytes = 1 * mib
	// pendingMessages and inboundMessages bound the same queues in messages.
	pendingMessages = 256
	inboundMessages = 1024
)

// Config says how an Endpoint works. The zero value works: plain TCP with the
// defaults that stand at the fields.
type Config struct {
	// TLS, if set, is used by both sides: as server with its Certificates (and
	// ClientCAs), as client with its RootCAs; ServerName defaults to the host
	// that is dialed.
	TLS *tls.Config
	// Log gets what nobody else is told: garbage on the port, lost connections.
	// Default: discarded.
	Log *slog.Logger
	// Advertise is the address under which others dial this endpoint. It names
	// the endpoint in their Peers. Default: where it listens.
	Advertise string
	// ChunkBytes is the usual size of bulk messages; a message may be 64 KiB
	// larger. Default 256 KiB.
	ChunkBytes int
	// Window is how many bytes of a stream may be under way or unread. Default
	// 4 MiB, at least two messages.
	Window int
	// MaxConns bounds the accepted connections, and also the dialed ones.
	// Default 1024.
	MaxConns int
	// MaxCall is the largest request or reply in bytes. Default 16 MiB.
	MaxCall int
	// MaxRunning is how many Handler.Call run at once. Default 256.
	MaxRunning int
	// IdleClose is when a dialed connection that carries nothing is closed.
	// Default 5 minutes.
	IdleClose time.Duration
	// DialTimeout bounds connecting, TLS and hello together, on both sides.
	// Default 5 s.
	DialTimeout time.Duration
	// PingEvery is the time between pings; a peer that is silent three times as
	// long is cut. Default 2 s.
	PingEvery time.Duration
}

// setting is one number of the Config with its range.
type setting struct {
	name          string
	value         *int
	def, min, max int
}

func (c Config) withDefaults() (Config, error) {
	for _, s := range []setting{
		{"ChunkBytes", &c.ChunkBytes, 256 * kib, 4 * kib, 16 * mib},
		{"Window", &c.Window, 4 * mib, 1, 1 << 30},
		{"MaxConns", &c.MaxConns, 1024, 1, 1 << 20},
		{"MaxCall", &c.MaxCall, 16 * mib, inlineBytes, 1 << 30},
		{"MaxRunning", &c.MaxRunning, 256, 1, 1 << 20},
	} {
		if *s.value == 0 {
			*s.value = s.def
		}
		if *s.value < s.min || *s.value > s.max {
			return c, fmt.Errorf("transport: Config.%s is %d, must be from %d to %d", s.name, *s.value, s.min, s.max)
		}
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"IdleClose", &c.IdleClose, 5 * time.Minute},
		{"DialTimeout", &c.DialTimeout, 5 * time.Second},
		{"PingEvery", &c.PingEvery, 2 * time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.def
		}
		if *d.value < 0 {
			return c, fmt.Errorf("transport: Config.%s is %v, must be positive", d.name, *d.value)
		}
	}
	if len(c.Advertise) > maxName {
		return c, fmt.Errorf("transport: Config.Advertise has %d bytes, at most %d are possible", len(c.Advertise), maxName)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Window = max(c.Window, 2*(c.maxMessage()+messageCost))
	return c, nil
}

// maxMessage is the largest message of a stream in bytes.
func (c Config) maxMessage() int { return c.ChunkBytes + slack }
