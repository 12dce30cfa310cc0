// Package upkeep decides what a node of the ring does with the state that it
// keeps: what to fetch, since it should be here; what to fold; what to let go;
// whom to tell. It is pure: the node's shell hands in what the disk has, what
// the ring looks like and what is committed, and does what comes out.
//
// Start at Keeper.Decide (keeper.go), then owner.go, which has the rules for one
// owner. place.go knows where copies belong, memory.go what was asked and how
// long a thing has been so, talk.go what other nodes say and ask.
//
// # What is kept
//
// All that a kept manifest names: those of the committed version, of the one
// or ones before it (Config.KeepVersions), and of all newer versions of the
// newest epoch, which may be committed yet. Beside it, of every chain of a kept
// manifest the newest base that a holder folded of its beginning. What is none
// of this goes after Config.Grace. Nothing of an owner goes while its topology's
// committed version is not known, or while there is no manifest here of a version
// that is known to be committed, since only that tells what is needed. If that is
// not the newest committed one, which happens where versions come faster than
// manifests, then all that is newer is kept: a later manifest names nothing older
// that an earlier one, from which it was made, does not name, but folded bases, and
// those are kept too.
//
// # The last copy
//
// A copy that belongs to other nodes by now goes only after all of them said
// that they have it (AskHave, Had), and have it because it is theirs (Vouch). Who
// says so keeps it for Config.Promise at least, which is longer than the word of
// others is believed (Config.Believe): so two nodes whose pictures of the ring
// differ cannot both rely on the other and let go.
//
// # How a node learns what it should have
//
// The writer gives a manifest to the nodes at hash(owner) and to all holders of
// its objects. A node that has anything of an owner fetches the committed manifest
// if that is not here, and then the objects that the manifest and the ring say
// are its own. A node that has nothing is told by an Offer. A node that has a
// copy of another's object asks with AskHave, which tells the other where to find
// it. So lost messages and lost disks delay this, and nothing else.
package upkeep
