package blobstore

import (
	"fmt"
	"strings"
	"testing"
)

func TestNormalACL(t *testing.T) {
	tests := []struct {
		name string
		acl  []AccessControl
		who  Subject
		want string
	}{
		{"nothing, nobody", nil, Subject{}, "[{1  rwa}]"},
		{"nothing, ann", nil, Subject{User: "ann"}, "[{2 ann rwa}]"},
		{"nothing, nimbus", nil, Self(), "[{1  rwa}]"},
		{"what nimbus says", []AccessControl{{User, "ann", Read}}, Self(), "[{2 ann r--}]"},
		{"the creator keeps all", []AccessControl{{User, "ann", Read}, {Other, "", Read}}, Subject{User: "ann"}, "[{2 ann rwa} {1  r--}]"},
		{"nobody makes it everybody's", []AccessControl{{User, "ann", Read}}, Subject{}, "[{2 ann r--} {1  rwa}]"},
		{"nobody asks for less", []AccessControl{{Other, "", Read}}, Subject{}, "[{1  r--} {1  rwa}]"},
		{"nobody asks for it", []AccessControl{{Other, "", everything}}, Subject{}, "[{1  rwa}]"},
		{"empty entries go", []AccessControl{{User, "bob", 0}}, Subject{User: "ann"}, "[{2 ann rwa}]"},
		{"twice", []AccessControl{{User, "ann", Read}, {User, "ann", Write}}, Self(), `not authorised: ACL of blob "k": user "ann" is there twice`},
		{"type", []AccessControl{{3, "ann", Read}}, Self(), `not authorised: ACL of blob "k": unknown type 3`},
		{"access", []AccessControl{{User, "ann", 8}}, Self(), `not authorised: ACL of blob "k": unknown access 8`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := openMem(t, newMemDisk(), Config{})
			got, err := s.normal("k", Meta{ACL: tt.acl}, tt.who, everything)
			text := fmt.Sprint(got.ACL)
			if err != nil {
				text = err.Error()
				wantErr(t, err, ErrAuthorization)
			} else if got.Replication != 3 {
				t.Errorf("replication %d", got.Replication)
			}
			if text != tt.want {
				t.Errorf("got %s, want %s", text, tt.want)
			}
		})
	}
}

// What each may do with a blob that ann owns, bob may read, eve may
// administer, and of which everybody may write.
func TestACLIsEnforced(t *testing.T) {
	acl := []AccessControl{{User, "ann", everything}, {User, "bob", Read}, {User, "eve", Admin}, {Other, "", Write}}
	tests := []struct {
		who  Subject
		want string // download, update, meta, set meta
	}{
		{Subject{User: "ann"}, "dums"},
		{Subject{User: "bob"}, "dum"},
		{Subject{User: "eve"}, "ums"},
		{Subject{User: "dan"}, "u"},
		{Subject{}, "u"},
		{Subject{User: "root"}, "dums"},
		{Self(), "dums"},
	}
	for _, validate := range []bool{true, false} {
		s := openMem(t, newMemDisk(), Config{ACLValidation: validate, Admins: []string{"root"}})
		_, err := s.Put(t.Context(), "k", Meta{ACL: acl}, strings.NewReader("x"))
		noErr(t, err)
		for _, tt := range tests {
			want := tt.want
			if !validate {
				want = "dums"
			}
			got := ""
			may := func(what string, err error) {
				if err == nil {
					got += what
				} else {
					wantErr(t, err, ErrAuthorization)
				}
			}
			_, err := s.BeginDownload("k", tt.who)
			may("d", err)
			_, err = s.BeginUpdate("k", tt.who)
			may("u", err)
			_, err = s.Meta("k", tt.who)
			may("m", err)
			may("s", s.SetMeta("k", Meta{ACL: acl}, tt.who))
			// Set it as it was: SetMeta gave who asked a place in it.
			noErr(t, s.SetMeta("k", Meta{ACL: acl}, Self()))
			if got != want {
				t.Errorf("validate %v, %+v: may %q, want %q", validate, tt.who, got, want)
			}
		}
		err = s.Delete("k", Subject{User: "dan"})
		noErr(t, err)
	}
}

func TestDeleteNeedsWrite(t *testing.T) {
	s := openMem(t, newMemDisk(), Config{ACLValidation: true})
	id, err := s.BeginCreate("k", Meta{}, Subject{User: "ann"})
	noErr(t, err)
	_, err = s.FinishUpload(id)
	noErr(t, err)
	wantErr(t, s.Delete("k", Subject{User: "bob"}), ErrAuthorization)
	wantErr(t, s.Delete("k", Subject{}), ErrAuthorization)
	noErr(t, s.Delete("k", Subject{User: "ann"}))
	wantErr(t, s.Delete("k", Subject{User: "ann"}), ErrKeyNotFound)
}
