package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stormring/stormring/nimbus/blobstore"
)

const whichBlob = "which blob? the command blobstore list shows them"

// blobstore is the command `blobstore`.
func (v *verbs) blobstore() *cobra.Command {
	return group("blobstore", "Look at blobs and change them", `Look at blobs and change them: files by key, which nimbus keeps and supervisors
give to topologies that name them in topology.blobstore.map.`,
		v.blobList(), v.blobCat(), v.blobCreate(), v.blobUpdate(), v.blobDelete(), v.blobSetACL(), v.blobReplication())
}

// blobVerb is a verb that takes one key.
func (v *verbs) blobVerb(f *clusterFlags, use, short, long string) *cobra.Command {
	cmd := verb(f, use, short, long)
	cmd.Args = takes(1, 1, whichBlob)
	// Storm's script has both --file and --FILE.
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "FILE" {
			name = "file"
		}
		return pflag.NormalizedName(name)
	})
	return cmd
}

func (v *verbs) blobCat() *cobra.Command {
	var f clusterFlags
	var file string
	cmd := v.blobVerb(&f, "cat KEY", "Print a blob, or write it to a file", "")
	cmd.Flags().StringVarP(&file, "file", "f", "", "write to `FILE`, all or nothing (default: standard output)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return v.ask(cmd, &f, func(ctx context.Context, n leader) error {
			fetch := func(w io.Writer) error {
				if _, err := n.FetchBlob(ctx, args[0], w); err != nil {
					return fmt.Errorf("blobstore cat %s: %w", args[0], err)
				}
				return nil
			}
			if file == "" || file == "-" {
				return fetch(v.stdout)
			}
			return replaceFile(file, fetch)
		})
	}
	return cmd
}

// replaceFile has a file's content written; the file stays as it was if that
// fails.
func replaceFile(path string, content func(w io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0) // a pipe or /dev/null
		if err != nil {
			return err
		}
		return errors.Join(content(f), f.Close())
	}
	part := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".part")
	f, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	err = errors.Join(content(f), f.Close())
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return nil
}

func (v *verbs) blobCreate() *cobra.Command {
	var f clusterFlags
	var file, acl string
	var replication int
	cmd := v.blobVerb(&f, "create KEY", "Make a new blob of a file or standard input", aclHelp)
	flags := cmd.Flags()
	flags.StringVarP(&file, "file", "f", "", "read `FILE` (default: standard input)")
	flags.StringVarP(&acl, "acl", "a", "", "let these have `ACCESS`")
	flags.IntVarP(&replication, "replication-factor", "r", 0, "keep it on `N` nimbuses (default: storm.blobstore.replication.factor)")
	completeNothing(cmd, "acl", "replication-factor")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		entries, err := parseACL("--acl", acl)
		if err != nil {
			return err
		}
		if err := checkReplication(cmd, replication); err != nil {
			return err
		}
		meta := blobstore.Meta{ACL: entries, Replication: replication}
		return v.upload(cmd, &f, file, "blobstore create "+args[0], "created blob "+args[0], func(ctx context.Context, n leader, in io.Reader) error {
			return n.CreateBlob(ctx, args[0], meta, in)
		})
	}
	return cmd
}

func (v *verbs) blobUpdate() *cobra.Command {
	var f clusterFlags
	var file string
	cmd := v.blobVerb(&f, "update KEY", "Replace a blob by a file or standard input", "")
	cmd.Flags().StringVarP(&file, "file", "f", "", "read `FILE` (default: standard input)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return v.upload(cmd, &f, file, "blobstore update "+args[0], "updated blob "+args[0], func(ctx context.Context, n leader, in io.Reader) error {
			return n.UpdateBlob(ctx, args[0], in)
		})
	}
	return cmd
}

// upload opens the file before it connects.
func (v *verbs) upload(cmd *cobra.Command, f *clusterFlags, file, what, done string, do func(ctx context.Context, n leader, in io.Reader) error) error {
	in, err := v.input(file)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer in.Close()
	return v.ask(cmd, f, func(ctx context.Context, n leader) error {
		if err := do(ctx, n, in); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		v.say("%s", done)
		return nil
	})
}

func (v *verbs) blobDelete() *cobra.Command {
	var f clusterFlags
	cmd := v.blobVerb(&f, "delete KEY…", "Delete blobs", "Delete blobs. One that a topology uses cannot be deleted.")
	cmd.Args = takes(1, 0, whichBlob)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return v.ask(cmd, &f, func(ctx context.Context, n leader) error {
			return v.each(ctx, args, "blobs", "deleted", func(key string) error {
				if err := n.DeleteBlob(ctx, key); err != nil {
					return fmt.Errorf("blobstore delete %s: %w", key, err)
				}
				v.say("deleted blob %s", key)
				return nil
			})
		})
	}
	return cmd
}

func (v *verbs) blobSetACL() *cobra.Command {
	var f clusterFlags
	var acl string
	cmd := v.blobVerb(&f, "set-acl KEY", "Say who may do what with a blob", aclHelp)
	// Storm's long name, --set, is that of -c here.
	cmd.Flags().StringVarP(&acl, "acl", "s", "", "let these have `ACCESS`, and nobody else")
	completeNothing(cmd, "acl")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		entries, err := parseACL("--acl", acl)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return usagef("who may do what? say it by -s, such as -s u:alice:rwa,o::r")
		}
		return v.ask(cmd, &f, func(ctx context.Context, n leader) error {
			if err := n.SetBlobMeta(ctx, args[0], blobstore.Meta{ACL: entries}); err != nil {
				return fmt.Errorf("blobstore set-acl %s: %w", args[0], err)
			}
			v.say("the ACL of blob %s is %s", args[0], showACL(entries))
			return nil
		})
	}
	return cmd
}

func checkReplication(cmd *cobra.Command, n int) error {
	if cmd.Flags().Changed("replication-factor") && n < 1 {
		return usagef("--replication-factor is %d; it must be at least 1", n)
	}
	return nil
}

func (v *verbs) blobReplication() *cobra.Command {
	var f clusterFlags
	var read, update, asJSON bool
	var replication int
	cmd := v.blobVerb(&f, "replication KEY", "Print or change on how many nimbuses a blob is", "")
	flags := cmd.Flags()
	flags.BoolVar(&read, "read", false, "print on how many it is; the default")
	flags.BoolVar(&update, "update", false, "change it to -r")
	flags.IntVarP(&replication, "replication-factor", "r", 0, "keep it on `N` nimbuses")
	flagJSON(cmd, &asJSON)
	completeNothing(cmd, "replication-factor")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		given := cmd.Flags().Changed("replication-factor")
		switch {
		case read && update:
			return usagef("--read and --update exclude each other")
		case update && !given:
			return usagef("on how many nimbuses? say it by -r")
		case given && !update:
			return usagef("-r is for --update")
		}
		if err := checkReplication(cmd, replication); err != nil {
			return err
		}
		return v.ask(cmd, &f, func(ctx context.Context, n leader) error {
			text, look := "Current replication factor", n.BlobReplication
			if update {
				text = "Replication factor is set to"
				look = func(ctx context.Context, key string) (int, error) { return n.SetBlobReplication(ctx, key, replication) }
			}
			is, err := look(ctx, args[0])
			switch {
			case err != nil:
				return fmt.Errorf("blobstore replication %s: %w", args[0], err)
			case asJSON:
				return v.printJSON(map[string]any{"key": args[0], "replication": is})
			}
			_, err = fmt.Fprintf(v.stdout, "%s %d\n", text, is)
			return err
		})
	}
	return cmd
}
