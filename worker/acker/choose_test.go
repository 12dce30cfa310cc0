package acker

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/track"
)

// What worker binaries agree on must not change unnoticed.
func TestChooseIsFixed(t *testing.T) {
	tests := []struct {
		task   int32
		seq    uint64
		ackers int
		want   int
	}{
		{1, 0, 1, 0}, {1, 0, 4, 0}, {1, 63, 4, 0}, {1, 64, 4, 3},
		{7, 1 << 47, 10, 7}, {track.MaxTask, track.SeqMask, 1000, 546},
	}
	for _, tt := range tests {
		if got := Choose(track.MakeRoot(tt.task, tt.seq), tt.ackers); got != tt.want {
			t.Errorf("Choose(%d/%d, %d) = %d, want %d", tt.task, tt.seq, tt.ackers, got, tt.want)
		}
	}
}

func TestChooseInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := track.MakeRoot(rapid.Int32Range(0, track.MaxTask).Draw(t, "task"), rapid.Uint64().Draw(t, "seq"))
		ackers := rapid.IntRange(1, 100_000).Draw(t, "ackers")
		got := Choose(root, ackers)
		if got < 0 || got >= ackers {
			t.Fatalf("acker %d of %d", got, ackers)
		}
		if first := root &^ 63; Choose(first, ackers) != got || Choose(first|63, ackers) != got {
			t.Fatalf("chunk of %x is split", root)
		}
		if Choose(root|InitFlag, ackers) != got {
			t.Fatalf("an init message of %x goes elsewhere", root)
		}
	})
}

// In any window of trees each acker task has its share, give or take a few
// chunks.
func TestChooseSpreadsEvenly(t *testing.T) {
	for _, ackers := range []int{2, 3, 4, 7, 8, 10, 16, 64, 100} {
		for _, chunks := range []int{100, 1000, 16384} {
			for _, first := range []uint64{0, 123_456_789, track.SeqMask - 5000} {
				counts := make([]int, ackers)
				for i := range uint64(chunks) {
					counts[Choose(track.MakeRoot(17, first+i<<chunkBits), ackers)]++
				}
				for a, n := range counts {
					if share := chunks / ackers; n < share-5 || n > share+6 {
						t.Errorf("acker %d of %d has %d of %d chunks from %d", a, ackers, n, chunks, first)
					}
				}
			}
		}
	}
}
