package zookeeper

import (
	"os/exec"
	"syscall"
)

// keepApart keeps the terminal's Ctrl-C from the server, which would end before
// those that need it, and has it end with this process, however that ends.
func keepApart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
