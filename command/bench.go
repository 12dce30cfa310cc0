package command

import "github.com/spf13/cobra"

func (e *env) bench() *cobra.Command {
	return &cobra.Command{Use: "bench", Hidden: true, Args: noArgs}
}
