package upkeep

import (
	"errors"
	"fmt"
	"time"

	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// Inventory is what the node's disk has.
type Inventory struct {
	// Self is the node.
	Self shard.NodeID
	// Owners has each owner once, in the same order every time.
	Owners []Stock
}

// Stock is what the node has of one owner.
type Stock struct {
	Owner shard.Owner
	// Fence is the owner's newest epoch that the node knows of.
	Fence shard.Epoch
	// Manifests are by ascending version, and are not changed.
	Manifests []*shard.Manifest
	// Objects are whole and on disk. They need no Holders.
	Objects []shard.Ref
}

// Ring is the ring as the node sees it.
type Ring struct {
	View *ring.View
	// Complete says that View is all of it. If not, nothing that depends on
	// where copies belong is decided.
	Complete bool
}

// Committed is what is committed for a topology.
type Committed struct {
	// Known says that the rest was read, or confirmed, within the last seconds.
	Known bool
	// Version is that of the commit record; 0 if nothing was ever committed.
	Version shard.Version
	// Gone says that there is no such topology any more, since GoneSinceMillis
	// on Decide's clock.
	Gone            bool
	GoneSinceMillis int64
}

// Config are the numbers of a Keeper.
type Config struct {
	// KeepVersions is how many committed versions are kept, at least 1.
	KeepVersions int
	// Replicas is how many copies an owner has of which no manifest is here yet.
	Replicas int
	// Grace is for how long a thing must have been of no use before it goes. It
	// must be longer than a checkpoint may take, from the first object to the
	// commit record, and longer than a recovery.
	Grace time.Duration
	// RepairDelay is for how long a copy must have been this node's to keep before
	// it is fetched: a holder that comes back within it costs nothing. A copy
	// that the manifest says is here, and is not, is fetched at once.
	RepairDelay time.Duration
	// Believe is for how long another node's word that it has a copy is good,
	// counted from when it was asked; Promise is for how long this node keeps what it
	// gave its word for.
	Believe, Promise time.Duration
	// Retry is after how long what did not succeed is tried again; each further
	// time takes twice as long, up to RetryMax.
	Retry, RetryMax time.Duration
	// OfferEvery is after how long an offer is repeated though nothing changed,
	// for nodes that lost their disk.
	OfferEvery time.Duration
	// Step is the most time that counts between two calls of Decide, so that
	// a clock that jumps does not end all delays at once.
	Step time.Duration
	// MaxFetches and MaxFolds bound what is given to the shell and not Ended yet.
	MaxFetches, MaxFolds int
}

// Default is a Config for a Decide every second or so.
func Default() Config {
	return Config{
		KeepVersions: 2,
		Replicas:     3,
		Grace:        10 * time.Minute,
		RepairDelay:  time.Minute,
		Believe:      time.Minute,
		Promise:      3 * time.Minute,
		Retry:        5 * time.Second,
		RetryMax:     5 * time.Minute,
		OfferEvery:   10 * time.Minute,
		Step:         10 * time.Second,
		MaxFetches:   16,
		MaxFolds:     2,
	}
}

// Check tells what is wrong with a Config, nil if nothing.
func (c *Config) Check() error {
	switch {
	case c.KeepVersions < 1 || c.Replicas < 1 || c.MaxFetches < 1 || c.MaxFolds < 1:
		return fmt.Errorf("upkeep: %d versions, %d replicas, %d fetches, %d folds: each must be at least 1", c.KeepVersions, c.Replicas, c.MaxFetches, c.MaxFolds)
	case c.Grace <= 0 || c.Believe <= 0 || c.Retry <= 0 || c.OfferEvery <= 0 || c.Step <= 0 || c.RepairDelay < 0:
		return errors.New("upkeep: grace, believe, retry, offer every and step must be above 0, repair delay not below")
	case c.RetryMax < c.Retry:
		return fmt.Errorf("upkeep: the longest retry, %v, is below the first, %v", c.RetryMax, c.Retry)
	case c.Promise < 2*c.Believe || c.Grace < c.Promise:
		// A node that starts anew has forgotten its promises, but waits for Grace.
		return fmt.Errorf("upkeep: promise %v must be at least twice believe, %v, and grace, %v, at least promise", c.Promise, c.Believe, c.Grace)
	default:
		return nil
	}
}

// Action is something that the shell has to do. What is of the past by the next
// Decide is not taken back: it does no harm. Tell Keeper.Ended of each
// FetchManifest, FetchObject, Offer and Fold that came to an end.
type Action interface{ action() }

// FetchManifest asks From, one after the other, for the owner's manifest of
// Version, and stores it whatever the fence.
type FetchManifest struct {
	Owner   shard.Owner
	Version shard.Version
	From    []shard.NodeID
}

// FetchObject asks From, one after the other, for an object's bytes, verifies
// them and stores them whatever the fence: a committed manifest names it.
type FetchObject struct {
	Ref  shard.Ref
	From []shard.NodeID
}

// Offer tells a node that by the ring should have something of the owner that
// there is a manifest of this version; it hands that to its Keeper.Offered.
type Offer struct {
	Owner   shard.Owner
	Version shard.Version
	To      shard.NodeID
}

// Fold makes one base of a chain whose objects are all here, and stores it
// beside them, with the version and the epoch of the newest.
type Fold struct{ Chain []shard.Ref }

// AskHave asks each of Of whether it has the objects, and, if Version is not 0, a
// committed manifest of at least that version; what Keeper.Vouch says there goes to Keeper.Had
// here. Lost answers may stay lost.
type AskHave struct {
	Owner   shard.Owner
	Version shard.Version
	Refs    []shard.Ref
	Of      []shard.NodeID

	asked int64 // on the keeper's raw clock
}

// DeleteObjects lets objects of one owner go.
type DeleteObjects struct{ Refs []shard.Ref }

// DeleteManifest lets a manifest go.
type DeleteManifest struct {
	Owner   shard.Owner
	Version shard.Version
}

// DropOwner lets go all of an owner whose topology is gone, its fence too.
type DropOwner struct{ Owner shard.Owner }

func (FetchManifest) action()  {}
func (FetchObject) action()    {}
func (Offer) action()          {}
func (Fold) action()           {}
func (AskHave) action()        {}
func (DeleteObjects) action()  {}
func (DeleteManifest) action() {}
func (DropOwner) action()      {}
