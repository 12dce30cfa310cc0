package command

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/internal/cluster"
)

// maxCredentials bounds a file of credentials in bytes; what nimbus takes is
// much less.
const maxCredentials = 16 << 20

type credentialFlags struct {
	clusterFlags
	file, user string
	strict     bool
}

// uploadCredentials is the command `upload-credentials`.
func (v *verbs) uploadCredentials() *cobra.Command {
	var f credentialFlags
	cmd := verb(&f.clusterFlags, "upload-credentials TOPOLOGY [KEY VALUE…]", "Give a topology new credentials", `Add to the credentials of a topology, or replace those with the same key. Other
users of this machine can see what stands on a command line: use -f.`)
	cmd.Args = takes(1, 0, whichTopology)
	cmd.ValidArgsFunction = v.completeTopologies(&f.clusterFlags, 1)
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "read Java properties from `FILE`; - is standard input")
	flags.StringVarP(&f.user, "user", "u", "", "refuse unless the topology's owner is `USER`")
	flags.BoolVarP(&f.strict, "exception-when-empty", "e", false, "fail if there are no credentials to upload")
	completeNothing(cmd, "user")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, pairs := args[0], args[1:]
		values, err := v.credentials(f.file, pairs)
		if err != nil {
			return err
		}
		if len(values) == 0 {
			if f.strict {
				return fmt.Errorf("no credentials were uploaded for %s: there are none in the arguments or the file", name)
			}
			v.say("there are no credentials to upload")
			return nil
		}
		return v.ask(cmd, &f.clusterFlags, func(ctx context.Context, n leader) error {
			if err := n.UploadCredentials(ctx, name, cluster.Credentials{Values: values, Owner: f.user}); err != nil {
				return fmt.Errorf("upload-credentials %s: %w", name, err)
			}
			v.say("uploaded %d credentials of topology %s", len(values), name)
			return nil
		})
	}
	return cmd
}

// credentials are those in the file, under those in pairs.
func (v *verbs) credentials(file string, pairs []string) (map[string]string, error) {
	if len(pairs)%2 != 0 {
		return nil, usagef("credential %q has no value; write them as KEY VALUE", pairs[len(pairs)-1])
	}
	values := map[string]string{}
	if file != "" {
		in, err := v.input(file)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		text, err := io.ReadAll(io.LimitReader(in, maxCredentials+1))
		switch {
		case err != nil:
			return nil, fmt.Errorf("credentials: %w", err)
		case len(text) > maxCredentials:
			return nil, fmt.Errorf("%s is larger than %d bytes: those are no credentials", file, maxCredentials)
		}
		read, err := parseProperties(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		maps.Copy(values, read)
	}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return values, nil
}

// input opens a file; "" and - are standard input.
func (v *verbs) input(file string) (io.ReadCloser, error) {
	switch {
	case file != "" && file != "-":
		return os.Open(file)
	case v.stdin == nil:
		return io.NopCloser(strings.NewReader("")), nil
	default:
		return io.NopCloser(v.stdin), nil
	}
}
