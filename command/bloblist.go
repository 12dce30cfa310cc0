package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/nimbus/blobstore"
	"github.com/stormring/stormring/nimbus/client"
)

const aclHelp = `ACCESS is a list, with commas, of u:NAME:RIGHTS for a user and o::RIGHTS for all
others. RIGHTS are r to read, w to write and a to change this list, such as
u:alice:rwa,u:bob:rw,o::r`

func (v *verbs) blobList() *cobra.Command {
	var f clusterFlags
	var asJSON bool
	cmd := v.blobVerb(&f, "list [KEY…]", "List blobs with version and ACL", "")
	cmd.Args = cobra.ArbitraryArgs
	flagJSON(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, keys []string) error {
		return v.ask(cmd, &f, func(ctx context.Context, n leader) error {
			list, err := v.blobEntries(ctx, n, keys)
			if err != nil && len(list) == 0 {
				return err
			}
			if asJSON {
				return errors.Join(err, v.printJSON(append([]blobEntry{}, list...)))
			}
			for _, b := range list {
				fmt.Fprintf(v.stdout, "%s %d [%s]\n", b.Key, b.Version, strings.Join(b.ACL, ", "))
			}
			return err
		})
	}
	return cmd
}

// blobEntry is a blob as `blobstore list` shows it.
type blobEntry struct {
	Key         string   `json:"key"`
	Version     int64    `json:"version"`
	ACL         []string `json:"acl"`
	Replication int      `json:"replication,omitempty"`
}

// blobEntries are the blobs with these keys, or all that the user may see. With
// an error there may be some.
func (v *verbs) blobEntries(ctx context.Context, n leader, keys []string) ([]blobEntry, error) {
	var list []blobEntry
	add := func(key string) error {
		m, err := n.BlobMeta(ctx, key)
		if err != nil {
			return fmt.Errorf("blobstore list %s: %w", key, err)
		}
		list = append(list, blobEntry{key, m.Version, aclTexts(m.Meta.ACL), max(0, m.Meta.Replication)})
		return nil
	}
	if len(keys) > 0 {
		err := v.each(ctx, keys, "blobs", "listed", add)
		return list, err
	}
	all, err := n.Blobs(ctx)
	if err != nil {
		return nil, err
	}
	hidden := 0
	for _, key := range all {
		err := add(key)
		switch {
		case errors.Is(err, client.ErrAuthorization):
			hidden++
		case errors.Is(err, client.ErrKeyNotFound): // deleted in the meantime
		case err != nil:
			return list, err
		}
	}
	if hidden > 0 {
		v.say("%d more blobs are not for you to see", hidden)
	}
	return list, nil
}

func aclTexts(acl []blobstore.AccessControl) []string {
	texts := make([]string, len(acl))
	for i, e := range acl {
		kind := "o"
		if e.Type == blobstore.User {
			kind = "u"
		}
		texts[i] = kind + ":" + e.Name + ":" + e.Access.String()
	}
	return texts
}

func showACL(acl []blobstore.AccessControl) string { return strings.Join(aclTexts(acl), ",") }

// parseACL reads an ACL as Storm's command line has it: u:NAME:rwa, o::r,
// NAME:rw for a user, r for others. "" is none.
func parseACL(flag, text string) ([]blobstore.AccessControl, error) {
	if text == "" {
		return nil, nil
	}
	var acl []blobstore.AccessControl
	for part := range strings.SplitSeq(text, ",") {
		e, err := parseAccess(part)
		if err != nil {
			return nil, usagef("%s: %q: %w", flag, part, err)
		}
		if slices.ContainsFunc(acl, func(o blobstore.AccessControl) bool { return o.Type == e.Type && o.Name == e.Name }) {
			return nil, usagef("%s: %q: the same user is given twice", flag, part)
		}
		acl = append(acl, e)
	}
	return acl, nil
}

func parseAccess(text string) (blobstore.AccessControl, error) {
	var kind, name, rights string
	switch parts := strings.Split(text, ":"); len(parts) {
	case 1:
		kind, rights = "o", parts[0]
	case 2:
		kind, name, rights = "u", parts[0], parts[1]
	case 3:
		kind, name, rights = parts[0], parts[1], parts[2]
	default:
		return blobstore.AccessControl{}, errors.New("write it as u:NAME:rwa or o::r")
	}
	e := blobstore.AccessControl{Name: name}
	switch strings.ToLower(kind) {
	case "o", "other":
		e.Type = blobstore.Other
		if name != "" {
			return e, errors.New("others have no name: write o::rwa, or u:NAME:rwa for a user")
		}
	case "u", "user":
		e.Type = blobstore.User
		if name == "" {
			return e, errors.New("which user? write it as u:NAME:rwa")
		}
	default:
		return e, fmt.Errorf("there is no kind %q; there are u for a user and o for others", kind)
	}
	for _, c := range rights {
		switch c {
		case 'r':
			e.Access |= blobstore.Read
		case 'w':
			e.Access |= blobstore.Write
		case 'a':
			e.Access |= blobstore.Admin
		case '-':
		default:
			return e, fmt.Errorf("there is no right %q; there are r, w and a", c)
		}
	}
	return e, nil
}
