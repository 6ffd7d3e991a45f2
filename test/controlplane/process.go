package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// stopGrace is how long a child may take to end when asked.
	stopGrace = 10 * time.Second
	// reapGrace is how long the kernel may take to end a child that was killed.
	reapGrace = 10 * time.Second

	tailLines     = 15
	tailLineBytes = 400
)

// process is a child that writes its output to a log file and cannot outlive
// its parent.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd

	// ended is closed when the child is gone; only then is err readable.
	ended chan struct{}
	err   error
}

// startProcess runs the binary in dir, with a log file named after it there. It
// sees only the variables that it needs: etcd would take any ETCD_… for a
// setting. Collecting garbage less often saves a quarter of the processor time
// of a start.
func startProcess(name, binary, dir string, args ...string) (*process, error) {
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = log.Close() }() // the child has its own

	cmd := exec.Command(binary, args...) //nolint:noctx // it lives until stop, which no context can promise
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "TMPDIR=" + dir, "GOGC=400"}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttributes()

	p := &process{name: name, log: log.Name(), cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go p.own(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// own starts the child and waits for its end, all on one thread: the kernel
// ends the child when the thread that made it ends.
func (p *process) own(started chan<- error) {
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

// failure describes a child that ended although nobody asked it to. It is nil
// while the child runs.
func (p *process) failure() error {
	select {
	case <-p.ended:
	default:
		return nil
	}
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s ended by itself (%s), its log ends with:\n%s", p.name, how, p.tail())
}

// tail returns the last lines of the log, for an error message.
func (p *process) tail() string {
	text, err := os.ReadFile(p.log)
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

// signal is a no-op on a child that has ended.
func (p *process) signal(sig os.Signal) error {
	err := p.cmd.Process.Signal(sig)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %v to %s: %w", sig, p.name, err)
	}
	return nil
}

// stop asks the child to end, kills it if it does not within stopGrace or the
// context's time, and returns when it is gone.
func (p *process) stop(ctx context.Context) error {
	// A paused child hears of the first signal only after the second.
	asked := errors.Join(p.signal(syscall.SIGTERM), p.signal(syscall.SIGCONT))

	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	select {
	case <-p.ended:
		return asked
	case <-ctx.Done():
	}

	killed := p.signal(syscall.SIGKILL)
	reap := time.NewTimer(reapGrace)
	defer reap.Stop()
	select {
	case <-p.ended:
		return errors.Join(asked, killed)
	case <-reap.C:
		return errors.Join(asked, killed, fmt.Errorf("stop %s: process %d is still there %v after SIGKILL", p.name, p.cmd.Process.Pid, reapGrace))
	}
}
