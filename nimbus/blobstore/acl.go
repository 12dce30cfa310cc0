package blobstore

import (
	"fmt"
	"slices"
)

// Access is what somebody may do with a blob, as bits.
type Access int

// The bits, with Storm's numbers.
const (
	Read  Access = 1
	Write Access = 2
	// Admin is to change the meta.
	Admin Access = 4

	everything = Read | Write | Admin
)

// String is Storm's three letters, such as rw-.
func (a Access) String() string {
	text := []byte("---")
	for i, letter := range []byte("rwa") {
		if a&(1<<i) != 0 {
			text[i] = letter
		}
	}
	return string(text)
}

// AccessType is whom an entry of an ACL is about.
type AccessType int

// The types, with Storm's numbers.
const (
	// Other is everybody.
	Other AccessType = 1
	// User is the user with the entry's name.
	User AccessType = 2
)

// AccessControl is an entry of an ACL.
type AccessControl struct {
	Type   AccessType
	Name   string // of a User
	Access Access
}

// Meta is what is set of a blob besides its content.
type Meta struct {
	ACL []AccessControl
	// Replication is how many nimbuses should have it; 0 or less is the default.
	Replication int
}

// ReadableMeta is what is known of a blob besides its content.
type ReadableMeta struct {
	Meta Meta
	// Version changes, upwards, with each change of the content.
	Version int64
	// Size is that of the content in bytes.
	Size int64
}

// Subject is who asks. The zero Subject is somebody without a name.
type Subject struct {
	User string
	// Admin may do everything: nimbus itself, supervisors.
	Admin bool
}

// Self is nimbus itself, who may do everything.
func Self() Subject { return Subject{Admin: true} }

// check says whether who may do all of want under the ACL. Entries add up.
func (s *Store) check(key string, acl []AccessControl, who Subject, want Access) error {
	if got := s.allowed(acl, who); got&want != want {
		return fmt.Errorf("%w: user %q has %v to blob %q and needs %v", ErrAuthorization, who.User, got, key, want)
	}
	return nil
}

// checkAny says whether who may do any of want.
func (s *Store) checkAny(key string, acl []AccessControl, who Subject, want Access) error {
	if got := s.allowed(acl, who); got&want == 0 {
		return fmt.Errorf("%w: user %q has %v to blob %q and needs one of %v", ErrAuthorization, who.User, got, key, want)
	}
	return nil
}

func (s *Store) allowed(acl []AccessControl, who Subject) Access {
	if !s.cfg.ACLValidation || who.Admin || who.User != "" && slices.Contains(s.cfg.Admins, who.User) {
		return everything
	}
	var got Access
	for _, e := range acl {
		if e.Type == Other || e.Type == User && who.User != "" && e.Name == who.User {
			got |= e.Access
		}
	}
	return got
}

// normal is meta in the form that is stored: valid, without empty entries, and
// such that who keeps the access keep. Without a name that is everybody.
func (s *Store) normal(key string, meta Meta, who Subject, keep Access) (Meta, error) {
	if err := checkACL(key, meta.ACL); err != nil {
		return Meta{}, err
	}
	acl := make([]AccessControl, 0, len(meta.ACL)+1)
	for _, e := range meta.ACL {
		if e.Access != 0 {
			acl = append(acl, e)
		}
	}
	// Nimbus itself needs no entry, and what it stores may be secret; but an
	// empty ACL without anybody would lock all others out for good.
	everybody := AccessControl{Type: Other, Access: everything}
	switch {
	case who.User != "":
		acl = grant(acl, AccessControl{Type: User, Name: who.User, Access: keep})
	case who.Admin && len(acl) > 0 || slices.Contains(acl, everybody):
	default:
		// Beside what was asked for, which stays to be seen, as with Storm.
		acl = append(acl, everybody)
	}
	meta.ACL = acl
	if meta.Replication <= 0 {
		meta.Replication = s.cfg.Replication
	}
	return meta, nil
}

// grant adds e to its like in acl, or at the end.
func grant(acl []AccessControl, e AccessControl) []AccessControl {
	i := slices.IndexFunc(acl, func(o AccessControl) bool { return o.Type == e.Type && o.Name == e.Name })
	if i < 0 {
		return append(acl, e)
	}
	acl[i].Access |= e.Access
	return acl
}

// checkACL refuses what has no meaning.
func checkACL(key string, acl []AccessControl) error {
	seen := make(map[string]bool, len(acl))
	for _, e := range acl {
		switch {
		case e.Type != Other && e.Type != User:
			return fmt.Errorf("%w: ACL of blob %q: unknown type %d", ErrAuthorization, key, e.Type)
		case e.Access&^everything != 0:
			return fmt.Errorf("%w: ACL of blob %q: unknown access %d", ErrAuthorization, key, e.Access)
		case e.Name != "" && seen[e.Name]:
			return fmt.Errorf("%w: ACL of blob %q: user %q is there twice", ErrAuthorization, key, e.Name)
		}
		seen[e.Name] = true
	}
	return nil
}
