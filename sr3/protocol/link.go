package protocol

// Link is what was measured of one host, in bytes a second; 0 is unknown, as it is
// for a node of an older release.
type Link struct {
	// Up is what its link sends, as seen while several others waited for it at the
	// same time; UpLeast what it sends at least.
	Up      int64 `json:"up,omitempty"`
	UpLeast int64 `json:"upLeast,omitempty"`
	// Down is the most that its link has brought.
	Down int64 `json:"down,omitempty"`
	// Fold is how many stored bytes one fold gets through.
	Fold int64 `json:"fold,omitempty"`
}

// Best is the most that one of two measurements of the same host has seen: other
// traffic makes a link look slower, nothing makes it look faster.
func (l Link) Best(o Link) Link {
	return Link{
		Up: max(l.Up, o.Up), UpLeast: max(l.UpLeast, o.UpLeast), Down: max(l.Down, o.Down), Fold: max(l.Fold, o.Fold),
	}
}
