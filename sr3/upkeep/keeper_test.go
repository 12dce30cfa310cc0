package upkeep

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/shard"
)

func TestConfig(t *testing.T) {
	ok := Default()
	if err := ok.Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"versions": func(c *Config) { c.KeepVersions = 0 },
		"fetches":  func(c *Config) { c.MaxFetches = 0 },
		"grace":    func(c *Config) { c.Grace = time.Minute },
		"promise":  func(c *Config) { c.Promise = c.Believe },
		"retry":    func(c *Config) { c.RetryMax = time.Second },
		"step":     func(c *Config) { c.Step = 0 },
	} {
		c := Default()
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRepairWaitsForTheHolder(t *testing.T) {
	r := newRig(t, 12).at(0, true)
	base := ref(shard.Base, 5, 100, "n-old", "n-other")
	r.c = Committed{Known: true, Version: 5}
	r.stock.Manifests = []*shard.Manifest{manifest(5, []shard.Ref{base})}
	if got := only[FetchObject](r.wait(r.k.cfg.RepairDelay)); len(got) != 0 {
		t.Fatalf("fetched before the delay: %v", got)
	}
	got := only[FetchObject](r.decide(time.Second))
	want := []FetchObject{{base, sources(r.self, holders(r.view, owner.ShardHash(0), 3), base.Holders)}}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if h := r.k.Health(); h.Missing != 1 || h.MissingBytes != 164 || h.UnderReplicated != 1 || h.Whole() {
		t.Errorf("health %+v", h)
	}
	// Not again before the retry; then, after two in vain, from everybody.
	if got := only[FetchObject](r.wait(4 * time.Second)); len(got) != 0 {
		t.Errorf("given again: %v", got)
	}
	if got := only[FetchObject](r.decide(time.Second)); len(got) != 1 || len(got[0].From) != 4 {
		t.Errorf("second: %v", got)
	}
	if got := only[FetchObject](r.wait(10 * time.Second)); len(got) != 1 || len(got[0].From) != 13 {
		t.Errorf("third: %v", got)
	}
	r.stock.Objects = []shard.Ref{base}
	if got := only[FetchObject](r.wait(10 * time.Minute)); len(got) != 0 || r.k.Health().Missing != 0 {
		t.Errorf("still: %v, health %+v", got, r.k.Health())
	}
}

func TestADamagedCopyComesBackAtOnce(t *testing.T) {
	r := newRig(t, 12).at(0, true)
	base := ref(shard.Base, 5, 100, r.self, "n-other")
	r.c = Committed{Known: true, Version: 5}
	r.stock.Manifests = []*shard.Manifest{manifest(5, []shard.Ref{base})}
	if got := only[FetchObject](r.decide(0)); len(got) != 1 {
		t.Fatalf("got %v", got)
	}
}

// Under one name there may be two objects, of which one was never committed: that
// is no copy of the other, and makes room for it.
func TestOtherBytesOfOneName(t *testing.T) {
	r := newRig(t, 12).at(0, true)
	base := ref(shard.Base, 5, 100)
	other := base
	other.Checksum++
	r.c = Committed{Known: true, Version: 5}
	r.stock.Manifests = []*shard.Manifest{manifest(5, []shard.Ref{base})}
	r.stock.Objects = []shard.Ref{other}
	r.decide(0)
	if h := r.k.Health(); h.Missing != 1 || h.UnderReplicated != 1 {
		t.Errorf("health %+v", h)
	}
	got := r.wait(r.k.cfg.Grace)
	if d := only[DeleteObjects](got); !reflect.DeepEqual(d, []DeleteObjects{{[]shard.Ref{other}}}) {
		t.Errorf("deletes %v", d)
	}
	r.stock.Objects = nil
	if f := only[FetchObject](r.decide(time.Second)); len(f) != 1 || f[0].Ref.Checksum != base.Checksum {
		t.Errorf("fetches %v", f)
	}
}

func TestIncompleteRingMovesNothing(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		r := newRig(t, 12).at(0, keeps)
		r.part = true
		base := ref(shard.Base, 5, 100)
		r.c = Committed{Known: true, Version: 5}
		r.stock.Manifests = []*shard.Manifest{manifest(5, []shard.Ref{base})}
		if !keeps {
			r.stock.Objects = []shard.Ref{base}
		}
		for range 3600 {
			if got := r.decide(time.Second); len(got) != 0 {
				t.Fatalf("keeps %v: %v", keeps, got)
			}
		}
	}
}

// What may go and what must stay, after a long time.
func TestSweep(t *testing.T) {
	base, delta, next := ref(shard.Base, 5, 1000), ref(shard.Delta, 6, 10), ref(shard.Delta, 7, 10)
	old, failed := ref(shard.Base, 3, 900), ref(shard.Delta, 8, 5)
	zombie, newer := ref(shard.Delta, 9, 5), ref(shard.Delta, 10, 5)
	newer.Epoch = 2
	folded := ref(shard.Base, 6, 1000)
	m3, m5 := manifest(3, []shard.Ref{old}), manifest(5, []shard.Ref{base})
	m6 := manifest(6, []shard.Ref{base, delta})
	m7 := manifest(7, []shard.Ref{base, delta, next})
	m8 := manifest(8, []shard.Ref{base, delta, next, failed})
	everything := []shard.Ref{old, base, folded, delta, next, failed, zombie, newer}
	m11 := manifest(11, []shard.Ref{base, delta, next, newer})
	m11.Epoch = 2
	all := []*shard.Manifest{m3, m5, m6, m7, m8}
	for name, c := range map[string]struct {
		committed Committed
		manifests []*shard.Manifest
		gone      []shard.Ref
		manifest  []shard.Version
	}{
		"committed":                        {Committed{Known: true, Version: 7}, all, []shard.Ref{old, failed, zombie}, []shard.Version{3, 5, 8}},
		"one that may be committed yet":    {Committed{Known: true, Version: 7}, append(slices.Clone(all), m11), []shard.Ref{old, failed, zombie}, []shard.Version{3, 5, 8}},
		"the version before is kept":       {Committed{Known: true, Version: 5}, all, []shard.Ref{folded, delta, next, failed, zombie}, []shard.Version{6, 7, 8}},
		"not known":                        {Committed{Version: 7}, all, nil, nil},
		"its manifest is not here":         {Committed{Known: true, Version: 7}, []*shard.Manifest{m3, m5, m6}, nil, nil},
		"nothing was committed":            {Committed{Known: true}, all, []shard.Ref{old, base, folded, delta, next, failed, zombie}, []shard.Version{3, 5, 6, 7, 8}},
		"a later one of the old epoch":     {Committed{Known: true, Version: 8}, all, []shard.Ref{old, zombie}, []shard.Version{3, 5, 6}},
		"gone, but not for long":           {Committed{Known: true, Gone: true, GoneSinceMillis: 1 << 40}, all, nil, nil},
		"gone says one that does not know": {Committed{Gone: true}, all, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 3)
			r.self = "n0"
			r.c = c.committed
			r.stock.Objects, r.stock.Manifests = everything, c.manifests
			if got := r.wait(r.k.cfg.Grace); len(only[DeleteObjects](got))+len(only[DeleteManifest](got)) != 0 {
				t.Fatalf("deleted before the grace: %v", got)
			}
			got := r.decide(time.Second)
			var gone []shard.Ref
			for _, d := range only[DeleteObjects](got) {
				gone = append(gone, d.Refs...)
			}
			var manifests []shard.Version
			for _, d := range only[DeleteManifest](got) {
				manifests = append(manifests, d.Version)
			}
			if !reflect.DeepEqual(gone, c.gone) {
				t.Errorf("gone %v\nwant %v", gone, c.gone)
			}
			if !slices.Equal(manifests, c.manifest) {
				t.Errorf("manifests %v, want %v", manifests, c.manifest)
			}
		})
	}
}

func TestGoneTopology(t *testing.T) {
	r := newRig(t, 3)
	r.self = "n0"
	r.stock.Objects = []shard.Ref{ref(shard.Base, 5, 10)}
	r.c = Committed{Known: true, Gone: true, GoneSinceMillis: 1000}
	if got := r.wait(r.k.cfg.Grace - time.Second); len(got) != 0 {
		t.Fatalf("before the grace: %v", got)
	}
	if got := r.wait(2 * time.Second); !reflect.DeepEqual(got, []Action{DropOwner{owner}}) {
		t.Fatalf("got %v", got)
	}
}

// A clock that jumps, and a commit record that seems to go back, delete nothing.
func TestJumps(t *testing.T) {
	r := newRig(t, 3)
	r.self = "n0"
	base, delta := ref(shard.Base, 5, 100), ref(shard.Delta, 6, 1)
	r.stock.Objects = []shard.Ref{base, delta, ref(shard.Base, 2, 100)}
	r.stock.Manifests = []*shard.Manifest{manifest(5, []shard.Ref{base}), manifest(6, []shard.Ref{base, delta})}
	r.c = Committed{Known: true, Version: 6}
	r.decide(0)
	for _, d := range []time.Duration{time.Second, 24 * time.Hour, -48 * time.Hour, 365 * 24 * time.Hour} {
		if got := only[DeleteObjects](r.decide(d)); len(got) != 0 {
			t.Fatalf("after %v: %v", d, got)
		}
	}
	// Not even when what was committed last is of an older placement.
	r.c.Version, r.stock.Fence = 5, 2
	got := only[DeleteObjects](r.wait(20 * time.Minute))
	if len(got) != 1 || len(got[0].Refs) != 1 || got[0].Refs[0].Version != 2 {
		t.Errorf("got %v", got)
	}
}

func TestFold(t *testing.T) {
	chain := []shard.Ref{ref(shard.Base, 1, 100), ref(shard.Delta, 2, 120), ref(shard.Delta, 3, 120)}
	r := newRig(t, 3)
	r.self = "n0"
	r.c = Committed{Known: true, Version: 3}
	r.stock.Manifests = []*shard.Manifest{manifest(3, chain)}
	r.stock.Objects = chain[:2]
	if got := only[Fold](r.decide(time.Second)); len(got) != 0 {
		t.Fatalf("folds what is not here: %v", got)
	}
	r.stock.Objects = chain
	got := only[Fold](r.decide(time.Second))
	if !reflect.DeepEqual(got, []Fold{{chain}}) {
		t.Fatalf("got %v", got)
	}
	if got := only[Fold](r.decide(time.Second)); len(got) != 0 {
		t.Fatalf("given again: %v", got)
	}
	folded := ref(shard.Base, 3, 120)
	r.stock.Objects = append(slices.Clone(chain), folded)
	if got := only[Fold](r.wait(time.Minute)); len(got) != 0 {
		t.Fatalf("folds again: %v", got)
	}
	// Goes on from the folded base, and lets it go once there is a newer one.
	longer := append(slices.Clone(chain), ref(shard.Delta, 4, 241))
	r.c.Version = 4
	r.stock.Manifests = append(r.stock.Manifests, manifest(4, longer))
	r.stock.Objects = append(r.stock.Objects, longer[3])
	if got := only[Fold](r.decide(time.Second)); !reflect.DeepEqual(got, []Fold{{[]shard.Ref{folded, longer[3]}}}) {
		t.Fatalf("got %v", got)
	}
	r.stock.Objects = append(r.stock.Objects, ref(shard.Base, 4, 250))
	if got := only[DeleteObjects](r.wait(time.Hour)); len(got) != 0 {
		t.Errorf("the version before still names a chain that ends with it: %v", got)
	}
}

func TestACopyGoesWhenAllOthersHaveIt(t *testing.T) {
	r := newRig(t, 12).at(0, false)
	base := ref(shard.Base, 5, 100, r.self)
	r.c = Committed{Known: true, Version: 5}
	r.stock.Manifests = []*shard.Manifest{manifest(5, []shard.Ref{base})}
	r.stock.Objects = []shard.Ref{base}
	of := holders(r.view, owner.ShardHash(0), 3)
	var asked AskHave
	for i := range 3600 {
		got := r.decide(time.Second)
		if d := only[DeleteObjects](got); len(d) != 0 {
			t.Fatalf("second %d: deleted before all said so: %v", i, d)
		}
		for _, asked = range only[AskHave](got) {
			if !slices.Equal(asked.Of, of) {
				t.Fatalf("asks %v, want %v", asked.Of, of)
			}
			r.k.Had(asked, of[0], false, asked.Refs)
			r.k.Had(asked, of[1], false, asked.Refs)
			r.k.Had(asked, "n-nobody", false, asked.Refs)
		}
	}
	r.k.Had(asked, of[2], false, asked.Refs)
	if d := only[DeleteObjects](r.decide(time.Second)); len(d) != 0 {
		t.Fatalf("an old word was believed: %v", d)
	}
	r.view = view(13) // asks anew at once
	if slices.Contains(holders(r.view, owner.ShardHash(0), 3), r.self) {
		t.Fatal("now it is this node's")
	}
	asks := only[AskHave](r.decide(time.Second))
	if len(asks) != 1 {
		t.Fatalf("asks %v", asks)
	}
	for _, id := range asks[0].Of {
		r.k.Had(asks[0], id, false, asks[0].Refs)
	}
	if d := only[DeleteObjects](r.decide(time.Second)); !reflect.DeepEqual(d, []DeleteObjects{{[]shard.Ref{base}}}) {
		t.Fatalf("got %v", d)
	}
	// Gone from the disk, the manifest follows in the same way.
	r.stock.Objects = nil
	if d := only[DeleteManifest](r.wait(2 * r.k.cfg.Grace)); len(d) != 0 {
		t.Fatalf("deleted before the others said so: %v", d)
	}
	var gone []DeleteManifest
	for range 3600 {
		got := r.decide(time.Second)
		for _, a := range only[AskHave](got) {
			for _, id := range a.Of {
				r.k.Had(a, id, true, nil)
			}
		}
		if gone = only[DeleteManifest](got); len(gone) > 0 {
			break
		}
	}
	if !reflect.DeepEqual(gone, []DeleteManifest{{owner, 5}}) {
		t.Fatalf("got %v", gone)
	}
}

// Others keep what they gave their word for only for so long: a node that slept
// does not believe a word that it heard before.
func TestWordsAgeWhileANodeSleeps(t *testing.T) {
	r := newRig(t, 12).at(0, false)
	base := ref(shard.Base, 5, 100, r.self)
	r.c = Committed{Known: true, Version: 5}
	r.stock.Manifests = []*shard.Manifest{manifest(5, []shard.Ref{base})}
	r.stock.Objects = []shard.Ref{base}
	r.wait(r.k.cfg.Grace - 5*time.Second)
	r.view = view(13) // asks anew at once
	asks := only[AskHave](r.decide(time.Second))
	if len(asks) != 1 {
		t.Fatalf("asks %v", asks)
	}
	for _, id := range asks[0].Of {
		r.k.Had(asks[0], id, false, asks[0].Refs)
	}
	if d := only[DeleteObjects](r.decide(r.k.cfg.Believe + time.Second)); len(d) != 0 {
		t.Errorf("an old word was believed: %v", d)
	}
	// Nor one that came long after it was asked for.
	for _, id := range asks[0].Of {
		r.k.Had(asks[0], id, false, asks[0].Refs)
	}
	if d := only[DeleteObjects](r.decide(time.Second)); len(d) != 0 {
		t.Errorf("a late word was believed: %v", d)
	}
}

func TestVouch(t *testing.T) {
	r := newRig(t, 12).at(0, true)
	base, delta := ref(shard.Base, 5, 100), ref(shard.Delta, 6, 1)
	r.c = Committed{Known: true, Version: 6}
	r.stock.Manifests = []*shard.Manifest{manifest(6, []shard.Ref{base, delta})}
	r.stock.Objects = []shard.Ref{base}
	other := base
	other.Checksum++
	if _, have := r.k.Vouch("x", owner, 0, []shard.Ref{base}); len(have) != 0 {
		t.Errorf("vouched before it looked: %v", have)
	}
	r.decide(0)
	if _, have := r.k.Vouch("x", owner, 0, []shard.Ref{other, delta, base}); !reflect.DeepEqual(have, []shard.Ref{base}) {
		t.Errorf("vouched for %v", have)
	}
	// It learned where the delta is.
	got := only[FetchObject](r.wait(r.k.cfg.RepairDelay))
	if len(got) != 1 || got[0].Ref.ObjectID != delta.ObjectID || got[0].From[0] != "x" {
		t.Errorf("fetches %v", got)
	}
	// What is another's is not vouched for.
	r.at(0, false)
	r.decide(time.Second)
	if _, have := r.k.Vouch("x", owner, 0, []shard.Ref{base}); len(have) != 0 {
		t.Errorf("vouched for another's: %v", have)
	}
}

func TestOffers(t *testing.T) {
	r := newRig(t, 12).at(0, true)
	base := ref(shard.Base, 5, 100)
	r.c = Committed{Known: true, Version: 5}
	r.k.Offered("x", owner, 5)
	r.stock.Owner.Task = 99 // nothing here of the owner
	got := only[FetchManifest](r.decide(time.Second))
	want := []FetchManifest{{owner, 5, sources(r.self, []shard.NodeID{"x"}, holders(r.view, owner.Hash(), 3))}}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	r.stock = Stock{Owner: owner, Manifests: []*shard.Manifest{manifest(5, []shard.Ref{base})}, Objects: []shard.Ref{base}}
	// A holder tells those at hash(owner), once they heard it not again.
	offers := only[Offer](r.decide(time.Second))
	if len(offers) != 3 {
		t.Fatalf("offers %v", offers)
	}
	for _, o := range offers {
		r.k.Ended(o, true)
	}
	if got := only[Offer](r.wait(9 * time.Minute)); len(got) != 0 {
		t.Errorf("again: %v", got)
	}
	r.k.Joined(offers[1].To)
	if got := only[Offer](r.decide(time.Second)); !reflect.DeepEqual(got, offers[1:2]) {
		t.Errorf("after a node joined: %v", got)
	}
	// One of those tells all that should have something.
	r.self = holders(r.view, owner.Hash(), 3)[0]
	r.k, _ = New(Default())
	owing := newPlaces(r.view, owner, 3).owing(r.stock.Manifests[0])
	if got := only[Offer](r.decide(time.Second)); len(got) != len(owing)-1 {
		t.Errorf("offers %v, owing %v", got, owing)
	}
}

func TestFetchesAreBounded(t *testing.T) {
	r := newRig(t, 3)
	r.self = "n0"
	m := manifest(5)
	for i := range 64 {
		b := ref(shard.Base, 5, 100, "n0", "n1")
		b.Range = shard.RangeOf(i, 64)
		m.Shards = append(m.Shards, []shard.Ref{b})
	}
	r.c = Committed{Known: true, Version: 5}
	r.stock.Manifests = []*shard.Manifest{m}
	seen := make(map[shard.ObjectID]int)
	for i := range 8 {
		got := only[FetchObject](r.decide(time.Second))
		want := 16
		if i%2 == 1 {
			want = 0 // none has ended
		}
		if len(got) != want {
			t.Fatalf("round %d: %d fetches", i, len(got))
		}
		for _, f := range got {
			seen[f.Ref.ObjectID]++
		}
		if i%2 == 1 {
			for id := range seen {
				r.k.Ended(FetchObject{Ref: shard.Ref{ObjectID: id}}, false)
			}
		}
	}
	// In vain or not, each had its turn.
	if len(seen) != 64 {
		t.Errorf("%d were tried", len(seen))
	}
}

// Where versions come faster than manifests, what an older committed manifest does
// not need goes, and what a newer one may name stays.
func TestSweepBehind(t *testing.T) {
	base, delta, next := ref(shard.Base, 5, 1000), ref(shard.Delta, 6, 10), ref(shard.Delta, 7, 10)
	old, folded, further := ref(shard.Base, 3, 900), ref(shard.Base, 6, 1000), ref(shard.Base, 7, 1000)
	late, last := ref(shard.Delta, 8, 10), ref(shard.Delta, 9, 10)
	newer := ref(shard.Delta, 12, 10)
	newer.Epoch = 2 // so that late and last are of an older epoch
	r := newRig(t, 3)
	r.self = "n0"
	r.stock.Objects = []shard.Ref{old, base, delta, next, folded, further, late, last, newer}
	r.stock.Manifests = []*shard.Manifest{manifest(7, []shard.Ref{base, delta, next})}
	r.c = Committed{Known: true, Version: 7}
	r.decide(time.Second)
	r.c.Version = 9
	got := only[DeleteObjects](r.wait(time.Hour))
	if want := []DeleteObjects{{[]shard.Ref{old}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if h := r.k.Health(); h.NoManifest != 1 || h.Missing != 0 {
		t.Errorf("health %+v", h)
	}
	if got := only[FetchManifest](r.wait(10 * time.Minute)); len(got) > 1 {
		t.Errorf("asks %v", got)
	}
}

func TestVouchForManifests(t *testing.T) {
	r := newRig(t, 12)
	r.self = holders(r.view, owner.Hash(), 3)[0]
	base := ref(shard.Base, 5, 100)
	r.c = Committed{Known: true, Version: 5}
	r.stock.Manifests = []*shard.Manifest{manifest(5, []shard.Ref{base}), manifest(6, []shard.Ref{base})}
	r.decide(0)
	for v, want := range map[shard.Version]bool{4: true, 5: true, 6: false} {
		if got, _ := r.k.Vouch("x", owner, v, nil); got != want {
			t.Errorf("version %d: %v", v, got)
		}
	}
}
