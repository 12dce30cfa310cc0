package election

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stormring/stormring/internal/coord"
)

// How Curator names what is in the queue: _c_<UUID>-latch-<10 digits>. By the
// UUID a znode is found whose creation was not confirmed.
const (
	protection = "_c_"
	latchName  = "latch-"
)

// lockPath is where the nimbuses queue up.
func lockPath(root string) string {
	return strings.TrimSuffix(root, "/") + "/leader-lock"
}

// place is a znode in the queue.
type place struct {
	name   string
	number int64
}

// parsePlace is the place of a name; false for what does not queue up.
func parsePlace(name string) (place, bool) {
	i := strings.LastIndex(name, latchName)
	if i < 0 {
		return place{}, false
	}
	number, err := strconv.ParseInt(name[i+len(latchName):], 10, 32)
	if err != nil {
		return place{}, false
	}
	return place{name, number}, true
}

// queue is the places among the names below the lock, the first one first.
func queue(names []string) []place {
	var q []place
	for _, name := range names {
		if p, ok := parsePlace(name); ok {
			q = append(q, p)
		}
	}
	slices.SortFunc(q, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name))
	})
	return q
}

// Participant is a nimbus in the election.
type Participant struct {
	ID     string // as it was handed in, of whatever kind; see ParseAddress
	Path   string // of its znode
	Leader bool   // it is the first; it may not know yet, or no more
}

// Participants is all nimbuses in the election, the leader first, then who is
// next. A nimbus may be in it twice, if it has restarted within its session's
// time-out.
func Participants(ctx context.Context, r coord.Reader, root string) ([]Participant, error) {
	return participants(ctx, r, root, -1)
}

// Leader is the nimbus that leads; false if none takes part.
func Leader(ctx context.Context, r coord.Reader, root string) (Participant, bool, error) {
	all, err := participants(ctx, r, root, 1)
	if err != nil || len(all) == 0 {
		return Participant{}, false, err
	}
	return all[0], true, nil
}

func participants(ctx context.Context, r coord.Reader, root string, limit int) ([]Participant, error) {
	lock := lockPath(root)
	names, _, err := r.Children(ctx, lock)
	if errors.Is(err, coord.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Participant
	for _, p := range queue(names) {
		if len(all) == limit {
			break
		}
		path := lock + "/" + p.name
		id, _, err := r.Get(ctx, path)
		if errors.Is(err, coord.ErrNoNode) {
			continue // left meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, Participant{ID: string(id), Path: path, Leader: len(all) == 0})
	}
	return all, nil
}

// Address is what the ID of a nimbus says.
type Address struct {
	Host    string
	Port    int
	TLSPort int // 0 if the ID says none
}

// ParseAddress reads an ID: host:port or host:port:tlsPort.
func ParseAddress(id string) (Address, error) {
	parts := strings.Split(id, ":")
	bad := func() (Address, error) {
		return Address{}, fmt.Errorf("ID of a nimbus %q: want host:port or host:port:tlsPort", id)
	}
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		return bad()
	}
	a := Address{Host: parts[0]}
	for i, port := range parts[1:] {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return bad()
		}
		if i == 0 {
			a.Port = int(n)
		} else {
			a.TLSPort = int(n)
		}
	}
	return a, nil
}
