package advertising

import (
	"encoding/json"
	"slices"
)

// event is one line of the source.
type event struct {
	User   string `json:"user"`
	Page   string `json:"page"`
	Ad     string `json:"ad"`
	AdType string `json:"ad_type"`
	Type   string `json:"event_type"`
	Time   int64  `json:"event_time"` // milliseconds of the Unix epoch
	IP     string `json:"ip"`
}

// view is the type of the events that are counted.
const view = "view"

var (
	eventTypes = [...]string{view, "click", "purchase"}
	adTypes    = [...]string{"banner", "modal", "sponsored-search", "mail", "mobile"}
)

// Reasons to reject a line.
const (
	// Malformed lines are not the JSON of an event, or say no user, ad or time.
	Malformed = "malformed"
	// UnknownType is an event type other than view, click and purchase.
	UnknownType = "unknown event type"
	// UnknownAd is an ad of no campaign; only views are looked up.
	UnknownAd = "unknown ad"
)

// parse reads a line. reason is why it was rejected, or "".
func parse(line string) (e event, reason string) {
	if err := json.Unmarshal([]byte(line), &e); err != nil || e.User == "" || e.Ad == "" || e.Time <= 0 || e.Time > maxTime {
		return event{}, Malformed
	}
	if !slices.Contains(eventTypes[:], e.Type) {
		return event{}, UnknownType
	}
	return e, ""
}
