package slot

import "fmt"

// State is where a slot is in its life.
type State uint8

// The states, in Storm's order.
const (
	// Empty: nothing is wanted and nothing runs.
	Empty State = iota
	// WaitingForBlobLocalization: blobs are fetched, no process is left. After a
	// restart also: they are there, and whether the worker is still assigned is
	// not known yet.
	WaitingForBlobLocalization
	// WaitingForWorkerStart: a worker was launched and not yet heard of.
	WaitingForWorkerStart
	// Running: the worker is heard of.
	Running
	// WaitingForBlobUpdate: newer blobs are fetched for the same worker.
	WaitingForBlobUpdate
	// Kill: a worker that is not wanted any more is dying.
	Kill
	// KillBlobUpdate: a worker whose blobs changed is dying.
	KillBlobUpdate
	// KillAndRelaunch: a sick worker is dying, or has died and will be
	// launched again after a pause.
	KillAndRelaunch
)

// String is Storm's name.
func (s State) String() string {
	switch s {
	case Empty:
		return "EMPTY"
	case WaitingForBlobLocalization:
		return "WAITING_FOR_BLOB_LOCALIZATION"
	case WaitingForWorkerStart:
		return "WAITING_FOR_WORKER_START"
	case Running:
		return "RUNNING"
	case WaitingForBlobUpdate:
		return "WAITING_FOR_BLOB_UPDATE"
	case Kill:
		return "KILL"
	case KillBlobUpdate:
		return "KILL_BLOB_UPDATE"
	case KillAndRelaunch:
		return "KILL_AND_RELAUNCH"
	default:
		return fmt.Sprintf("State(%d)", uint8(s))
	}
}

// State is where the slot is.
func (s *Slot) State() State {
	w := s.worker
	switch {
	case w == nil && s.want == nil:
		return Empty
	case w == nil && s.next != nil && s.next.ready && s.next.update:
		return KillAndRelaunch
	case w == nil && s.next != nil && s.next.update:
		return WaitingForBlobUpdate
	case w == nil:
		return WaitingForBlobLocalization
	case w.killed == unharmed && w.beat.IsZero():
		return WaitingForWorkerStart
	case w.killed == unharmed:
		return Running
	case !s.wanted():
		return Kill
	case w.stale:
		return KillBlobUpdate
	default:
		return KillAndRelaunch
	}
}

// Why tells a person why the wanted worker is not running; "" if it is, or if
// none is wanted.
func (s *Slot) Why() string {
	var why string
	switch s.State() {
	case Empty, Running:
		return ""
	case WaitingForBlobLocalization, WaitingForBlobUpdate:
		if why = "its blobs are being fetched"; s.next != nil && s.next.ready {
			why = "its blobs are there"
		}
	case WaitingForWorkerStart:
		why = "it was launched and not yet heard of"
	case Kill:
		if s.want == nil {
			return ""
		}
		why = "the worker before it is being killed"
	case KillBlobUpdate:
		why = "it is being killed, since its blobs have changed"
	case KillAndRelaunch:
		why = "it is being launched again"
	}
	if s.worker == nil && s.now.Before(s.doubtful) {
		why += ", and it is not known yet whether it is still assigned"
	}
	if s.trouble.why != "" {
		why += "; before that " + s.trouble.why
	}
	return why
}
