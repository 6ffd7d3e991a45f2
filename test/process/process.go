//go:build unix

// Package process runs a child for a test.
//
// What it promises: the child's output goes to a file, and its last lines into
// the messages about it; it gets only the environment that it is given; Stop
// and Kill return when it is gone; and on Linux it does not outlive its parent,
// even one that is killed.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	tailLines     = 15
	tailLineBytes = 400
)

// Spec defines what to run.
type Spec struct {
	// Name names the child in messages and its log file NAME.log.
	Name   string
	Binary string
	Args   []string
	// Dir is the working directory and where the log file goes.
	Dir string
	// Env is added to the little that every child gets: HOME and TMPDIR, both
	// Dir. Nothing else of the parent's environment is passed on: some servers
	// take whatever is there for settings.
	Env []string
}

// Process is a child.
type Process struct {
	name string
	log  string
	cmd  *exec.Cmd

	// ended is closed when the child is gone; only then is err readable.
	ended chan struct{}
	err   error
}

// Start starts a child.
func Start(spec Spec) (*Process, error) {
	log, err := os.OpenFile(filepath.Join(spec.Dir, spec.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	defer log.Close() //nolint:errcheck // the child has its own handle

	cmd := exec.Command(spec.Binary, spec.Args...) //nolint:noctx // it ends by Stop, in its own time
	cmd.Dir = spec.Dir
	cmd.Env = append([]string{"HOME=" + spec.Dir, "TMPDIR=" + spec.Dir}, spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttributes()

	p := &Process{name: spec.Name, log: log.Name(), cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go p.own(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}

	return p, nil
}

// own starts the child and waits for its end, all on one thread: the kernel
// ends the child when the thread that made it ends.
func (p *Process) own(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.err = p.cmd.Wait()
	close(p.ended)
}

// Name is what the child is called in messages.
func (p *Process) Name() string { return p.name }

// PID is the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// LogPath is the file that holds the child's output.
func (p *Process) LogPath() string { return p.log }

// Ended is closed when the child has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// ExitCode is the child's exit code once it has ended, -1 where a signal ended
// it.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Failure describes a child that ended without being stopped. It is nil
// while the child runs.
func (p *Process) Failure() error {
	select {
	case <-p.ended:
	default:
		return nil
	}
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}

	return fmt.Errorf("%s ended by itself (%s), its log ends with:\n%s", p.name, how, p.Tail())
}

// Tail returns the last lines of the log, for an error message.
func (p *Process) Tail() string {
	text, err := readEnd(p.log, 64<<10)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		if len(line) > tailLineBytes {
			line = line[:tailLineBytes] + "…"
		}
		lines[i] = "    " + line
	}

	return strings.Join(lines, "\n")
}

// readEnd returns at most the last limit bytes of a file.
func readEnd(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	offset := max(0, size-limit)
	var text bytes.Buffer
	_, err = io.Copy(&text, io.NewSectionReader(file, offset, size-offset))

	return text.Bytes(), err
}

// Signal is a no-op on a child that has ended.
func (p *Process) Signal(sig os.Signal) error {
	err := p.cmd.Process.Signal(sig)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %v to %s: %w", sig, p.name, err)
	}

	return nil
}

// Stop signals the child to end and returns when it is gone. It kills a child that
// makes no progress any more, or when the context ends.
func (p *Process) Stop(ctx context.Context) error {
	// A paused child gets the first signal only after the second.
	signaled := errors.Join(p.Signal(syscall.SIGTERM), p.Signal(syscall.SIGCONT))

	ctx, cancel := WhileProgress(ctx, p.logSize)
	defer cancel()
	select {
	case <-p.ended:
		return signaled
	case <-ctx.Done():
	}

	return errors.Join(signaled, fmt.Errorf("stop %s: it did not end after the signal and was killed: %w", p.name, context.Cause(ctx)), p.Kill())
}

// Kill ends the child at once and returns when it is gone.
func (p *Process) Kill() error {
	killed := p.Signal(syscall.SIGKILL)
	reap := time.NewTimer(Limit)
	defer reap.Stop()
	select {
	case <-p.ended:
		return killed
	case <-reap.C:
		return errors.Join(killed, fmt.Errorf("kill %s: process %d is still there after %v", p.name, p.PID(), Limit))
	}
}
