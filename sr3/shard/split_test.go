package shard

import (
	"fmt"
	"slices"
	"testing"
)

func TestSplitsAndMerges(t *testing.T) {
	c := testCodec(t, 0)
	table := NewTable(Options{Owner: testOwner, Target: 4 << 10})
	m := &Manifest{Owner: testOwner}
	step := func(v Version) {
		t.Helper()
		before := table.Ranges()
		var err error
		if m, err = m.Next(v, 1, 0, checkpoint(t, table, c, v, false).refs); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(m.Ranges(), before) {
			t.Errorf("version %d: manifest has %v, table %v", v, m.Ranges(), before)
		}
	}
	key := func(i int) string { return fmt.Sprintf("key %06d", i) }
	for i := range 4000 {
		put(t, table, key(i), "a value of some size")
	}
	step(1)
	if n := len(table.Ranges()); n < 16 || n > 64 {
		t.Errorf("%d shards of %d bytes", n, table.Bytes())
	}
	for i := range 3990 {
		del(t, table, key(i))
	}
	for v := range Version(40) {
		step(v + 2)
	}
	if got := m.Ranges(); !slices.Equal(got, []Range{Whole()}) || table.Len() != 10 {
		t.Errorf("%v of %d entries", got, table.Len())
	}
}

// A shard that splits between its first freeze and the commit of that has an
// object in the manifest, though it had none when it split.
func TestSplitBetweenFreezeAndCommit(t *testing.T) {
	c := testCodec(t, 0)
	table := NewTable(Options{Owner: testOwner, Target: 4 << 10})
	put(t, table, "storm", "ring")
	f := table.Freeze()
	first := write(t, f, c, 1, false)
	for i := range 800 {
		put(t, table, fmt.Sprint("key ", i), "a value of some size")
	}
	if err := table.Commit(f); err != nil {
		t.Fatal(err)
	}
	m, err := (&Manifest{Owner: testOwner}).Next(1, 1, 0, first.refs)
	if err != nil {
		t.Fatal(err)
	}
	table.Rollback()
	put(t, table, "one", "dirty")
	before := table.Ranges()
	if len(before) < 4 {
		t.Fatalf("ranges %v", before)
	}
	if m, err = m.Next(2, 1, 0, checkpoint(t, table, c, 2, false).refs); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Ranges(), before) {
		t.Errorf("manifest has %v, table %v", m.Ranges(), before)
	}
}

// Cells merge at a commit. A walk under way must not come to the same entries
// again.
func TestMergeDuringAWalk(t *testing.T) {
	table := NewTable(Options{Owner: testOwner, Target: 4 << 10})
	for i := range 2000 {
		put(t, table, fmt.Sprint("key ", i), "a value of some size")
	}
	seen, merges := make(map[string]bool), 0
	for k := range table.All(nil) {
		if seen[string(k)] {
			t.Fatalf("%s came twice", k)
		}
		seen[string(k)] = true
		if len(seen) != 1000 {
			continue
		}
		for i := range 2000 {
			if i%50 != 0 {
				del(t, table, fmt.Sprint("key ", i))
			}
		}
		for cells := 0; cells != len(table.cells); merges++ {
			cells = len(table.cells)
			checkpoint(t, table, testCodec(t, 0), 1, false)
		}
	}
	if merges < 3 || len(table.cells) > 100 || table.Len() != 40 {
		t.Errorf("%d merges, %d cells and %d entries are left", merges, len(table.cells), table.Len())
	}
}
