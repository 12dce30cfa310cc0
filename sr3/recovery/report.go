package recovery

import "github.com/stormring/stormring/sr3/shard"

// Source is what one node sent straight to the receiver.
type Source struct {
	Node  NodeID `json:"node"`
	Bytes int64  `json:"bytes"`
}

// Report is one recovery as the command line, the metrics and the UI show it.
// Times are in milliseconds. The tracker fills in what it knows (Tracker.Report);
// the durations of the five steps are the shell's.
type Report struct {
	Owner    string        `json:"owner"`
	Version  shard.Version `json:"version"`
	Receiver NodeID        `json:"receiver"`
	Mode     Mode          `json:"mode"`
	Reason   string        `json:"reason"`
	// PredictedMS stands beside FetchMS + RebuildMS, which overlap.
	PredictedMS float64 `json:"predictedMs"`
	DetectMS    float64 `json:"detectMs"`
	PlaceMS     float64 `json:"placeMs"`
	FetchMS     float64 `json:"fetchMs"`
	RebuildMS   float64 `json:"rebuildMs"`
	ResumeMS    float64 `json:"resumeMs"`
	Shards      int     `json:"shards"`
	Installed   int     `json:"installed"`
	// Waiting are the shards without a living copy now, Emptied those that were
	// started empty because the operator said so.
	Waiting []int `json:"waiting"`
	Emptied []int `json:"emptied"`
	// Bytes came in, Wasted of them twice or in vain.
	Bytes   int64    `json:"bytes"`
	Wasted  int64    `json:"wasted"`
	Sources []Source `json:"sources"`
	// Replans is how often senders were replaced, Stolen how many parts an idle
	// stream took over from a slow one.
	Replans int `json:"replans"`
	Stolen  int `json:"stolen"`
	// Notes are sentences on what went otherwise than planned, in order, at most
	// MaxNotes.
	Notes []string `json:"notes"`
}

// MaxNotes bounds the notes of a report.
const MaxNotes = 32
