package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal of some columns: what the person sees and
// types, and what the program gets.
func terminal(t *testing.T, columns uint16) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		skip(t, "no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { person.Close() })
	conn, err := person.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var number int
	control := conn.Control(func(fd uintptr) {
		err = errors.Join(
			unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0),
			unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
		var numbered error
		number, numbered = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		err = errors.Join(err, numbered)
	})
	if err := errors.Join(control, err); err != nil {
		skip(t, "no pseudo-terminals here: ", err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		skip(t, "no pseudo-terminals here: ", err)
	}
	return person, program
}

// TestTerminal: the progress line changes in place and never wraps, Ctrl-C
// takes it away and ends the run.
func TestTerminal(t *testing.T) {
	t.Parallel()
	const columns = 30
	person, program := terminal(t, columns)
	stdin, _ := endless(t)
	p := stormring(t, "local", "wordcount", "--input", "-", "--format", "tsv")
	p.Env = append(p.Env, "TERM=xterm")
	p.Stdin, p.Stderr = stdin, program
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
	p.start(t)
	program.Close()
	var screen watched
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4<<10)
		for {
			n, err := person.Read(buf)
			screen.Write(buf[:n])
			if err != nil {
				return // EIO when the program has gone
			}
		}
	}()
	const erase = "\r\x1b[K"
	screen.await(t, erase) // one line has been replaced by another
	if _, err := person.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	code := p.end(t)
	<-read
	if code != 130 || !oneWord.MatchString(p.out.String()) {
		t.Errorf("code %d, stdout %q", code, p.out.String())
	}
	shown := strings.ReplaceAll(screen.String(), "^C", "")
	lines := strings.Split(shown, erase)
	for _, line := range lines[:len(lines)-1] {
		if _, last, ok := strings.Cut(line, "\n"); ok {
			line = last
		}
		if line == "" {
			continue // a terminal drops what it has not shown yet when it sends SIGINT
		}
		if n := len([]rune(line)); n >= columns || !strings.Contains(line, "tuples/s, ") {
			t.Errorf("%d columns of %d: %q", n, columns, line)
		}
	}
	end := lines[len(lines)-1]
	if !strings.Contains(end, "is partial: the run was interrupted") || !strings.HasSuffix(end, " tuples/s\r\n") {
		t.Errorf("the screen ends with %q", end)
	}
}
